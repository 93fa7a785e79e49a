package agent

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/opsweb"
)

// Left are the runs of a home that have ended and left operations unsettled, as terminals show tasks: where each operation
// stands, and how it is settled. It changes nothing but that the files of dead runs in the run folder are cleared away. Errors are
// the ledger's.
func Left(h home.Home, now time.Time) ([]attach.Task, error) {
	var l left
	err := ledger.Look(filepath.Join(h.Ledger(), ledger.FileName), opsweb.Index(), func(v ledger.View) (err error) {
		l, err = readLeft(v, "", now)
		return err
	})
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var tasks []attach.Task
	at := make(map[string]int)
	for _, p := range l.rounds {
		i, known := at[p.Owner]
		if !known {
			done, err := attach.Take(h.Run(), p.Owner)
			if err != nil {
				at[p.Owner] = -1 // it goes on
				continue
			}
			done()
			i = len(tasks)
			at[p.Owner] = i
			v, _ := l.visitOf(p)
			tasks = append(tasks, leftTask(p, v))
		}
		if i >= 0 {
			tasks[i].Rounds = append(tasks[i].Rounds, leftRound(p))
			tasks[i].Ended = p.Records[len(p.Records)-1].Time
		}
	}
	return tasks, nil
}

func leftTask(p opsweb.Past, v visitLine) attach.Task {
	return attach.Task{
		ID: p.Owner, Title: v.Title, Company: approval.Company{Domain: p.Company}, Started: p.Records[0].Time, Outcome: "interrupted", Now: "its process has ended",
		Trouble: &trouble.Error{
			What: "this run has ended and left what stands above unsettled", Done: "what stands above",
			Undone: "nothing goes on by itself", Next: "papaver run --resume settles it; with its flow and --company, the flow can finish it",
		},
	}
}

// leftRound is an operation that nobody goes on with.
func leftRound(p opsweb.Past) attach.Round {
	last := p.Records[len(p.Records)-1].Time
	r := attach.Round{ID: p.ID, Summary: p.Summary, Stages: []attach.Stage{{Label: "it stands at " + string(p.State) + "; papaver run --resume would: " + p.Restart(), At: last}}}
	if at, err := time.Parse(time.RFC3339, p.Ends); err == nil {
		r.Expires = at
	}
	if p.State == opsweb.Settled {
		r.Outcome = string(p.Outcome)
	}
	return r
}
