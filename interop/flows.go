package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// Where the recordings are, and what belongs to them; see the README there.
const (
	flowFolder = "interop/flows"
	flowLanes  = 2                // runs at once
	flowLimit  = 60 * time.Second // of one run
	lookAgain  = 200 * time.Millisecond
)

// flowReference is what the reference did with a recording.
type flowReference struct {
	Outcome    string `json:"outcome"` // finished, failed, invalid, hung
	Error      string `json:"error"`
	FailedStep *int   `json:"failed_step"`
	flowTrace
}

// says is the outcome for the table.
func (r flowReference) says() string {
	if r.FailedStep != nil {
		return fmt.Sprintf("%s at step %d", r.Outcome, *r.FailedStep)
	}
	return r.Outcome
}

// flowRun is what became of a recording with papaver run.
type flowRun struct {
	exit   int
	took   time.Duration
	stdout string // the run's events, one JSON object a line
	stderr string
	home   string // everything that the run wrote
	left   error  // of Chromium: a process, or its folder
	site   string // the address of its site
	flowTrace
}

// flowEvent is one line of a run's events.
type flowEvent struct {
	Time time.Time `json:"time"`
	Name string    `json:"event"`
	Step int       `json:"step"`
	What string    `json:"what"`
	Done string    `json:"done"`
}

// lines are the run's events of a name.
func (r *flowRun) lines(name string) (found []flowEvent) {
	for line := range strings.Lines(r.stdout) {
		var e flowEvent
		if json.Unmarshal([]byte(line), &e) == nil && e.Name == name {
			found = append(found, e)
		}
	}
	return found
}

// says is the outcome for the table.
func (r *flowRun) says() string {
	if r.exit == 0 {
		return "finished"
	}
	acts := r.lines("act")
	if len(acts) == 0 {
		return fmt.Sprintf("exit %d", r.exit)
	}
	return fmt.Sprintf("exit %d after step %d", r.exit, acts[len(acts)-1].Step)
}

// recordings are the files of recordings, in order. With more they include those that only a live reference is asked about.
func recordings(more bool) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(flowFolder, "recordings", "*.json"))
	if err == nil && more {
		var others []string
		others, err = filepath.Glob(filepath.Join(flowFolder, "more", "*.json"))
		files = append(files, others...)
	}
	if err != nil || len(files) == 0 {
		return nil, errors.Join(errors.New("there are no recordings"), err)
	}
	return files, nil
}

// nameOf is a recording's name.
func nameOf(file string) string { return strings.TrimSuffix(filepath.Base(file), ".json") }

// flowChecks compares papaver run with the reference, recording by recording.
type flowChecks struct {
	*world
	ca *authority
}

// recordedFlows is one row: every recording by papaver run, against what the reference did and what is right.
func recordedFlows(ctx context.Context, w *world, t *tally) error {
	if err := w.lacks[replay]; w.live && err != nil {
		return err
	}
	files, err := recordings(w.live)
	if err != nil {
		return err
	}
	files = slices.DeleteFunc(files, func(file string) bool { return !strings.Contains(nameOf(file), w.flow) })
	var references struct {
		Flows map[string]flowReference `json:"flows"`
	}
	if err := readJSON(filepath.Join(flowFolder, "reference.json"), &references); err != nil {
		return err
	}
	dir, err := w.stateFolder("flows")
	if err != nil {
		return err
	}
	c := &flowChecks{world: w}
	if c.ca, err = newAuthority(dir); err != nil {
		return err
	}
	results := make([]flowResult, len(files))
	var running sync.WaitGroup
	free := make(chan struct{}, flowLanes)
	for i, file := range files {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			results[i] = c.result(ctx, file, filepath.Join(dir, nameOf(file)[:2]), references.Flows[nameOf(file)])
		})
	}
	running.Wait()
	for _, r := range results {
		r.count(t, w.live)
	}
	t.details = flowTable(results)
	if w.live && w.flow == "" {
		return c.shopFlow(ctx, t)
	}
	return nil
}

// flowResult is one line of the table.
type flowResult struct {
	name        string
	run         *flowRun
	reference   flowReference
	err         error    // it could not be run
	wrong       []string // against what is right
	differences []string // that nothing explains
	why         []string // of those that are known
	moved       []string // what the reference does otherwise than is recorded, when it was run
	gone        []string // explanations of what is not so any more
}

// result runs one recording and judges it.
func (c *flowChecks) result(ctx context.Context, file, dir string, reference flowReference) flowResult {
	name := nameOf(file)
	r := flowResult{name: name, reference: reference}
	recording, err := os.ReadFile(file)
	if err != nil {
		r.err = err
		return r
	}
	scrolls := strings.Contains(string(recording), `"type": "scroll"`)
	if c.live {
		if r.reference, r.err = c.runReference(ctx, file); r.err != nil {
			return r
		}
		if reference.Outcome != "" {
			r.moved = moved(reference, r.reference, scrolls)
		}
	}
	if r.run, r.err = c.run(ctx, file, dir); r.err != nil {
		return r
	}
	if err := rightOf(name)(r.run); err != nil {
		r.wrong = append(r.wrong, err.Error())
	}
	if r.run.left != nil {
		r.wrong = append(r.wrong, r.run.left.Error())
	}
	found := compared(r.reference, r.run.flowTrace, scrolls)
	if a, b := r.reference.Outcome == "finished", r.run.exit == 0; a != b {
		found = append(found, "outcome: "+r.run.says()+", the reference "+r.reference.says())
	}
	r.differences, r.why, r.gone = explained(found, knownFlowDifferences[name])
	return r
}

// compared is how what a site saw differs from what it saw of the reference.
func compared(reference flowReference, have flowTrace, scrolls bool) []string {
	found := differences("request", reference.requestLines(), have.requestLines())
	return append(found, differences("event", reference.eventLines(scrolls), have.eventLines(scrolls))...)
}

// moved is what the reference does otherwise than is recorded of it.
func moved(recorded, now flowReference, scrolls bool) []string {
	found := compared(recorded, now.flowTrace, scrolls)
	if a, b := recorded.says(), now.says(); a != b {
		found = append(found, "outcome: "+b+", recorded: "+a)
	}
	return found
}

// runReference makes one recording with the reference itself at a site of its own.
func (c *flowChecks) runReference(ctx context.Context, file string) (flowReference, error) {
	site, err := c.site(ctx)
	if err != nil {
		return flowReference{}, err
	}
	defer site.close()
	var rules []string
	for _, host := range flowHosts {
		rules = append(rules, "MAP "+host+":443 "+site.address())
	}
	r, err := c.replayed(ctx, file, strings.Join(rules, ", "))
	if err != nil {
		return r, err
	}
	r.flowTrace = trace(site.seen())
	return r, nil
}

// site starts a site with a certificate of its own.
func (c *flowChecks) site(ctx context.Context) (*flowSite, error) {
	leaf, err := c.ca.leaf(flowHosts...)
	if err != nil {
		return nil, err
	}
	return serveFlows(ctx, filepath.Join(flowFolder, "site"), leaf)
}

// run makes one recording with papaver run at a site of its own.
func (c *flowChecks) run(ctx context.Context, file, dir string) (*flowRun, error) {
	tmp := filepath.Join(dir, "tmp") // where Chromium's folder is
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return nil, err
	}
	site, err := c.site(ctx)
	if err != nil {
		return nil, err
	}
	defer site.close()
	r := &flowRun{home: filepath.Join(dir, "home"), site: site.address()}
	args := []string{
		"run", file, "--company", "https://" + flowHosts[0], "--home", r.home, "--cacert", c.ca.file, "--driver", c.driver,
		"--json", "--no-input", "--no-tui", "--timeout", flowLimit.String(),
	}
	for _, host := range flowHosts {
		args = append(args, "--connect-to", host+":443:"+r.site)
	}
	if os.Geteuid() == 0 {
		args = append(args, "--sandbox=false") // it loads our own pages alone
	}
	var stdout, stderr bytes.Buffer
	cmd := command(ctx, c.binary, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = append(cmd.Env, "TMPDIR="+tmp)
	began := time.Now()
	err = cmd.Run()
	r.took = time.Since(began)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		r.exit = exit.ExitCode()
	} else if err != nil {
		return nil, err
	}
	r.left = left(ctx, tmp)
	site.settled(ctx)
	r.stdout, r.stderr, r.flowTrace = stdout.String(), stderr.String(), trace(site.seen())
	return r, nil
}

// left finds what remains of a Chromium whose folder was in tmp. What is about to end has a moment to do so.
func left(ctx context.Context, tmp string) error {
	ctx, cancel := context.WithTimeout(ctx, endWait)
	defer cancel()
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		err := leftNow(ctx, tmp)
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return err
		}
	}
}

func leftNow(ctx context.Context, tmp string) error {
	list, err := exec.CommandContext(ctx, "ps", "-A", "-ww", "-o", "args=").Output()
	if err != nil {
		return fmt.Errorf("the list of processes: %w", err)
	}
	if strings.Contains(string(list), "="+tmp) {
		return errors.New("a process of Chromium's is left")
	}
	entries, err := os.ReadDir(tmp)
	if err == nil && len(entries) > 0 {
		return fmt.Errorf("the folder of Chromium's is left: %s", entries[0].Name())
	}
	return err
}

// explained takes from differences those that are known, and returns the others, the reasons of the known, and which reasons
// explained nothing.
func explained(found []string, known []flowDifference) (unexplained, why, gone []string) {
	for _, k := range known {
		before := len(found)
		found = slices.DeleteFunc(found, func(line string) bool { return slices.Contains(k.lines, line) })
		switch before - len(found) {
		case 0:
			gone = append(gone, k.why)
		default:
			why = append(why, k.why)
		}
	}
	return found, why, gone
}

// count counts what is true of a recording: it does what is right, and differs from the reference in what is known alone.
func (r flowResult) count(t *tally, live bool) {
	if r.err != nil {
		t.fail(r.name, r.err.Error())
		return
	}
	said := func(lines []string) error {
		if len(lines) == 0 {
			return nil
		}
		return errors.New(strings.Join(lines, "; "))
	}
	err := said(r.wrong)
	if err != nil {
		err = fmt.Errorf("%w: it said: %s", err, tail(r.run.stderr))
	}
	t.check(r.name+": does what is right", err)
	t.check(r.name+": every difference to the reference is known", said(r.differences))
	t.check(r.name+": every known difference is there", said(r.gone))
	if live {
		t.check(r.name+": the reference does what is recorded of it", said(r.moved))
	}
}

// flowTable is the table of all recordings.
func flowTable(results []flowResult) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, "| flow\t| papaver run\t| the reference\t| requests\t| events\t| \t| why\t|")
	fmt.Fprintln(w, "| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t|")
	for _, r := range results {
		if r.err != nil {
			fmt.Fprintf(w, "| %s\t| not run\t| %s\t| \t| \t| \t| \t|\n", r.name, r.reference.says())
			continue
		}
		verdict := "same"
		switch {
		case len(r.wrong) > 0:
			verdict = "WRONG"
		case len(r.differences) > 0:
			verdict = "NOT EXPLAINED"
		case len(r.why) > 0:
			verdict = "explained"
		}
		fmt.Fprintf(w, "| %s\t| %s\t| %s\t| %d of %d\t| %d of %d\t| %s\t| %s\t|\n", r.name, r.run.says(), r.reference.says(),
			len(r.run.Requests), len(r.reference.Requests), len(r.run.eventLines(false)), len(r.reference.eventLines(false)), verdict, strings.Join(r.why, "; "))
	}
	_ = w.Flush() // into memory
	return b.String()
}
