package simulation

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var (
	update = flag.Bool("update", false, "look for the seed that finds each mutant and write testdata/mutants.txt")
	most   = flag.Int("most", 60000, "with -update: after so many seeds a mutant counts as not found")
)

// mutantsFile has one line for each mutant: its name, the first seed that finds it, and what that says.
const mutantsFile = "testdata/mutants.txt"

// mutant is one rule of the code taken away. In a patched copy of the file, which nothing but this test builds, the text
// old becomes new; mutant("name") in it is true in a process whose MUTANT is the name.
type mutant struct {
	name, rule string
	patches    []patch
}

type patch struct{ file, old, new string }

// one is a mutant of one patch.
func one(name, rule, file, old, new string) mutant {
	return mutant{name, rule, []patch{{file, old, strings.ReplaceAll(new, "MUTANT", fmt.Sprintf("mutant(%q)", name))}}}
}

func (m mutant) and(file, old, new string) mutant {
	m.patches = append(m.patches, patch{file, old, strings.ReplaceAll(new, "MUTANT", fmt.Sprintf("mutant(%q)", m.name))})
	return m
}

// mutants are deliberate bugs. Where old is a condition, new is that condition without its force.
var mutants = []mutant{
	one("a-no-is-a-yes", "nothing is sent after the User's no", "opsweb/ask.go", `	case approval.Denied:
`, `	case approval.Denied:
		if MUTANT {
			r.decision = d
			r.decision.ExpiresAt = r.op.ExpiresAt
			return move{on: evApproved, written: true}, nil
		}
`),
	one("any-answer", "an answer counts only for what is open", "approval/desk.go", `if a.shown != request.Shows() {`, `if !MUTANT && a.shown != request.Shows() {`),
	one("held-past-expiry", "the clock is looked at again after an approval was held back", "opsweb/send.go",
		`if !r.companyTime().Before(r.op.ExpiresAt) { // a machine`, `if !MUTANT && !r.companyTime().Before(r.op.ExpiresAt) { // a machine`),
	one("declined-again", "a declined revision is not approved again", "opsweb/meanwhile.go",
		`p.Verdict == Declined && p.sent`, `!MUTANT && p.Verdict == Declined && p.sent`).
		and("opsweb/ask.go", `case same && other.state == Settled`, `case !MUTANT && same && other.state == Settled`),
	one("performed-again", "what the ledger has as performed is not approved again", "opsweb/earlier.go",
		`case as == Performed && p.Outcome == Performed:`, `case !MUTANT && as == Performed && p.Outcome == Performed:`).
		and("opsweb/meanwhile.go", `r.about(p) && (p.Outcome == Performed`, `r.about(p) && (!MUTANT && p.Outcome == Performed`),
	one("earlier-runs-forgotten", "an earlier run's approval is looked up before the User is asked", "opsweb/earlier.go",
		`		if len(open) == 0 {
			return r.endedBefore`, `		if MUTANT || len(open) == 0 {
			return r.endedBefore`).and("opsweb/meanwhile.go", `if r.heldBy(p) ||`, `if !MUTANT && r.heldBy(p) ||`).
		and("opsweb/earlier.go", `if err != nil || len(open) == 0 {`, `if MUTANT || err != nil || len(open) == 0 {`),
	one("living-runs-taken-over", "an operation with which a run that lives goes on is waited for", "opsweb/earlier.go",
		`return !p.State.final() && r.ops.cfg.Lives`, `return !MUTANT && !p.State.final() && r.ops.cfg.Lives`),
	one("denied-beside-another", "no round ends as not performed while another one holds its operation", "opsweb/meanwhile.go",
		`	return m.on == evSettle && r.op.ID`, `	return !MUTANT && m.on == evSettle && r.op.ID`),
	one("looked-at-before-it-moved", "a round that has moved on is looked up again", "opsweb/earlier.go",
		`		if next := p.Approval(); next == nil`, `		if MUTANT {
			r.looks(p)
		}
		if next := p.Approval(); next == nil`),
	one("flow-meets-another", "what a flow that is run again meets is not asked about before the end of what it was run for is known", "opsweb/afterflow.go",
		`	of, err := r.flowOf()
`, `	of, err := r.flowOf()
	if MUTANT {
		of = nil
	}
`),
	one("repeats-of-another-run", "what a page asks for again is not asked about while another run approves the first", "opsweb/meanwhile.go",
		`		if p.Approval() != nil || ours`, `		if MUTANT {
			continue
		}
		if p.Approval() != nil || ours`),
	one("again-beside-another", "an act is not made again for a new reference while its request is approved in another round", "opsweb/ask.go",
		`if beside = r.usedBeside(); beside != "" {`, `if beside = r.usedBeside(); beside != "" && !MUTANT {`),
	one("sent-beside-another", "an approval is not sent again once another run approved the operation", "opsweb/meanwhile.go",
		`case m.on == evReplay, m.on == evSendAgain:`, `case m.on == evReplay, m.on == evSendAgain && !MUTANT:`),
	one("repeats-of-a-run-before", "what a page asked for again in a run that is gone is not asked about while an approval of the first may be used", "opsweb/meanwhile.go",
		`		return r.repeatedBefore(v)`, `		if MUTANT {
			return repeated{}, nil
		}
		return r.repeatedBefore(v)`),
	one("older-terms-not-looked-up", "before an approval of new terms is sent again, that of the older ones is looked up", "opsweb/resume.go",
		`	if m, err := r.notUsedMeanwhile(ctx); err`, `	if m, err := r.notUsedMeanwhile(ctx); !MUTANT && err`).
		and("opsweb/resume.go", `m.on != "" {
		return m, err
	}
	return r.writeTry(ctx)`, `!MUTANT && m.on != "" {
		return m, err
	}
	return r.writeTry(ctx)`),
	one("flow-of-a-run-before", "what a flow met in a run that is gone is not asked about before the end of what it was run for is known", "opsweb/afterflow.go",
		`	if !taken {`, `	if MUTANT || !taken {`),
	one("not-said-is-never-recorded", "that an approval was not recorded holds only while the Company would remember it", "opsweb/history.go",
		`	ends, err := time.Parse(time.RFC3339, p.Ends)
	last`, `	if MUTANT {
		return true
	}
	ends, err := time.Parse(time.RFC3339, p.Ends)
	last`),
	one("each-try-another", "the same approval goes again, never another one", "opsweb/send.go",
		`	err := r.apply(ctx, move{on: evSendAgain`, `	if MUTANT {
		again := *r.approval
		again.Reference, _ = operation.NewReference(r.ops.cfg.Rand)
		r.approval = &again
	}
	err := r.apply(ctx, move{on: evSendAgain`),
	one("tries-unwritten", "each further try is written down before it leaves", "opsweb/send.go",
		`move{on: evSendAgain, body: r.sent(r.attempts)}`, `move{on: evSendAgain, written: MUTANT, body: r.sent(r.attempts)}`),
	one("sent-unwritten", "an approval leaves only when its line is on disk", "opsweb/send.go",
		`return move{on: evSend, body: r.sent(r.attempts)}, nil`, `return move{on: evSend, written: MUTANT, body: r.sent(r.attempts)}, nil`),
	one("replay-unwritten", "an act is made again only when its line is on disk", "opsweb/send.go",
		`move{on: evReplay, body: Replay{How: how}}`, `move{on: evReplay, written: MUTANT, body: Replay{How: how}}`),
	one("sighting-unwritten", "a reference is used only when its sighting is on disk", "opsweb/operations.go",
		`	if _, err := o.cfg.Ledger.Append(ctx, ledger.Entry{Kind: "sighting", Round: r.id, Data: line}); err != nil {`,
		`	if _, err := o.cfg.Ledger.Append(ctx, ledger.Entry{Kind: "sighting", Round: r.id, Data: line}); err != nil && !MUTANT {`),
	one("write-errors-ignored", "a line that could not be written permits nothing", "opsweb/step.go",
		`Unless: r.unless(m)}); err != nil {`, `Unless: r.unless(m)}); err != nil && !MUTANT {`),
	one("never-synced", "a line counts when it is synced", "ledger/ledger.go",
		`	if err := l.file.Sync(); err != nil {
		// Nobody`, `	if MUTANT {
		return nil
	}
	if err := l.file.Sync(); err != nil {
		// Nobody`),
	one("new-terms-in-answer-to-a-retry", "new terms in answer to a retry do not say what became of the first try", "opsweb/send.go",
		`if r.unsure && rep.broken == nil && rep.Operation.ID`, `if !MUTANT && r.unsure && rep.broken == nil && rep.Operation.ID`),
	one("gone-in-answer-to-a-retry", "a reference that is gone does not say what became of the first try", "opsweb/send.go",
		`		if r.unsure {
			// An earlier`, `		if r.unsure && !MUTANT {
			// An earlier`),
	one("busy-is-no", "a busy Company may have recorded the approval", "opsweb/send.go",
		`		r.unsure = true
`, `		r.unsure = !MUTANT
`),
	one("silence-is-failure", "an approval that nobody answered is unknown, not failed", "opsweb/send.go",
		`m := settlef(Unknown, "the Company did not say`, `m := settlef(map[bool]Outcome{true: Failed, false: Unknown}[MUTANT], "the Company did not say`),
	one("no-look-up-is-failure", "an act of which nobody can say what became is unknown, not failed", "opsweb/send.go",
		`return settlef(Unknown, "the Company could not be asked`, `return settlef(map[bool]Outcome{true: Failed, false: Unknown}[MUTANT], "the Company could not be asked`).
		and("opsweb/step.go", `r.alive == nil || m.on != evSettle`, `MUTANT || r.alive == nil || m.on != evSettle`),
	one("recorded-is-performed", "recorded is not performed", "opsweb/send.go",
		`return move{on: evRecorded, body: Approval{Outcome: "recorded"}}`, `if MUTANT {
			return settle(Performed, "")
		}
		return move{on: evRecorded, body: Approval{Outcome: "recorded"}}`),
	one("performing-is-performed", "what is being performed is waited for", "opsweb/send.go",
		`case rep.State == operation.Performed:`, `case rep.State == operation.Performed || MUTANT && rep.State == operation.Performing:`),
	one("approved-is-failed", "an approval that is recorded and was not used is not failed", "opsweb/send.go",
		`return settle(Unknown, "it is approved and not performed`, `return settle(map[bool]Outcome{true: Failed, false: Unknown}[MUTANT], "it is approved and not performed`).
		and("opsweb/step.go", `r.alive == nil || m.on != evSettle`, `MUTANT || r.alive == nil || m.on != evSettle`),
	one("alive-is-failed", "no round ends as not performed while an approval of it can be used", "opsweb/step.go",
		`r.alive == nil || m.on != evSettle`, `MUTANT || r.alive == nil || m.on != evSettle`),
	one("again-without-looking", "an act is made again only when the Company says that the approval was not used up", "opsweb/send.go",
		`	until := r.ops.cfg.Now().Add(lookTime)
	pause := firstPause
	for {
		rep, err := r.tryLookUp(ctx, r.reference, lookTries)`, `	until := r.ops.cfg.Now().Add(lookTime)
	pause := firstPause
	if MUTANT && r.replays == 1 && r.act() != nil {
		return move{on: evStillApproved}, nil
	}
	for {
		rep, err := r.tryLookUp(ctx, r.reference, lookTries)`),
	one("new-reference-first", "the old reference is looked up before a new one is looked at", "opsweb/send.go",
		`func (r *round) lookUp(ctx context.Context) (move, error) {
`, `func (r *round) lookUp(ctx context.Context) (move, error) {
	if MUTANT {
		if next := r.takeSuccessor(); next != nil {
			if rep, err := r.tryLookUp(ctx, next.reference, lookTries); err == nil && rep.Kind == operation.Returned && rep.broken == nil {
				r.take(next)
				r.ops.mu.Lock()
				defer r.ops.mu.Unlock()
				m := r.fetchedLocked(rep.Operation)
				m.on = evNewTerms
				return m, nil
			}
		}
	}
`),
	one("new-terms-after-the-act", "new terms after the act was made again do not say that it was not performed", "opsweb/send.go",
		`r.replays == 0 && !r.wasRecorded() && rep.Operation.ID`, `(MUTANT || r.replays == 0 && !r.wasRecorded()) && rep.Operation.ID`),
	one("recorded-and-not-seen", "new terms after a recorded approval do not say that it was not used", "opsweb/send.go",
		`return r.alive != nil && r.alive.revision == r.op.Revision`, `return !MUTANT && r.alive != nil && r.alive.revision == r.op.Revision`),
	one("over-and-asked", "what comes of an act that was made again for an operation that is over is not asked about", "opsweb/operations.go",
		`	if r == nil || r.site != s || (r.state.final()`, `	if MUTANT || r == nil || r.site != s || (r.state.final()`).
		and("opsweb/meanwhile.go", `other.mayBeUsedLocked() || ours && `, `!MUTANT && other.mayBeUsedLocked() || ours && !MUTANT && `),
	one("repeats-are-second-questions", "what a page asks for again is not asked about while it is not known what became of the first", "opsweb/operations.go",
		`	if r == nil {
		r = o.repeatedLocked`, `	if r == nil && !MUTANT {
		r = o.repeatedLocked`).
		and("opsweb/meanwhile.go", `other.mayBeUsedLocked() ||`, `!MUTANT && other.mayBeUsedLocked() ||`).and("opsweb/meanwhile.go", `&& other.outcome == Performed {`, `&& !MUTANT && other.outcome == Performed {`),
	one("two-rounds-of-one", "an operation has one round at a time", "opsweb/ask.go",
		`case other.movesLocked():`, `case !MUTANT && other.movesLocked():`),
	one("redirects-followed", "no redirect is followed", "opsweb/operations.go",
		`return http.ErrUseLastResponse }`, `if MUTANT {
			return nil
		}
		return http.ErrUseLastResponse
	}`).and("session/once.go", `req.GetBody = nil`, `if !MUTANT {
		req.GetBody = nil
	}`),
}

// switches is the file that each patched package gets beside its own.
const switches = `package %s

import "os"

var mutantOn = os.Getenv("MUTANT")

func mutant(name string) bool { return name == mutantOn }
`

// Each rule that is taken away is missed: the simulator finds every mutant by the seed that the list has for it.
func TestEachDeliberateBugIsFoundBySeed(t *testing.T) {
	bin := buildMutants(t)
	listed := readMutants(t)
	var list strings.Builder
	for _, m := range mutants {
		seed := listed[m.name]
		if *update {
			seed = ""
		}
		found, said := findMutant(t, bin, m.name, seed)
		t.Logf("%-32s %8s  %s: %s", m.name, found, m.rule, said)
		if found == "" {
			t.Errorf("%s (%s) is not found by seed %q; look for another one: go test ./simulation -run DeliberateBug -update", m.name, m.rule, seed)
		}
		fmt.Fprintf(&list, "%s\t%s\t%s\n", m.name, found, said)
	}
	if *update {
		if err := os.WriteFile(mutantsFile, []byte(list.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// Without a mutant the patched code is the code: what the seeds find is the mutants' doing.
	for _, m := range mutants {
		if seed := listed[m.name]; seed != "" && !*update {
			if found, said := findMutant(t, bin, "", seed); found != "" {
				t.Errorf("seed %s finds a bug without any mutant: %s", found, said)
			}
		}
	}
}

func buildMutants(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	texts := make(map[string]string)
	for _, m := range mutants {
		for _, p := range m.patches {
			if texts[p.file] == "" {
				data, err := os.ReadFile(filepath.Join(root, p.file))
				if err != nil {
					t.Fatal(err)
				}
				texts[p.file] = string(data)
			}
			if n := strings.Count(texts[p.file], p.old); n != 1 {
				t.Fatalf("%s: its place is %d times in %s, where the rule (%s) was; say in mutants_test.go where it is now: %s", m.name, n, p.file, m.rule, p.old)
			}
			texts[p.file] = strings.Replace(texts[p.file], p.old, p.new, 1)
		}
	}
	for file := range texts {
		folder := filepath.Dir(file)
		texts[filepath.Join(folder, "mutant.go")] = fmt.Sprintf(switches, folder)
	}
	overlay := struct{ Replace map[string]string }{make(map[string]string)}
	for file, text := range texts {
		patched := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(patched, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(root, file)] = patched
	}
	data, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayFile, data, 0o600); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "mutants.test")
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", overlayFile, "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("the patched code does not build: %v\n%s", err, out)
	}
	return bin
}

var foundSeed = regexp.MustCompile(`SEED=(\d+): (.*)`)

// findMutant runs one seed, or with an empty one looks for the first that finds something.
func findMutant(t *testing.T, bin, name, seed string) (found, said string) {
	t.Helper()
	args := []string{"-test.run", "WhateverDiesAndWhenever", "-test.v", "-stop", "1", "-seeds", "1", "-from", seed, "-workers", "1"}
	if seed == "" {
		args = []string{"-test.run", "WhateverDiesAndWhenever", "-test.v", "-stop", "1", "-seeds", fmt.Sprint(*most), "-test.timeout", "30m"}
	}
	cmd := exec.CommandContext(t.Context(), bin, args...)
	cmd.Env = append(os.Environ(), "MUTANT="+name, "SEED=")
	cmd.WaitDelay = time.Minute
	out, err := cmd.CombinedOutput()
	match := foundSeed.FindStringSubmatch(string(out))
	if match == nil {
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		return "", ""
	}
	said, _, _ = strings.Cut(match[2], "; ")
	return match[1], said
}

func readMutants(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(mutantsFile)
	if err != nil && !*update {
		t.Fatal(err)
	}
	list := make(map[string]string)
	for line := range strings.Lines(string(data)) {
		if parts := strings.SplitN(strings.TrimSpace(line), "\t", 3); len(parts) > 1 {
			list[parts[0]] = parts[1]
		}
	}
	return list
}
