package durable_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/papaver-agent/papaver/internal/durable"
)

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// put makes a file with exactly this mode, whatever the umask is.
func put(t *testing.T, path, content string, mode fs.FileMode) string {
	t.Helper()
	if err := errors.Join(os.WriteFile(path, []byte(content), 0o600), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantOnly checks that a folder holds these names and no temporary file.
func wantOnly(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("the folder holds %q, want %q", got, names)
	}
}

var writers = map[string]func(string, []byte) error{"WriteFile": durable.WriteFile, "WriteNew": durable.WriteNew}

func TestAWrittenFileIsWholeAndPrivateWhateverTheUmask(t *testing.T) {
	for name, write := range writers {
		for _, umask := range []int{0, 0o002, 0o022, 0o777} {
			func() {
				dir := t.TempDir()
				defer syscall.Umask(syscall.Umask(umask))
				path := filepath.Join(dir, "key")
				if err := write(path, []byte("content")); err != nil {
					t.Fatalf("%s, umask %04o: %v", name, umask, err)
				}
				if read(t, path) != "content" || mode(t, path) != 0o600 {
					t.Errorf("%s, umask %04o: %q, %v", name, umask, read(t, path), mode(t, path))
				}
				wantOnly(t, dir, "key")
			}()
		}
	}
}

func TestWriteFileReplacesALooseFileByAPrivateOne(t *testing.T) {
	dir := t.TempDir()
	path := put(t, filepath.Join(dir, "key"), "old and longer", 0o666)
	open, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := open.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := durable.WriteFile(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if read(t, path) != "new" || mode(t, path) != 0o600 {
		t.Errorf("%q, %v", read(t, path), mode(t, path))
	}
	// Who had the loose file open has the old content, not the new one.
	var old bytes.Buffer
	if _, err := old.ReadFrom(open); err != nil || old.String() != "old and longer" {
		t.Errorf("through the old file: %q, %v", old.String(), err)
	}
	wantOnly(t, dir, "key")
}

func TestWriteFileReplacesASymlinkNotItsTarget(t *testing.T) {
	dir := t.TempDir()
	target := put(t, filepath.Join(dir, "target"), "untouched", 0o600)
	link := filepath.Join(dir, "link")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if err := durable.WriteFile(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if read(t, target) != "untouched" || mode(t, link) != 0o600 {
		t.Errorf("target %q, link %v", read(t, target), mode(t, link))
	}
}

func TestWriteNewNeverOverwrites(t *testing.T) {
	dir := t.TempDir()
	path := put(t, filepath.Join(dir, "key"), "old", 0o600)
	dangling := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "nowhere"), dangling); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, dangling, dir} {
		if err := durable.WriteNew(p, []byte("new")); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", p, err)
		}
	}
	if read(t, path) != "old" {
		t.Errorf("overwritten: %q", read(t, path))
	}
	wantOnly(t, dir, "key", "link")
}

func TestOfManyWriteNewExactlyOneSucceeds(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	var wg sync.WaitGroup
	won := make(chan string, 8)
	for i := range cap(won) {
		wg.Go(func() {
			content := string(rune('a' + i))
			switch err := durable.WriteNew(path, []byte(content)); {
			case err == nil:
				won <- content
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(won) != 1 {
		t.Fatalf("%d won", len(won))
	}
	if winner := <-won; read(t, path) != winner {
		t.Errorf("%q won, the file holds %q", winner, read(t, path))
	}
	wantOnly(t, dir, "key")
}

func TestAReaderNeverSeesAMixture(t *testing.T) {
	path := put(t, filepath.Join(t.TempDir(), "key"), "", 0o600)
	contents := []string{strings.Repeat("a", 100_000), strings.Repeat("b", 70_000)}
	if err := durable.WriteFile(path, []byte(contents[0])); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for _, c := range contents {
		wg.Go(func() {
			for range 20 {
				if err := durable.WriteFile(path, []byte(c)); err != nil {
					t.Error(err)
				}
				if got, err := os.ReadFile(path); err != nil || string(got) != contents[0] && string(got) != contents[1] {
					t.Errorf("%d bytes, %v", len(got), err)
				}
			}
		})
	}
	wg.Wait()
}

func TestAFailedWriteLeavesTheOldFileAndNoTemporaryOne(t *testing.T) {
	for name, write := range writers {
		dir := t.TempDir()
		// A folder in the file's place: writing the temporary file works, the last step doesn't.
		if err := os.MkdirAll(filepath.Join(dir, "key", "inside"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := write(filepath.Join(dir, "key"), []byte("new")); err == nil {
			t.Errorf("%s: a folder was replaced", name)
		}
		wantOnly(t, dir, "key")
		if err := write(filepath.Join(dir, "missing", "key"), []byte("new")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s in a missing folder: %v", name, err)
		}
	}
}

func TestOpenFileTightensWhatOthersCanReadAndRefusesWhatTheyCanChange(t *testing.T) {
	for _, c := range []struct {
		mode    fs.FileMode
		refused bool
	}{
		{0o600, false}, {0o400, false}, {0o640, false}, {0o604, false}, {0o644, false}, {0o700, false},
		{0o620, true}, {0o602, true}, {0o660, true}, {0o666, true},
	} {
		path := put(t, filepath.Join(t.TempDir(), "key"), "content", c.mode)
		f, err := durable.OpenFile(path, os.O_RDONLY)
		if c.refused {
			if !errors.Is(err, durable.ErrLoose) || !strings.Contains(err.Error(), "chmod 600 "+path) {
				t.Errorf("mode %04o: %v", c.mode, err)
			}
			if mode(t, path) != c.mode {
				t.Errorf("mode %04o: refused, but changed to %v", c.mode, mode(t, path))
			}
			continue
		}
		if err != nil {
			t.Errorf("mode %04o: %v", c.mode, err)
			continue
		}
		if mode(t, path) != 0o600 || read(t, path) != "content" {
			t.Errorf("mode %04o: now %v", c.mode, mode(t, path))
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenFileRefusesWhatIsNotAPlainFile(t *testing.T) {
	dir := t.TempDir()
	target := put(t, filepath.Join(dir, "target"), "content", 0o644)
	link, pipe := filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.Symlink(target, link), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, pipe, dir} {
		if f, err := durable.OpenFile(path, os.O_RDONLY); !errors.Is(err, durable.ErrLoose) {
			t.Errorf("%s: %v, %v", path, f, err)
		}
	}
	if mode(t, target) != 0o644 {
		t.Error("a symlink's target was changed")
	}
	if _, err := durable.OpenFile(target, os.O_RDWR|os.O_TRUNC); !errors.Is(err, errors.ErrUnsupported) || read(t, target) != "content" {
		t.Errorf("O_TRUNC: %v, the file holds %q", err, read(t, target))
	}
	if _, err := durable.OpenFile(filepath.Join(dir, "missing"), os.O_RDONLY); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

func TestOpenFileMakesAPrivateFile(t *testing.T) {
	dir := t.TempDir()
	defer syscall.Umask(syscall.Umask(0))
	path := filepath.Join(dir, "lock")
	f, err := durable.OpenFile(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil || mode(t, path) != 0o600 {
		t.Errorf("%v, %v", mode(t, path), err)
	}
}

func TestMkdirAllMakesPrivateFoldersWhateverTheUmask(t *testing.T) {
	for _, umask := range []int{0, 0o002, 0o777} {
		func() {
			root := t.TempDir()
			before := mode(t, root)
			defer syscall.Umask(syscall.Umask(umask))
			path := filepath.Join(root, "a", "b", "c")
			for range 2 { // the second time it is there
				if err := durable.MkdirAll(path + "/"); err != nil {
					t.Fatalf("umask %04o: %v", umask, err)
				}
			}
			for _, p := range []string{path, filepath.Dir(path), filepath.Dir(filepath.Dir(path))} {
				if mode(t, p) != fs.ModeDir|0o700 {
					t.Errorf("umask %04o: %s: %v", umask, p, mode(t, p))
				}
			}
			if mode(t, root) != before {
				t.Errorf("an existing parent was changed to %v", mode(t, root))
			}
		}()
	}
}

func TestMkdirAllTightensAnEmptyFolderAndRefusesALooseOneInUse(t *testing.T) {
	for _, loose := range []fs.FileMode{0o755, 0o777, 0o710, 0o701} {
		dir := filepath.Join(t.TempDir(), "home")
		if err := errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, loose)); err != nil {
			t.Fatal(err)
		}
		if err := durable.MkdirAll(dir); err != nil || mode(t, dir) != fs.ModeDir|0o700 {
			t.Errorf("empty, %04o: %v, %v", loose, mode(t, dir), err)
		}
		put(t, filepath.Join(dir, "key"), "content", 0o600)
		if err := durable.MkdirAll(dir); err != nil {
			t.Errorf("in use and private: %v", err)
		}
		if err := os.Chmod(dir, loose); err != nil {
			t.Fatal(err)
		}
		if err := durable.MkdirAll(dir); !errors.Is(err, durable.ErrLoose) || !strings.Contains(err.Error(), "chmod 700 "+dir) {
			t.Errorf("in use, %04o: %v", loose, err)
		}
		if mode(t, dir) != fs.ModeDir|loose {
			t.Errorf("refused, but changed to %v", mode(t, dir))
		}
	}
}

func TestMkdirAllNeverTakesASharedFolderAway(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tmp")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, fs.ModeSticky|0o777)); err != nil {
		t.Fatal(err)
	}
	if err := durable.MkdirAll(dir); !errors.Is(err, durable.ErrLoose) {
		t.Error(err)
	}
	if mode(t, dir) != fs.ModeDir|fs.ModeSticky|0o777 {
		t.Errorf("changed to %v", mode(t, dir))
	}
}

func TestMkdirAllRefusesAFileInTheWay(t *testing.T) {
	path := put(t, filepath.Join(t.TempDir(), "file"), "content", 0o600)
	for _, p := range []string{path, filepath.Join(path, "a"), filepath.Join(path, "a", "b")} {
		if err := durable.MkdirAll(p); !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("%s: %v", p, err)
		}
	}
	if read(t, path) != "content" {
		t.Error("the file was changed")
	}
}

func TestManyMkdirAllAtOnceAllSucceed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "c")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := durable.MkdirAll(path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestSyncDirSaysWhatItCouldNotSync(t *testing.T) {
	dir := t.TempDir()
	if err := durable.SyncDir(dir); err != nil {
		t.Error(err)
	}
	if err := durable.SyncDir(filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// foreign returns a file and a folder of another user. Root can give its own
// away; everyone else finds root's.
func foreign(t *testing.T) (file, dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return "/etc/passwd", "/etc"
	}
	const nobody = 65534
	dir = filepath.Join(t.TempDir(), "dir")
	file = put(t, filepath.Join(t.TempDir(), "file"), "content", 0o644)
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Chown(dir, nobody, nobody), os.Chown(file, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	return file, dir
}

func TestWhatBelongsToAnotherUserIsRefusedAndStaysAsItIs(t *testing.T) {
	file, dir := foreign(t)
	fileMode, dirMode := mode(t, file), mode(t, dir)
	if _, err := durable.OpenFile(file, os.O_RDONLY); !errors.Is(err, durable.ErrLoose) {
		t.Errorf("OpenFile: %v", err)
	}
	if err := durable.MkdirAll(dir); !errors.Is(err, durable.ErrLoose) {
		t.Errorf("MkdirAll: %v", err)
	}
	if mode(t, file) != fileMode || mode(t, dir) != dirMode {
		t.Errorf("changed: %v, %v", mode(t, file), mode(t, dir))
	}
}
