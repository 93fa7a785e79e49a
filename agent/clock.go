package agent

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/papaver-agent/papaver/internal/skew"
	"github.com/papaver-agent/papaver/internal/trouble"
)

// Clock: this machine's clock and the Company's differ, or no longer do.
type Clock struct {
	Company string `json:"company"`
	Ahead   int64  `json:"ahead"`         // seconds by which ours is ahead; negative when it is behind
	Set     int64  `json:"set,omitempty"` // seconds by which ours was set forward meanwhile, negative when it was set back
}

// Words says it for people. The Company's domain in it is not sanitised.
func (c Clock) Words() string {
	s := ""
	switch {
	case c.Set > 0:
		s = fmt.Sprintf("this machine's clock was set forward by %v: ", seconds(c.Set))
	case c.Set < 0:
		s = fmt.Sprintf("this machine's clock was set back by %v: ", seconds(-c.Set))
	}
	switch {
	case c.Ahead > 0:
		return s + fmt.Sprintf("this machine's clock is %v ahead of that of %s, which decides when an operation ends", seconds(c.Ahead), c.Company)
	case c.Ahead < 0:
		return s + fmt.Sprintf("this machine's clock is %v behind that of %s, which decides when an operation ends", seconds(-c.Ahead), c.Company)
	default:
		return s + "this machine's clock is the same as that of " + c.Company
	}
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

// clockOf is a difference in whole seconds: one that is not notable is none.
func clockOf(company string, ahead, set time.Duration) Clock {
	if ahead.Abs() < skew.Notable {
		ahead = 0
	}
	return Clock{Company: company, Ahead: int64(ahead / time.Second), Set: int64(set / time.Second)}
}

// ahead is by how much our clock is ahead of a Company's.
func (a *Agent) ahead(company string) time.Duration {
	d, _ := a.clocks.Ahead(company)
	return d
}

// lastClock is what was told last. Safe for concurrent use.
type lastClock struct {
	mu    sync.Mutex
	ahead int64
}

// news reports whether c says something else than what was told last: our clock is wrong by as much at every Company.
func (l *lastClock) news(c Clock) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.ahead
	l.ahead = c.Ahead
	return seconds(c.Ahead-last).Abs() >= skew.Notable
}

// clockDiffers tells the User of a clock that is wrong, or was set.
func (a *Agent) clockDiffers(d skew.Difference) {
	c := clockOf(d.Company, d.Ahead, d.Set)
	if !a.lastClock.news(c) {
		return
	}
	if a.progress != nil { // the run has begun
		a.progress.doing(c.Words())
	}
	a.emit(Event{Time: a.cfg.Now(), Name: "clock", Body: c})
}

// clockMoved has the deadlines of the open questions asked for anew: our clock was set, or a Company's is known better.
func (a *Agent) clockMoved() {
	if a.ops != nil { // the run has begun
		a.ops.Desk().ClockMoved()
	}
}

// blamed adds to an error of a Company what is known of the clocks: a Company refuses what is dated by a wrong one.
func (a *Agent) blamed(company string, err error) error {
	t, ok := errors.AsType[*trouble.Error](err)
	c := clockOf(company, a.ahead(company), 0)
	if !ok || c.Ahead == 0 {
		return err
	}
	t.Next = "set this machine's clock, by which what the agent signs is dated, and try again; if that does not help, " + t.Next
	t.What += "; " + c.Words()
	return err
}
