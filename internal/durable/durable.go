// Package durable puts whole small files and folders on disk so that they
// are there after a power cut, are never seen half written, and belong to
// their owner alone from the first moment: 0600 for files, 0700 for folders,
// whatever the umask is.
//
// # What is found already there
//
// The rule is: what is ours and merely readable by others is tightened, what
// others may have changed is refused with [ErrLoose], which names the cure.
// In detail:
//
//   - [WriteFile] replaces a file by a new one, so a loose file becomes 0600.
//   - [OpenFile] tightens a file that others can read and refuses one that
//     they can write, one of another owner, and whatever is not a plain file
//     (a symlink among them).
//   - [MkdirAll] tightens an empty folder and refuses a loose one that holds
//     something: one wrong path on a command line must not take /srv or a
//     whole home directory away from the others who use it.
//
// # Which bad paths remain
//
//   - A crash before the rename or the link leaves a temporary file, named
//     ".NAME.tmp-*" and mode 0600, beside the file. Nothing reads it; it may
//     be removed when no program writes there.
//   - When syncing the folder fails after the rename, the new content is
//     visible and may be gone after a power cut. The error says so.
//   - [WriteNew] needs hard links. A file system without them (vfat, some
//     network and FUSE mounts) refuses, and nothing is written.
//   - A disk that acknowledges a flush which it hasn't made can't be noticed
//     from here.
//
// Every function is safe for concurrent use, also by several processes. Two
// writers of one file: the last rename wins, whole.
package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const (
	fileMode os.FileMode = 0o600
	dirMode  os.FileMode = 0o700

	// writableByOthers and openToOthers are the permission bits of group and
	// others: what lets them change a file, and what lets them do anything.
	writableByOthers os.FileMode = 0o022
	openToOthers     os.FileMode = 0o077
)

// ErrLoose says that a file or folder was found that others own, can change
// or share. It was neither used nor changed.
var ErrLoose = errors.New("open to other users")

// WriteFile makes path hold exactly data, with mode 0600, replacing what was
// there: a reader sees the old content or the new, never a mixture. When it
// returns nil, the content is on disk. A symlink at path is itself replaced,
// not what it points to. On an error before the rename the old file is
// untouched; an error from syncing the folder says that the new one is there
// but may not survive a power cut.
func WriteFile(path string, data []byte) error {
	temp, err := writeTemp(path, data)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(fmt.Errorf("%s: not replaced: %w", path, err), os.Remove(temp))
	}
	return syncParent(path)
}

// WriteNew is [WriteFile] for a file that must not exist yet: it never
// overwrites. Whatever stands at path, even a dangling symlink, gives an
// error that matches [io/fs.ErrExist], and stays as it is. Of several callers
// at once exactly one succeeds.
func WriteNew(path string, data []byte) error {
	temp, err := writeTemp(path, data)
	if err != nil {
		return err
	}
	// A rename would overwrite; a link is refused when the name is taken.
	if err := os.Link(temp, path); err != nil {
		return errors.Join(fmt.Errorf("%s: not made: %w", path, err), os.Remove(temp))
	}
	if err := os.Remove(temp); err != nil {
		return fmt.Errorf("%s: made, but its temporary name stayed: %w", path, err)
	}
	return syncParent(path)
}

// OpenFile opens the plain file at path with the flags of [os.OpenFile]. With
// [os.O_CREATE] it makes it with mode 0600 (and the caller syncs the folder,
// with [SyncDir], if the file's existence matters after a power cut). A file
// that others can read is tightened to 0600. One that others can write or own,
// a symlink, and anything else that isn't a plain file gives an error that
// matches [ErrLoose]; [os.O_TRUNC] is not allowed, because it would destroy
// the file before this check. A missing file gives [io/fs.ErrNotExist].
func OpenFile(path string, flag int) (*os.File, error) {
	if flag&os.O_TRUNC != 0 {
		return nil, fmt.Errorf("%s: opened with O_TRUNC: %w", path, errors.ErrUnsupported)
	}
	// O_NONBLOCK: a pipe put in the file's place must not stop us for ever.
	f, err := os.OpenFile(path, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, fileMode)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%s: is a symlink: %w", path, ErrLoose)
	}
	if err != nil {
		return nil, err
	}
	if err := tightenFile(f, path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func tightenFile(f *os.File, path string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case !mode.IsRegular():
		return fmt.Errorf("%s: is not a plain file: %w", path, ErrLoose)
	case !ours(info):
		return fmt.Errorf("%s: belongs to another user: %w", path, ErrLoose)
	case mode.Perm()&writableByOthers != 0:
		return fmt.Errorf("%s: mode %04o lets others change it; look at it, then: chmod 600 %s: %w", path, mode.Perm(), path, ErrLoose)
	case mode.Perm() != fileMode:
		return f.Chmod(fileMode)
	}
	return nil
}

// MkdirAll makes the folder and its missing parents with mode 0700 and syncs
// each new entry to disk. Existing parents stay as they are. A folder that
// exists at path itself is used when it is ours: an empty one is tightened to
// 0700, a loose one that holds something gives an error that matches
// [ErrLoose], as does another user's.
func MkdirAll(path string) error {
	path = filepath.Clean(path)
	if err := os.Mkdir(path, dirMode); err == nil {
		return errors.Join(os.Chmod(path, dirMode), syncParent(path)) // the umask may have taken our own bits
	} else if errors.Is(err, os.ErrNotExist) {
		if parent := filepath.Dir(path); parent != path {
			if err := makeParents(parent); err != nil {
				return err
			}
			return MkdirAll(path)
		}
		return err
	} else if !errors.Is(err, os.ErrExist) {
		return err
	}
	return tightenDir(path)
}

// makeParents makes the missing folders above a folder. It looks at nothing
// that exists: the mode of ~/.local isn't our business.
func makeParents(path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s: is not a folder: %w", path, syscall.ENOTDIR)
	case err == nil:
		return nil
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	if parent := filepath.Dir(path); parent != path {
		if err := makeParents(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, dirMode); errors.Is(err, os.ErrExist) {
		// Another process was faster, or a dangling symlink is in the way.
		if info, err := os.Stat(path); err != nil {
			return err
		} else if !info.IsDir() {
			return fmt.Errorf("%s: is not a folder: %w", path, syscall.ENOTDIR)
		}
		return nil
	} else if err != nil {
		return err
	}
	return errors.Join(os.Chmod(path, dirMode), syncParent(path))
}

// tightenDir works on the opened folder, so that what is checked is what is
// changed.
func tightenDir(path string) (err error) {
	dir, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	info, err := dir.Stat()
	if err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case !ours(info):
		return fmt.Errorf("%s: belongs to another user: %w", path, ErrLoose)
	case mode.Perm()&openToOthers == 0:
		return nil
	default:
		names, _ := dir.Readdirnames(1)
		if len(names) > 0 || mode&os.ModeSticky != 0 {
			return fmt.Errorf("%s: mode %04o is open to others, and the folder is in use; if it is meant: chmod 700 %s: %w", path, mode.Perm(), path, ErrLoose)
		}
		return dir.Chmod(dirMode)
	}
}

// SyncDir puts the folder's entries on disk: files made, renamed or removed
// in it are so after a power cut. An error means that this isn't certain.
func SyncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func syncParent(path string) error {
	if err := SyncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("%s: written, but not certain to survive a power cut: %w", path, err)
	}
	return nil
}

// writeTemp writes data to a new file in path's own folder: a rename from
// another file system would be a copy, which a crash can cut in half.
func writeTemp(path string, data []byte) (string, error) {
	// CreateTemp opens with O_EXCL and mode 0600: nobody can be faster.
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".tmp-*")
	if err != nil {
		return "", fmt.Errorf("%s: not written: %w", path, err)
	}
	err = f.Chmod(fileMode) // the umask may have taken our own bits
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("%s: not written: %w", path, err), os.Remove(f.Name()))
	}
	return f.Name(), nil
}

func ours(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
