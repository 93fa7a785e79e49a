package simulation

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/opsweb"
	"github.com/papaver-agent/papaver/profile"
	"github.com/papaver-agent/papaver/session"
)

const (
	crashWeight = 0.15           // how much less likely a crash is than a lost request
	longest     = 12 * time.Hour // no run takes longer than this of its own time
)

// world is one seed's: the Company, the disk's folder and the processes that come and go.
type world struct {
	chance   *chance
	dir      string // the ledger's
	identity *session.Identity
	began    time.Time

	background sync.WaitGroup // what goes on without a process: the network, the Company

	mu      sync.Mutex // guards company and judge; never held while anything is waited for
	company *companyModel
	judge   *judge
	acts    int
	crashes int

	processes map[string]*process // by the name that the ledger has of their runs
	maxFile   int64               // of the ledger
	two       bool                // processes live at once

	clock   sync.Mutex
	skipped time.Duration // how much further the wall clock is than the bubble's
	skew    time.Duration // how much further the agent's is than the Company's

	telling  sync.Mutex
	told     []string
	problems []string
}

func newWorld(seed uint64, dir string, identity *session.Identity) *world {
	w := &world{chance: newChance(seed), dir: dir, identity: identity, began: time.Now(), processes: make(map[string]*process)}
	w.company = newCompany(w)
	w.judge = newJudge(w)
	if w.chance.one("ledger", 3) {
		w.maxFile = []int64{500, 3000}[w.chance.number("ledger", 2)]
	}
	if w.chance.meets(clockWrong) {
		w.skew = w.chance.between("clock", -2*time.Minute, 2*time.Minute)
	}
	return w
}

// now is the Company's clock.
func (w *world) now() time.Time {
	w.clock.Lock()
	defer w.clock.Unlock()
	return time.Now().Add(w.skipped)
}

// agentNow is the clock of the machine that the agent runs on.
func (w *world) agentNow() time.Time { return w.now().Add(w.skew) }

func (w *world) story(format string, args ...any) {
	w.telling.Lock()
	defer w.telling.Unlock()
	w.told = append(w.told, fmt.Sprintf("%12s  ", w.now().Sub(w.began).Round(time.Millisecond))+fmt.Sprintf(format, args...))
}

// violates notes that a promise was broken.
func (w *world) violates(format string, args ...any) {
	w.story("VIOLATED: "+format, args...)
	w.telling.Lock()
	defer w.telling.Unlock()
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

func (w *world) must(err error) {
	if err != nil {
		w.violates("the simulator itself: %v", err)
	}
}

// later has the Company do something after d.
func (w *world) later(d time.Duration, f func()) {
	w.background.Go(func() {
		wait(d)
		w.mu.Lock()
		defer w.mu.Unlock()
		f()
	})
}

// process is one run of the agent: it begins with what is on disk, and can end at any moment.
type process struct {
	world   *world
	number  int
	owner   string
	company *company.Company
	ctx     context.Context
	end     context.CancelFunc
	dead    chan struct{}
	once    sync.Once
	disks   disks
	ledger  *ledger.Ledger
	ops     *opsweb.Operations
	browser *browser.Browser
	chrome  *chrome
	tab     *joined
	session *session.Session
	user    sync.WaitGroup

	// Of the judge, guarded by world.mu.
	replayLines, replays int
	lastReplay           string // the round that last wrote that it makes its act again
}

func (p *process) story(format string, args ...any) {
	if p.isDead() { // what a dead process says of itself is no part of the story
		return
	}
	p.world.story(fmt.Sprintf("run %d: ", p.number)+format, args...)
}

func (p *process) isDead() bool {
	select {
	case <-p.dead:
		return true
	default:
		return false
	}
}

// mayCrash reports whether the seed has a crash left.
func (p *process) mayCrash() bool {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	if p.isDead() || p.world.crashes >= 3 {
		return false
	}
	p.world.crashes++
	return true
}

// crashes has the process die by chance.
func (p *process) crashes(f fault) bool {
	if p.isDead() || !p.world.chance.meetsAt(f, crashWeight) || !p.mayCrash() {
		return false
	}
	p.die(f)
	return true
}

// die ends the process: from now on nothing of it reaches anything.
func (p *process) die(why fault) {
	p.once.Do(func() {
		p.story("DIES: %s", why)
		close(p.dead)
		p.disks.die()
		p.chrome.end()
		p.end()
	})
}

// start starts a process on what is on disk; nil when it could not start.
func (w *world) start(number int) *process {
	p := &process{world: w, number: number, owner: fmt.Sprint("run_", number), dead: make(chan struct{})}
	w.mu.Lock()
	w.processes[p.owner] = p
	w.mu.Unlock()
	p.ctx, p.end = context.WithCancel(context.Background())
	p.story("begins")
	p.chrome = &chrome{p: p, gone: make(chan struct{}), released: make(map[browser.PausedID]chan struct{}), control: true, script: w.chance.one("page", 2)}
	var err error
	p.ledger, err = ledger.Open(p.ctx, ledger.Config{Dir: w.dir, Owner: p.owner, OpenFile: p.openDisk, Now: w.agentNow, MaxFile: w.maxFile, Index: opsweb.Index(), Coarse: time.Nanosecond})
	if err != nil {
		p.story("it could not start: %v", err)
		if !p.isDead() && !strings.Contains(err.Error(), errDiskFull.Error()) && !strings.Contains(err.Error(), errDiskRead.Error()) {
			w.violates("the ledger does not open: %v", err)
		}
		p.end()
		return nil
	}
	w.recount()
	w.mu.Lock()
	alone := true // of two processes, one knows what the other wrote, and no more
	for _, other := range w.processes {
		alone = alone && (other == p || other.isDead())
	}
	if !w.two || alone {
		w.judge.restarted()
	}
	w.mu.Unlock()
	p.ops, err = opsweb.New(p.ctx, opsweb.Config{Ledger: p.ledger, Client: &http.Client{Transport: p}, Now: w.agentNow, Rand: w.chance, Notify: p.notified, Lives: w.lives})
	w.must(err)
	p.browser, err = browser.Start(p.ctx, browser.Config{Driver: p.chrome, Bin: "/bin/true", NoSandbox: true, Watch: opsweb.Header, OnHeld: p.ops.Held, Now: w.agentNow})
	w.must(err)
	p.company = &company.Company{Domain: shopDomain, Name: "Shop", Issuer: "https://id.shop.test", JoinEndpoint: "https://shop.test/join", OperationsEndpoint: shopEndpoint, OperationsListed: true}
	p.session, err = session.New(session.Config{Profile: profile.V1(), Identity: w.identity, Company: p.company, UserID: "usr_1", Now: w.agentNow, Rand: w.chance})
	w.must(err)
	real, err := p.browser.NewContext(p.ctx)
	w.must(err)
	p.tab = &joined{Context: real, c: p.chrome, turn: make(chan struct{}, 1)}
	p.ops.Joined(p.tab, p.company, p.session, profile.V1(), p.renew)
	return p
}

// renew joins a new Session in place of the one that has ended, as the agent does.
func (p *process) renew(ctx context.Context, sid string) error {
	c := p.world.chance
	if !wait(c.between("session", 10*time.Millisecond, 5*time.Second), ctx.Done(), p.dead) {
		return errLost
	}
	if c.one("session", 4) {
		c.count(notRenewed)
		return errLost
	}
	if p.session.ID() == sid {
		c.count(sessionRenewed)
	}
	err := p.session.Restart(sid)
	p.story("a new Session is joined: %v", err)
	return err
}

// recount has the judge read what is on disk and was not seen to get there.
func (w *world) recount() {
	records, _, err := ledger.Read(filepath.Join(w.dir, ledger.FileName))
	w.must(err)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, rec := range records {
		if rec.Seq > w.judge.seq {
			w.judge.lineLocked(nil, rec)
		}
	}
}

// misses reports whether lines before that one are on disk that were not seen to get there: those of a process that died.
func (w *world) misses(rec ledger.Record) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return rec.Seq > w.judge.seq+1
}

func (p *process) notified(h opsweb.Happening) {
	if t, ok := h.Body.(opsweb.Trouble); ok {
		p.story("trouble: %s", t.What)
	}
}

// run makes the act, once or twice, and waits until all is settled or the run ends.
func (p *process) run() {
	w := p.world
	p.answers()
	settling, stop := context.WithTimeout(p.ctx, longest)
	defer stop()
	if w.chance.meetsAt(runEnds, 0.5) {
		after := w.chance.between("run", 100*time.Millisecond, 4*time.Minute)
		w.background.Go(func() {
			if wait(after, p.dead) {
				p.story("the run is ended")
				stop()
			}
		})
	}
	presses := 1
	if p.number > 1 && w.chance.one("resume", 2) {
		p.resume(settling)
		if w.chance.one("resume", 3) {
			presses = 0
		}
	}
	_ = p.tab.do(settling, browser.Act{Kind: browser.Navigate, URL: "https://shop.test/order"}, 0)
	if presses > 0 && w.chance.one("run", 4) {
		presses = 2
	}
	for i := range presses {
		if i > 0 && w.chance.rate > 0 && w.chance.one("run", 2) {
			wait(w.chance.between("run", time.Second, 2*time.Minute), settling.Done())
		} else if i > 0 {
			_ = p.ops.Settle(settling, true)
		}
		w.mu.Lock()
		w.acts++
		number := w.acts
		w.mu.Unlock()
		if err := p.tab.do(settling, browser.Act{Kind: browser.Click, Selectors: [][]string{{"#exchange"}}}, number); err != nil {
			p.story("the act: %v", err)
		}
	}
	err := p.ops.Settle(settling, true)
	for err == nil && p.ops.Open() > 0 { // one more came as the last one was settled
		err = p.ops.Settle(settling, true)
	}
	if !p.isDead() { // what a dead process says of itself is no part of the story
		p.story("settled: %v, outcomes %v", err, p.ops.Outcomes())
	}
	if settling.Err() == context.DeadlineExceeded {
		w.violates("a run does not end: %v", err)
	}
	p.close()
}

// close ends a run as the agent does.
func (p *process) close() {
	p.ops.Conclude(context.WithoutCancel(p.ctx))
	if !p.isDead() {
		p.story("ends, outcomes %v", p.ops.Outcomes())
	}
	p.end()
	p.user.Wait()
	p.chrome.end()
	p.chrome.loads.Wait()
	p.once.Do(func() { close(p.dead) })
	p.world.must(p.ledger.Close())
}

// play plays a seed's whole story.
func (w *world) play() {
	if w.chance.meets(machineSleeps) {
		after, sleep := w.chance.between("clock", time.Second, 3*time.Minute), w.chance.between("clock", time.Second, 40*time.Minute)
		w.background.Go(func() {
			wait(after)
			w.story("the machine sleeps for %v", sleep)
			w.clock.Lock()
			defer w.clock.Unlock()
			w.skipped += sleep
		})
	}
	runs := 1 + w.chance.number("runs", 3)
	if w.two = w.chance.one("two", 4); w.two {
		runs++
		w.chance.count(twoRuns)
	}
	for n := 1; n <= runs; n++ {
		if n > 1 {
			wait(w.chance.between("runs", time.Second, []time.Duration{20 * time.Second, 3 * time.Minute, 30 * time.Minute, 3 * time.Hour}[w.chance.number("runs", 4)]))
		}
		var living sync.WaitGroup
		if p := w.start(n); p != nil {
			living.Go(p.run)
		}
		if w.two && n < runs {
			// Another one begins while this one goes on.
			n++
			wait(w.chance.between("two", time.Millisecond, []time.Duration{2 * time.Second, time.Minute}[w.chance.number("two", 2)]))
			if beside := w.start(n); beside != nil {
				w.background.Go(beside.run)
			}
		}
		living.Wait()
	}
	w.background.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.judge.ends()
}
