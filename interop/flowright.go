package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// rightOf returns what INDEX.tsv asks of a recording as a check of its run.
func rightOf(name string) func(*flowRun) error {
	number, _, _ := strings.Cut(name, "-")
	if check, special := flowRights[number]; special {
		return check
	}
	return (*flowRun).finishes
}

// flowRights are the checks of those recordings that have one of their own, by number. The others finish, and that they do
// so rightly is what the comparison with the reference shows.
var flowRights = map[string]func(*flowRun) error{
	"02": func(r *flowRun) error { return errors.Join(r.finishes(), r.nowhere("not-a-secret")) },
	"10": func(r *flowRun) error {
		return errors.Join(r.finishes(), r.notes(`the browser's own page "chrome://new-tab-page/" is not opened`))
	},
	"16": func(r *flowRun) error { return errors.Join(r.finishes(), r.holds("#input-prefilled", "testSuffix")) },
	"18": func(r *flowRun) error { return errors.Join(r.finishes(), r.holds("#f1", "Hello World")) },
	"20": func(r *flowRun) error {
		return errors.Join(r.finishes(), r.sees("shop.example.test/recorder.html", "auxclick", "#mouse-button", 4), r.requested("GET", "shop.example.test/recorder.html", 1))
	},
	"30": func(r *flowRun) error {
		return errors.Join(r.finishes(), r.sees("shop.example.test/checkbox.html", "change", "#checkbox", 1))
	},
	"34": func(r *flowRun) error {
		return errors.Join(r.finishes(), r.requested("GET", "shop.example.test/input.html", 1))
	},
	"40": func(r *flowRun) error { return errors.Join(r.finishes(), r.notes(`the custom step "note" is skipped`)) },
	"42": func(r *flowRun) error {
		return errors.Join(r.fails("nothing matches"), r.endsWithin(12*time.Second))
	},
	"44": func(r *flowRun) error {
		return errors.Join(r.fails("the click was made, and the navigation to"), r.sees("shop.example.test/recorder.html", "click", "#test", 1))
	},
	"49": func(r *flowRun) error {
		return errors.Join(r.finishes(), r.sees("shop.example.test/twins.html", "click", "#second", 1))
	},
	"50": func(r *flowRun) error {
		return errors.Join(r.finishes(), r.requested("POST", "shop.example.test/api/pay", 1))
	},
}

// endsWithin checks how long the last act that was begun, and the end of the run after it, took.
func (r *flowRun) endsWithin(limit time.Duration) error {
	acts, ends := r.lines("act"), r.lines("finished")
	if len(acts) == 0 || len(ends) != 1 {
		return errors.New("it made no act, or has no end")
	}
	if took := ends[0].Time.Sub(acts[len(acts)-1].Time); took > limit {
		return fmt.Errorf("its end took %s", took)
	}
	return nil
}

func (r *flowRun) finishes() error {
	if r.exit != 0 {
		return fmt.Errorf("it ended with exit status %d", r.exit)
	}
	return nil
}

// fails checks that a run ended with an error that says so.
func (r *flowRun) fails(saying string) error {
	said := r.lines("error")
	switch {
	case r.exit != 1 || len(said) != 1:
		return fmt.Errorf("it ended with exit status %d and %d errors", r.exit, len(said))
	case !strings.Contains(said[0].What+" "+said[0].Done, saying):
		return fmt.Errorf("it doesn't say %q: %+v", saying, said[0])
	}
	return nil
}

// notes checks that the run told the User something.
func (r *flowRun) notes(what string) error {
	if noticed := r.lines("notice"); len(noticed) != 1 || !strings.Contains(noticed[0].What, what) || !strings.Contains(r.stderr, what) {
		return fmt.Errorf("it doesn't note %q", what)
	}
	return nil
}

// holds checks what a field held at last.
func (r *flowRun) holds(on, value string) error {
	if got := r.last("input", on); got != value {
		return fmt.Errorf("%s holds %v, not %q", on, got, value)
	}
	return nil
}

// sees checks how many events of a kind there were on an element of a page.
func (r *flowRun) sees(page, kind, on string, times int) error {
	n := 0
	for _, e := range r.Events {
		if e["page"] == page && e["e"] == kind && e["on"] == on {
			n++
		}
	}
	if n != times {
		return fmt.Errorf("%s saw %d events %s on %s, not %d", page, n, kind, on, times)
	}
	return nil
}

// requested checks how often the site got a request.
func (r *flowRun) requested(method, url string, times int) error {
	n := 0
	for _, q := range r.Requests {
		if q.Method == method && q.URL == url {
			n++
		}
	}
	if n != times {
		return fmt.Errorf("%d requests %s %s were made, not %d", n, method, url, times)
	}
	return nil
}

// nowhere checks that a secret is in nothing that the run said or kept.
func (r *flowRun) nowhere(secret string) error {
	for what, text := range map[string]string{"its events": r.stdout, "its standard error": r.stderr} {
		if strings.Contains(text, secret) {
			return fmt.Errorf("the password is in %s", what)
		}
	}
	return filepath.WalkDir(r.home, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(data), secret) {
			err = fmt.Errorf("the password is in %s", file)
		}
		return err
	})
}
