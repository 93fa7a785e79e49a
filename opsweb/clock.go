package opsweb

import (
	"time"

	"github.com/papaver-agent/papaver/approval"
)

// When a revision ends is the Company's word, so it is the Company's clock that decides whether it has ended. Ours may be
// wrong, and be set while a question is open.

// companyTime is what the Company's clock shows, as far as it is known.
func (r *round) companyTime() time.Time {
	return r.ops.cfg.Now().Add(-r.ops.ahead(r.site.company.Domain))
}

// ahead is by how much our clock is ahead of a Company's.
func (o *Operations) ahead(domain string) time.Duration {
	if o.cfg.Ahead == nil {
		return 0
	}
	return o.cfg.Ahead(domain)
}

// deadline is the moment of our clock, as it stands, at which a question's revision ends.
func (o *Operations) deadline(q approval.Question) time.Time {
	return q.Operation.ExpiresAt.Add(o.ahead(q.Company.Domain))
}
