package ledger_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/ledger"
)

// childTask names, in the environment of this test binary started again, what
// it does instead of testing.
const childTask = "LEDGER_TEST_TASK"

func TestMain(m *testing.M) {
	task := os.Getenv(childTask)
	if task == "" {
		os.Exit(m.Run())
	}
	if err := child(task, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child opens the ledger and does its task. It prints each sequence number
// after the append that gave it.
func child(task, dir, owner string) error {
	ctx := context.Background()
	cfg := ledger.Config{Dir: dir, Owner: owner, Index: byKind, Coarse: time.Nanosecond}
	if short, ok := strings.CutSuffix(task, " to short files"); ok {
		task, cfg.MaxFile = short, shortFile
	}
	l, err := ledger.Open(ctx, cfg)
	if err != nil {
		return err
	}
	count := appendsEach
	switch task {
	case "append":
	case "append until killed":
		count = everything
	case "small disk":
		return smallDisk(ctx, l, dir)
	case "append what is not there":
		return errors.Join(appendOnce(ctx, l), l.Close())
	default:
		return errors.New("no such task: " + task)
	}
	for i := range count {
		r, err := l.Append(ctx, ledger.Entry{Kind: "k", Round: owner, Data: map[string]int{"n": i}})
		if err != nil {
			return err
		}
		fmt.Println(r.Seq)
	}
	return l.Close()
}

const appendsEach = 50

var errThere = errors.New("it is there")

// appendOnce appends each number, unless somebody did.
func appendOnce(ctx context.Context, l *ledger.Ledger) error {
	for i := range appendsEach {
		kind := fmt.Sprint("n", i)
		r, err := l.Append(ctx, ledger.Entry{Kind: kind, Unless: func(v ledger.View) error {
			records, err := v.Lines(kind)
			if err == nil && len(records) > 0 {
				return errThere
			}
			return err
		}})
		if err != nil && !errors.Is(err, errThere) {
			return err
		}
		if err == nil {
			fmt.Println(r.Seq)
		}
	}
	return nil
}

// smallDisk lets the kernel itself cut a write off in its middle.
func smallDisk(ctx context.Context, l *ledger.Ledger, dir string) error {
	info, err := os.Stat(file(dir))
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	small := syscall.Rlimit{Cur: uint64(info.Size()) + 100, Max: limit.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small); err != nil {
		return err
	}
	if _, err := l.Append(ctx, ledger.Entry{Kind: "k"}); !errors.Is(err, syscall.EFBIG) || errors.Is(err, ledger.ErrBroken) {
		return fmt.Errorf("an append on a full disk: %w", err)
	}
	if after, err := os.Stat(file(dir)); err != nil || after.Size() != info.Size() {
		return fmt.Errorf("a part stayed in the file: %d bytes, %w", after.Size()-info.Size(), err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	r, err := l.Append(ctx, ledger.Entry{Kind: "k"})
	fmt.Println(r.Seq)
	return errors.Join(err, l.Close())
}

func startChild(t *testing.T, task, dir, owner string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0], dir, owner)
	cmd.Env = append(os.Environ(), childTask+"="+task)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

func TestTwoProcessesAppendInTurn(t *testing.T) {
	t.Run("to one file", func(t *testing.T) { twoProcesses(t, "append") })
	t.Run("to short files", func(t *testing.T) { twoProcesses(t, "append to short files") })
}

func twoProcesses(t *testing.T, task string) {
	dir := folder(t)
	owners := []string{"process-a", "process-b"}
	printed := make([][]string, len(owners))
	var wg sync.WaitGroup
	for i, owner := range owners {
		cmd, lines := startChild(t, task, dir, owner)
		wg.Go(func() {
			for lines.Scan() {
				printed[i] = append(printed[i], lines.Text())
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("%s: %v", owner, err)
			}
		})
	}
	wg.Wait()
	records, report, err := ledger.Read(file(dir))
	if err != nil || report.Torn || len(records) != len(owners)*appendsEach {
		t.Fatalf("%d records, %+v, %v", len(records), report, err)
	}
	got := map[string][]string{}
	for _, r := range records {
		got[r.Owner] = append(got[r.Owner], strconv.FormatUint(r.Seq, 10))
	}
	for i, owner := range owners {
		if strings.Join(got[owner], " ") != strings.Join(printed[i], " ") {
			t.Errorf("%s was told %v\nin the file are %v", owner, printed[i], got[owner])
		}
	}
}

func TestTwoProcessesNeverBothWriteWhatEachWritesUnlessItIsThere(t *testing.T) {
	dir := folder(t)
	var wg sync.WaitGroup
	for _, owner := range []string{"process-a", "process-b"} {
		cmd, lines := startChild(t, "append what is not there", dir, owner)
		wg.Go(func() {
			for lines.Scan() {
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("%s: %v", owner, err)
			}
		})
	}
	wg.Wait()
	records, _, err := ledger.Read(file(dir))
	seen := map[string]bool{}
	for _, r := range records {
		seen[r.Kind] = true
	}
	if err != nil || len(records) != appendsEach || len(seen) != appendsEach {
		t.Errorf("%d records of %d kinds, %v", len(records), len(seen), err)
	}
}

func TestAKilledProcessLosesNothingThatItWasTold(t *testing.T) {
	t.Run("to one file", func(t *testing.T) { killed(t, "append until killed") })
	t.Run("to short files", func(t *testing.T) { killed(t, "append until killed to short files") })
}

func killed(t *testing.T, task string) {
	dir := folder(t)
	for kill := range 8 {
		cmd, lines := startChild(t, task, dir, fmt.Sprintf("process-%d", kill))
		last := ""
		for range 10 + kill {
			if !lines.Scan() {
				t.Fatal("the process ended by itself")
			}
			last = lines.Text()
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			last = lines.Text() // told before it died
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the process wasn't killed")
		}
		told, err := strconv.ParseUint(last, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		_, report, err := ledger.Read(file(dir))
		if err != nil || report.Records < told {
			t.Fatalf("told %d; %+v, %v", told, report, err)
		}
		// The dead process's lock is free, and its line doesn't stop us.
		l := open(t, dir, fmt.Sprintf("parent-%d", kill))
		add(t, l, ledger.Entry{Kind: "claimed", Round: fmt.Sprintf("process-%d", kill), Claim: fmt.Sprintf("process-%d", kill)})
	}
	if _, report, err := ledger.Read(file(dir)); err != nil || report.Torn {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestALineCutOffByTheKernelIsTakenBack(t *testing.T) {
	dir := folder(t)
	want := []ledger.Record{add(t, open(t, dir, "parent"), ledger.Entry{Kind: "k"})}
	cmd, lines := startChild(t, "small disk", dir, "child")
	if !lines.Scan() || lines.Text() != "2" {
		t.Errorf("the child's append got %q", lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	records, report, err := ledger.Read(file(dir))
	if err != nil || report.Torn || len(records) != 2 || records[0].Hash != want[0].Hash {
		t.Errorf("%d records, %+v, %v", len(records), report, err)
	}
}
