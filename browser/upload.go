package browser

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ErrUpload is the family of errors of files that may not be given to a page. Nothing was done.
var ErrUpload = errors.New("the file may not be uploaded")

// AllowUploads names the folders whose files acts may give to pages, from now on, in place of those that were named before.
// At first there are none. A symbolic link counts as what it leads to. A folder that is not there is an error.
func (c *Context) AllowUploads(folders ...string) error {
	var real []string
	for _, folder := range folders {
		path, err := realPath(folder)
		if err != nil {
			return fmt.Errorf("a folder to upload from: %w", err)
		}
		real = append(real, path)
	}
	c.acting.Lock()
	defer c.acting.Unlock()
	c.uploadFrom = real
	return nil
}

// uploads are the act's files as they are given to the page: by the paths that their links lead to.
func (c *Context) uploads(act Act) ([]string, error) {
	if act.Kind != Upload {
		return nil, nil
	}
	files := make([]string, len(act.Files))
	for i, file := range act.Files {
		path, err := realPath(file)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUpload, err)
		}
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrUpload, err)
		case !info.Mode().IsRegular():
			return nil, fmt.Errorf("%w: %s is no file", ErrUpload, quote(file))
		case !c.mayUpload(path):
			return nil, fmt.Errorf("%w: %s is in no folder that was allowed", ErrUpload, quote(file))
		}
		files[i] = path
	}
	return files, nil
}

func (c *Context) mayUpload(path string) bool {
	for _, folder := range c.uploadFrom {
		if rest, below := strings.CutPrefix(path, strings.TrimSuffix(folder, "/")+"/"); below && rest != "" {
			return true
		}
	}
	return false
}

func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}
