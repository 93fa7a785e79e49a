package attach

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// watchBy watches a folder with its notices changed.
func watchBy(t *testing.T, dir string, change func(*notices)) *Client {
	t.Helper()
	d, err := openFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := noticesOf(d)
	change(&n)
	c := watchFolder(t.Context(), d, "", n)
	t.Cleanup(c.Close)
	return c
}

// A run that begins later is seen by the kernel's notice alone, and where there are none by looking.
func TestALaterRunIsSeenWithAndWithoutNoticesOfFiles(t *testing.T) {
	for name, change := range map[string]func(*notices){
		"with": func(n *notices) {
			if n.files == nil {
				t.Fatal("this machine gives no notices of files")
			}
			n.again = time.Hour
		},
		"without": func(n *notices) { n.close(); n.files, n.again = nil, 10*time.Millisecond },
	} {
		t.Run(name, func(t *testing.T) {
			leavesNothing(t)
			dir := runFolder(t)
			c := watchBy(t, dir, change)
			for _, run := range []string{"run_1", "run_2"} {
				s := serve(t, dir, run, newProcess(t))
				until(t, c, run, func(v View) bool { return indexOf(v.Tasks, func(o Task) bool { return o.ID == run }) >= 0 })
				s.Close()
			}
		})
	}
}

// Nothing wakes a terminal that has joined all there is; a socket that can't be joined is tried again, less and less often.
func TestAFolderIsLookedAtWithoutANoticeOnlyForASocketThatCanNotBeJoined(t *testing.T) {
	dir := runFolder(t)
	serve(t, dir, "run_1", newProcess(t))
	c := watch(t, dir, "")
	until(t, c, "the task", tasks(1))
	if pause := c.notices.pause(c.look(), 0); pause != 0 {
		t.Errorf("the folder is looked at again after %v", pause)
	}
	held, err := tryLock(filepath.Join(dir, "begins"+lockSuffix))
	if err != nil || held == nil {
		t.Fatal(held, err)
	}
	defer func() { _ = held.Close() }()
	if err := os.WriteFile(filepath.Join(dir, "begins"+sockSuffix), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	pause := time.Duration(0)
	for _, want := range []time.Duration{lookAgain, 2 * lookAgain, 4 * lookAgain} {
		if pause = c.notices.pause(c.look(), pause); pause != want {
			t.Errorf("it is looked at again after %v, want %v", pause, want)
		}
	}
	if pause = c.notices.pause(true, time.Hour); pause != lookSeldom {
		t.Errorf("and after %v in the end", pause)
	}
}
