package tui

import (
	"time"

	"github.com/papaver-agent/papaver/internal/plaintext"
)

// listView is the list of questions that wait, Company by Company, soonest deadline first.
type listView struct {
	questions []question
	chosen    int
	note      words
}

// view is the screen.
func (v listView) view(p painter, w, h int, now time.Time) []line {
	var body []line
	top, end := 0, 0
	if len(v.questions) == 0 {
		body = flow(say(wNoneWaits), w, nil, nil)
	}
	for i, q := range v.questions {
		if i == v.chosen {
			top = len(body)
		}
		if i == 0 || v.questions[i-1].company != q.company {
			if i > 0 {
				body = append(body, line{})
			}
			body = append(body, flow(q.company.introduce(), w, nil, say("  "))...)
		}
		body = append(body, q.entry(p, w, i == v.chosen, now)...)
		if i == v.chosen {
			end = len(body)
		}
	}
	var bottom []line
	if v.note != "" {
		bottom = flow(line{ours(v.note, strong)}, w, nil, nil)
	}
	bottom = append(bottom, foot(p, w, "", listKeys())...)
	first := 0
	if room := roomFor(h, bottom); end > room {
		first = min(top, max(len(body)-room, 0))
	}
	return scrolled(p, w, h, titleWords(len(v.questions)), body, bottom, first)
}

func (q question) entry(p painter, w int, chosen bool, now time.Time) []line {
	lead := say("  ")
	if chosen {
		lead = line{ours(p.marks.doing+" ", strong)}
	}
	left := line{ours(timeLeft(q.deadline.Sub(now)), plain)}
	out := flow(q.does(), w-left.cells()-1, lead, say("  "))
	out[0] = spread(out[0], left, w)
	if !q.front {
		out = append(out, flow(line{ours(wNotFront, alert)}, w, say("    "), say("    "))...)
	}
	return out
}

// does is what the agent did that the question is about.
func (q question) does() line {
	if q.act == (plaintext.Text{}) {
		return line{ours(wNoAct, alert)}
	}
	return turned(q.act, plain)
}
