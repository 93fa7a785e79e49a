package browser

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/internal/trouble"
)

var (
	// ErrAct is the family of errors of an act that says something that cannot be done. Nothing was done.
	ErrAct = errors.New("the act cannot be made")
	// ErrNotAWebPage is the error of a navigation to a file, a script, data, or a page of Chromium's own. Nothing was done.
	ErrNotAWebPage = fmt.Errorf("%w: only http and https pages and about:blank are opened", ErrAct)
)

const (
	maxPressed  = 10 * time.Second // a button
	maxPresses  = 3                // in a row
	maxView     = 10000            // CSS pixels of width and height
	maxScale    = 10
	maxQuoted   = 80 // bytes of an act's text that an error repeats
	maxSelected = 1000
)

// Validate reports what of the act can be seen to be wrong before anything is done. Its errors match [ErrAct].
func (a Act) Validate() error {
	if err := a.validate(); err != nil {
		if errors.Is(err, ErrAct) {
			return err
		}
		return fmt.Errorf("%w: %s: %w", ErrAct, a.Kind, err)
	}
	return nil
}

func (a Act) validate() error {
	switch a.Dialogs {
	case "", Dismissed, Accepted, Asked:
	default:
		return fmt.Errorf("what becomes of dialogs is not known: %s", quote(string(a.Dialogs)))
	}
	if n := a.Network; n.Download < 0 || n.Upload < 0 || n.Latency < 0 {
		return errors.New("the network is slower than nothing")
	}
	switch a.Kind {
	case Navigate:
		return checkNavigation(a.URL)
	case NewTab:
		if a.URL != "" {
			return checkNavigation(a.URL)
		}
	case Click, DoubleClick, Hover:
		return errors.Join(a.needsElement(), a.Pointer.validate())
	case Change, Type, Clear, Check, Uncheck:
		return a.needsElement()
	case Select:
		if len(a.Options) > maxSelected {
			return fmt.Errorf("more than %d options", maxSelected)
		}
		return a.needsElement()
	case Upload:
		if len(a.Files) > maxSelected {
			return fmt.Errorf("more than %d files", maxSelected)
		}
		return a.needsElement()
	case Press:
		_, err := chord(a.Key)
		return err
	case KeyDown, KeyUp:
		if _, ok := findKey(a.Key); !ok {
			return fmt.Errorf("key %s: %w", quote(a.Key), ErrKey)
		}
	case Wait:
		return errors.Join(a.needsElement(), a.Elements.validate())
	case WaitExpression:
		if strings.TrimSpace(a.Expression) == "" {
			return errors.New("the expression is missing")
		}
	case WaitText:
		if strings.TrimSpace(a.Text.Is) == "" {
			return errors.New("the text is missing")
		}
	case WaitURL:
		if a.URL == "" {
			return errors.New("the URL is missing")
		}
	case SwitchTab:
		if a.Target == "" {
			return errors.New("the target is missing")
		}
	case Viewport:
		return a.View.validate()
	case Back, Forward, Reload, Scroll, WaitResponse, HandleDialog, CloseTab, EmulateNetwork:
	default:
		return fmt.Errorf("act %s is not known", quote(string(a.Kind)))
	}
	return nil
}

func (a Act) needsElement() error {
	if len(a.Selectors) == 0 && a.Ref == "" {
		return errors.New("it names no element")
	}
	return nil
}

func (p Pointer) validate() error {
	switch p.Button {
	case "", Primary, Auxiliary, Secondary, BackButton, ForwardButton:
	default:
		return fmt.Errorf("button %s is not known", quote(string(p.Button)))
	}
	switch p.Device {
	case "", Mouse, Pen, Touch:
	default:
		return fmt.Errorf("device %s is not known", quote(string(p.Device)))
	}
	if p.Device == Touch && p.Button != "" && p.Button != Primary {
		return errors.New("a finger has no buttons")
	}
	if p.Duration < 0 || p.Duration > maxPressed {
		return fmt.Errorf("a button is pressed for 0 to %s", maxPressed)
	}
	if p.Count < 0 || p.Count > maxPresses {
		return fmt.Errorf("a button is pressed 1 to %d times", maxPresses)
	}
	return nil
}

func (v View) validate() error {
	if v.Width < 1 || v.Height < 1 || v.Width > maxView || v.Height > maxView {
		return fmt.Errorf("width and height are 1 to %d", maxView)
	}
	if v.Scale < 0 || v.Scale > maxScale {
		return fmt.Errorf("the scale is 0 to %d", maxScale)
	}
	return nil
}

// checkNavigation refuses what is not a web page.
func checkNavigation(s string) error {
	u, err := url.Parse(s)
	if s == blankPage || err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" {
		return nil
	}
	return fmt.Errorf("navigation to %s: %w", quote(s), ErrNotAWebPage)
}

// blankPage is the one address that is no web page and is opened all the same: nothing is there.
const blankPage = "about:blank"

// quote is text from outside as an error repeats it: bounded and in quotation marks.
func quote(s string) string { return trouble.Quoted(s, maxQuoted) }
