package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// End ends what is left of a Chromium that was started on this profile folder by a process which has ended, and removes the
// folder. It returns when no process on the folder is left: each process of a Chromium names it on its command line,
// the one that sends its requests too. An error says what is left; the Chromium is then not known to have ended.
func End(profile string) error {
	name, prefixed := strings.CutPrefix(filepath.Base(profile), profilePrefix)
	if !filepath.IsAbs(profile) || !prefixed || name == "" {
		return fmt.Errorf("%q is no profile folder of ours", profile)
	}
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		return fmt.Errorf("the processes on chromium's profile %s can't be seen: %w", profile, err)
	}
	return removeProfile(profile)
}
