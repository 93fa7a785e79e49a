package company

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/papaver-agent/papaver/profile"
)

// discoveryTimeout is for all documents together.
const discoveryTimeout = 20 * time.Second

// Verdict is what became of a rule.
type Verdict string

// The verdicts.
const (
	OK         Verdict = "ok"
	Failed     Verdict = "failed"
	NotReached Verdict = "not reached" // its document could not be read, or an earlier rule says where it is
)

// Finding is one rule and what became of it.
type Finding struct {
	Rule    string // the rule's name; each is in a report once
	URL     string // of the document; empty when an earlier rule failed that says where it is
	Verdict Verdict
	Found   string         // what the document says; the Company's values stand in it quoted and escaped
	Err     *DocumentError // of a failed rule, else nil
}

// Report is what a Company publishes, rule by rule.
type Report struct {
	// Findings are the rules of the profile, and of every profile where none could be chosen, in the order in which
	// they were judged. A rule about what need not be listed, and isn't, is left out.
	Findings []Finding
	// Versions are the protocol versions that poppy.json lists; the Company's own text, not sanitised.
	Versions []string
	// Extensions are those that poppy.json lists, in the order of their names.
	Extensions []Extension
	// Profile is the one that the rules are of; nil when poppy.json says none of ours and none was forced.
	Profile *profile.Profile
	// Company is nil when a rule failed.
	Company *Company
}

// Failure is the first failed rule, or nil.
func (r *Report) Failure() *DocumentError {
	for _, f := range r.Findings {
		if f.Err != nil {
			return f.Err
		}
	}
	return nil
}

// Options say how a Company's documents are read.
type Options struct {
	// Profile is the version whose rules hold, whatever poppy.json lists: a Company that does not list it breaks a rule.
	// Nil chooses the newest of ours that poppy.json lists.
	Profile *profile.Profile
	// Cache may be nil: nothing is kept and nothing stored is used.
	Cache *Cache
}

// Examine reads what is published at a with client (which must follow no redirects by itself) and judges every rule
// that can be judged. Where nothing is published, or nothing answers, the rules after the first are not reached.
func Examine(ctx context.Context, client *http.Client, a Address, o Options) *Report {
	report, _ := examine(ctx, client, a, o, false)
	return report
}

// Discover is [Examine] up to the first failed rule: it returns the Company when its documents agree. Its errors are
// *[DocumentError], or ErrNothingPublished.
//
// Stored copies are of different moments, and may disagree where the published documents don't: when a rule failed and
// a stored copy was used, all is asked for anew, once.
func Discover(ctx context.Context, client *http.Client, a Address, o Options) (*Company, error) {
	report, stored := examine(ctx, client, a, o, true)
	if report.Company == nil && stored {
		o.Cache = o.Cache.Anew()
		report, _ = examine(ctx, client, a, o, true)
	}
	switch failure := report.Failure(); {
	case failure == nil:
		return report.Company, nil
	case errors.Is(failure, ErrNothingPublished):
		return nil, ErrNothingPublished
	default:
		return nil, failure
	}
}

// discovery is one reading of the documents, as far as it has come.
type discovery struct {
	client  *http.Client
	address Address
	profile *profile.Profile // nil until it is chosen
	cache   *Cache           // may be nil
	stored  bool             // a stored copy was used

	at       [documents]string // where each document is; empty when that is not known
	from     [documents]string // where each was read, after redirects
	read     [documents]bool
	poppy    poppyDocument
	resource resourceDocument
	metadata map[string]any
	issuer   bool // one issuer is named, in company
	company  Company
}

// examine judges the rules in their order, with first only until one fails. It also reports whether a stored copy was
// used.
func examine(ctx context.Context, client *http.Client, a Address, o Options, first bool) (_ *Report, stored bool) {
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	d := &discovery{client: client, address: a, profile: o.Profile, cache: o.Cache, company: Company{Domain: a.domain}}
	d.at[poppy] = a.origin + "/.well-known/poppy.json"
	d.at[resource] = a.origin + "/.well-known/oauth-protected-resource"
	report := &Report{}
	over := false
	for _, r := range rules() {
		if !d.concerns(r) {
			continue
		}
		f := Finding{Rule: r.name, URL: d.at[r.of], Verdict: NotReached}
		if !over && d.reaches(r) {
			found, err := r.check(ctx, d)
			f.Verdict, f.Found = OK, found
			if err != nil {
				err.URL = f.URL
				f.Verdict, f.Found, f.Err = Failed, err.said(), err
				over = first || r.of == poppy && (errors.Is(err, ErrNothingPublished) || errors.Is(err, ErrUnreachable))
			}
		}
		report.Findings = append(report.Findings, f)
	}
	report.Versions = d.poppy.versions()
	report.Profile = d.profile
	if d.profile != nil {
		report.Extensions = d.extensions()
	}
	if report.Failure() == nil {
		d.company.Profile = *d.profile
		report.Company = &d.company
	}
	return report, d.stored
}

// concerns reports whether r is a rule of the profile that is about something that may be there. While there is no
// profile, only the rules that need none are.
func (d *discovery) concerns(r rule) bool {
	if r.any {
		return true
	}
	return d.profile != nil && (r.when == nil || r.when(d))
}

// reaches reports whether the documents that r needs are there.
func (d *discovery) reaches(r rule) bool {
	if r.reads {
		return d.at[r.of] != ""
	}
	if r.issuer && !d.issuer {
		return false
	}
	for _, needed := range append([]document{r.of}, r.needs...) {
		if !d.read[needed] {
			return false
		}
	}
	return true
}
