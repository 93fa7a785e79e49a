package agent_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/browser/chromedpdriver"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/opsweb"
)

// clocks are the differences that were told.
func (l *log) clocks() []agent.Clock {
	l.mu.Lock()
	defer l.mu.Unlock()
	var told []agent.Clock
	for _, e := range l.events {
		if c, ok := e.Body.(agent.Clock); ok {
			told = append(told, c)
		}
	}
	return told
}

// Our clock is ahead by less than a Company forgives, and by more than an operation lives: it is told, and the operation is
// asked, approved and performed. By more than a Company forgives nothing that we sign is taken, and the error says why.
func TestAWrongClockIsToldAndEndsNoOperationThatIsValidAtTheCompany(t *testing.T) {
	const ahead = 20 * time.Second // the bundled site forgives 30
	w := newWorld(t)
	w.site.SetOperationLife(15 * time.Second)
	l := &log{}
	a, err := agent.Start(t.Context(), agent.Config{
		Home: w.home, Driver: chromedpdriver.Driver{}, ConnectTo: w.site.ConnectTo(), CACerts: []string{w.cacert},
		NoSandbox: os.Getenv("PAPAVER_TEST_SANDBOX") == "off" || os.Geteuid() == 0, Title: "test", Events: l.add,
		Now: func() time.Time { return time.Now().Add(ahead) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.close(a)
	defer w.user(a, func(approval.Question) bool { return true })()
	v, err := a.Visit(t.Context(), w.site.Company())
	if err != nil {
		t.Fatal(err)
	}
	if got := w.do(v, exchange()...); !slices.Equal(got, []opsweb.Outcome{opsweb.Performed}) {
		t.Errorf("the exchange ended as %q", got)
	}
	w.counted(1, 1)
	if told := l.clocks(); len(told) != 1 || told[0].Company != "stormline.test" || told[0].Ahead < 15 || told[0].Ahead > 20 || told[0].Set != 0 {
		t.Errorf("told %+v", told)
	}

	w.site.Advance(20 * time.Minute)
	_, err = a.Visit(t.Context(), w.site.Company())
	said := trouble.Of(err)
	if err == nil || !strings.Contains(said.What, "behind that of stormline.test") || !strings.HasPrefix(said.Next, "set this machine's clock") {
		t.Errorf("the join ended with %+v", said)
	}
	if told := l.clocks(); len(told) != 2 || told[1].Ahead > -19*60 {
		t.Errorf("told %+v", told)
	}
}

func TestTheWordsOfAClock(t *testing.T) {
	for _, c := range []struct {
		clock agent.Clock
		want  string
	}{
		{agent.Clock{Company: "shop.test", Ahead: 420}, "this machine's clock is 7m0s ahead of that of shop.test, which decides when an operation ends"},
		{agent.Clock{Company: "shop.test", Ahead: -90, Set: -80}, "this machine's clock was set back by 1m20s: this machine's clock is 1m30s behind that of shop.test, which decides when an operation ends"},
		{agent.Clock{Company: "shop.test", Set: 90}, "this machine's clock was set forward by 1m30s: this machine's clock is the same as that of shop.test"},
	} {
		if got := c.clock.Words(); got != c.want {
			t.Errorf("%+v: %q", c.clock, got)
		}
	}
}
