package tui

import (
	"context"
	"errors"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/papaver-agent/papaver/internal/plaintext"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/signin"
)

const (
	// knownTimeout, offersTimeout and signOutTimeout bound what the screen of Companies waits for. A sign-in has ends of
	// its own (package signin).
	knownTimeout   = 15 * time.Second
	offersTimeout  = time.Minute
	signOutTimeout = 2 * time.Minute
)

// stage is what the screen of Companies is about.
type stage int

const (
	stageList     stage = iota // what the home knows
	stageConfirm               // sign out, if the User says so once more
	stageAddress               // the User types an address
	stageBusy                  // offers are read, or the User is signed out
	stageType                  // the User chooses the type
	stageScope                 // the User chooses what the access is for
	stageSigning               // a sign-in is under way
	stageStopping              // one that was stopped has not ended yet
	stageEnded                 // what came of one
)

// The messages of what the screen has done outside. Serial says for which job: what comes of one that was left is
// dropped.
type (
	knownMsg struct {
		known []Known
		err   error
	}
	offersMsg struct {
		serial int
		offers Offers
		err    error
	}
	signedOutMsg struct {
		serial int
		who    companyText
		err    error
	}
	signedInMsg struct {
		bridge *bridge
		result signin.Result
		err    error
	}
)

// companies is the screen of Companies: plain data, as the model is.
type companies struct {
	stage  stage
	known  []knownText
	loaded bool
	failed *troubleText // of what was tried last
	said   line         // what happened last
	chosen int          // of the entries; -1 where none is

	field  field
	choice Choice      // of the sign-in that is being chosen, or is under way
	who    companyText // at whom
	offers []offerText
	picked int // of the offers
	mark   int // of the scopes
	doing  words

	leaving entry // where the User signs out
	serial  int
	stop    context.CancelFunc // of the job under way; nil when there is none
	signing *signing
	result  *resultText
	top     int // the first line of the body on the screen
}

// entry is one line that can be chosen: a sign-in, or a Company without one.
type entry struct {
	known   knownText
	account accountText
	signed  bool
}

func (c *companies) entries() []entry {
	var out []entry
	for _, k := range c.known {
		if len(k.accounts) == 0 {
			out = append(out, entry{known: k})
		}
		for _, a := range k.accounts {
			out = append(out, entry{k, a, true})
		}
	}
	return out
}

// at is the entry that is chosen.
func (c *companies) at() (entry, bool) {
	all := c.entries()
	if len(all) == 0 {
		return entry{}, false
	}
	return all[max(min(c.chosen, len(all)-1), 0)], true
}

// typing reports whether letters are text here, and no keys.
func (c *companies) typing() bool {
	return c.stage == stageAddress || c.stage == stageSigning && c.signing.asks != asksNothing
}

// keys is the key table of what the screen is about.
func (c *companies) keys(browser bool) []binding {
	switch c.stage {
	case stageConfirm:
		return confirmKeys()
	case stageAddress:
		return fieldKeys(false, "back")
	case stageBusy:
		return []binding{{[]string{"esc", "q"}, actLeave, "Esc", "stop"}}
	case stageType:
		return typeKeys(len(c.offers) > 0)
	case stageScope:
		return scopeKeys()
	case stageSigning:
		return c.signing.keys(browser)
	case stageStopping:
		return nil
	case stageEnded:
		return endedKeys(c.result == nil)
	default:
		at, some := c.at()
		return companiesKeys(len(c.entries()) > 1, some && at.known.address != "", some && at.signed)
	}
}

// toCompanies goes to the list, and has it read anew.
func (m *model) toCompanies(said line) tea.Cmd {
	m.toList(said)
	return m.readKnown()
}

// toList ends what is under way at the screen of Companies.
func (m *model) toList(said line) {
	m.companies.over()
	m.companies = companies{known: m.companies.known, loaded: m.companies.loaded, chosen: m.companies.chosen, serial: m.companies.serial + 1, said: said}
}

// over ends what is under way, and wipes what was typed.
func (c *companies) over() {
	if c.stop != nil {
		c.stop()
		c.stop = nil
	}
	c.field.wipe()
}

func (m *model) readKnown() tea.Cmd { return readKnown(m.d, m.cfg.Accounts) }

func readKnown(d *device, accounts Accounts) tea.Cmd {
	return d.do(func(ctx context.Context) tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, knownTimeout)
		defer cancel()
		known, err := accounts.Known(ctx)
		return knownMsg{known, err}
	})
}

// begin makes ready for a job that takes a while.
func (m *model) begin(doing words) (context.Context, int) {
	c := &m.companies
	c.over()
	c.stage, c.doing, c.failed, c.said, c.top = stageBusy, doing, nil, nil, 0
	c.serial++
	ctx, stop := context.WithCancel(m.d.ctx)
	c.stop = stop
	return ctx, c.serial
}

// readOffers asks what the Company at choice.Address offers.
func (m *model) readOffers() tea.Cmd {
	ctx, serial := m.begin(wReadingOffers)
	choice, keeper := m.companies.choice, m.keeper
	return m.d.do(func(context.Context) tea.Msg {
		key, ask, err := keeper.need(lockedMsg{errand: toReadOffers, serial: serial})
		switch {
		case err != nil:
			return offersMsg{serial, Offers{}, err}
		case ask != nil:
			return ask
		}
		ctx, cancel := context.WithTimeout(ctx, offersTimeout)
		defer cancel()
		offers, err := m.cfg.Accounts.Offers(ctx, key, choice.Address, choice.Account)
		return offersMsg{serial, offers, err}
	})
}

func (m *model) signOut(e entry) tea.Cmd {
	ctx, serial := m.begin(wSigningOut)
	m.companies.who, m.companies.leaving = e.known.company, e
	keeper := m.keeper
	return m.d.do(func(context.Context) tea.Msg {
		key, ask, err := keeper.need(lockedMsg{errand: toSignOut, serial: serial})
		switch {
		case err != nil:
			return signedOutMsg{serial, e.known.company, err}
		case ask != nil:
			return ask
		}
		ctx, cancel := context.WithTimeout(ctx, signOutTimeout)
		defer cancel()
		err = m.cfg.Accounts.SignOut(ctx, key, e.known.address, e.account.raw)
		return signedOutMsg{serial, e.known.company, err}
	})
}

// signIn begins the sign-in that was chosen. It goes on in commands of its own, whatever is on the screen.
func (m *model) signIn() tea.Cmd {
	c := &m.companies
	c.over()
	b := newBridge(m.d.ctx)
	c.stop, c.stage, c.failed, c.said, c.result, c.top = b.stop, stageSigning, nil, nil, nil, 0
	c.signing = &signing{bridge: b, kind: c.choice.Type, who: c.who, sending: true}
	choice, keeper := c.choice, m.keeper
	return tea.Batch(b.next(m.d), m.d.do(func(context.Context) tea.Msg {
		defer b.stop()
		key, ask, err := keeper.need(lockedMsg{errand: toSignIn, bridge: b})
		switch {
		case err != nil:
			return signedInMsg{b, signin.Result{}, err}
		case ask != nil:
			return ask
		}
		result, err := m.cfg.Accounts.SignIn(b.ctx, key, choice, b)
		b.drain()
		return signedInMsg{b, result, err}
	}))
}

// companiesMsg takes what came of something done outside. It changes nothing about a question that is on the screen.
func (m *model) companiesMsg(msg tea.Msg) tea.Cmd {
	c := &m.companies
	switch msg := msg.(type) {
	case knownMsg:
		c.take(m.charset, msg)
	case offersMsg:
		if msg.serial == c.serial && c.stage == stageBusy {
			return m.offered(msg)
		}
	case signedOutMsg:
		if msg.serial == c.serial && c.stage == stageBusy {
			said := line{ours(noteSignedOut1, strong), theirs(msg.who.domain, strong), ours(noteSignedOut2, strong)}
			if msg.err != nil {
				said = nil
			}
			cmd := m.toCompanies(said)
			m.companies.failed = m.failure(msg.err)
			return cmd
		}
	case promptMsg:
		if c.signing != nil && msg.bridge == c.signing.bridge && c.stage == stageSigning {
			c.signing.take(m.charset, msg.event)
			c.field.wipe()
			c.field = field{secret: c.signing.secret, address: c.signing.asks == asksCallback}
			c.top = 0
			return msg.bridge.next(m.d)
		}
	case signedInMsg:
		if c.signing != nil && msg.bridge == c.signing.bridge {
			return m.signedIn(msg)
		}
	}
	return nil
}

// failure is an error's four sentences, or the one that is known.
func (c charset) failure(err error) *troubleText {
	if said, ok := errors.AsType[*trouble.Error](err); ok {
		return c.trouble(said)
	}
	return c.trouble(&trouble.Error{What: err.Error(), Next: string(wRunDoctor)})
}

// take takes what the home knows.
func (c *companies) take(cs charset, msg knownMsg) {
	c.known, c.loaded = nil, true
	for _, k := range msg.known {
		c.known = append(c.known, cs.known(k))
	}
	if msg.err != nil && c.failed == nil {
		c.failed = cs.failure(msg.err)
	}
}

// browsed says that the User's browser could not be opened.
func (c *companies) browsed(err error) {
	if err != nil {
		c.said = say(noteNoBrowser)
	}
}

// failure is the words of an error that ended something.
func (m *model) failure(err error) *troubleText {
	if err == nil {
		return nil
	}
	return m.charset.failure(err)
}

// offered goes on with what a Company offers: to the choice, or past it where there is none.
func (m *model) offered(msg offersMsg) tea.Cmd {
	c := &m.companies
	if msg.err != nil {
		address := c.choice.Address
		cmd := m.toCompanies(nil)
		m.companies.failed, m.companies.choice.Address = m.failure(msg.err), address
		return cmd
	}
	c.over()
	c.who, c.offers = m.charset.known(Known{Domain: msg.offers.Domain, Name: msg.offers.Name}).company, nil
	for _, o := range msg.offers.Types {
		c.offers = append(c.offers, m.charset.offer(o, msg.offers.Scopes))
	}
	c.stage, c.picked, c.mark, c.top = stageType, 0, 0, 0
	if len(c.offers) == 1 {
		return m.pick()
	}
	return nil
}

// pick takes the type that is chosen, and goes on to its scopes where there is a choice.
func (m *model) pick() tea.Cmd {
	c := &m.companies
	if len(c.offers) == 0 {
		return nil
	}
	o := c.offers[c.picked]
	c.choice.Type, c.mark, c.top = o.kind, 0, 0
	if len(o.scopes) != 1 {
		c.stage = stageScope
		return nil
	}
	o.wanted[0] = true
	c.choice.Scope = o.scope()
	return m.signIn()
}

// signedIn says what came of a sign-in.
func (m *model) signedIn(msg signedInMsg) tea.Cmd {
	c := &m.companies
	stopped := c.stage == stageStopping
	c.over()
	if stopped && errors.Is(msg.err, context.Canceled) {
		return m.toCompanies(say(noteStopped))
	}
	c.stage, c.signing, c.top = stageEnded, nil, 0
	if msg.err != nil {
		c.failed, c.result = m.failure(msg.err), nil
		return m.readKnown()
	}
	r := m.charset.result(msg.result)
	c.result, c.failed = &r, nil
	return m.readKnown()
}

// resultText is what a sign-in came to.
type resultText struct {
	account        accountText
	asked, missing []plaintext.Text
	replaced       bool
	unrevoked      plaintext.Text
}

func (c charset) result(from signin.Result) resultText {
	out := resultText{
		account: c.account(from.Kept.Account), asked: c.scopes(from.Asked), missing: c.scopes(from.Missing()), replaced: from.Kept.Replaced,
	}
	if err := from.Kept.Unrevoked; err != nil {
		out.unrevoked = c.whole(err.Error())
	}
	return out
}
