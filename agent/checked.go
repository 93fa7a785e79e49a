package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/internal/durable"
	"github.com/papaver-agent/papaver/internal/strictjson"
	"github.com/papaver-agent/papaver/trace"
)

const (
	checkedFile = "chromium.json"
	maxChecked  = 16      // Chromiums that are remembered, the last ones
	checkedSize = 4 << 10 // bytes of the file
)

// checkedChromiums is the file of the home that says with which Chromium and driver responses are held.
type checkedChromiums struct {
	Holds []string `json:"holds"`
}

// checked makes sure, before anything is joined, that b holds responses: once for each version of Chromium with each driver.
// browser.ErrNotHeld when it does not. What cannot be remembered is checked again the next time.
func (a *Agent) checked(ctx context.Context, b *browser.Browser, cfg browser.Config) error {
	path := filepath.Join(a.home.Dir(), checkedFile)
	this := fmt.Sprintf("%s with %T", b.Version(), cfg.Driver)
	known := readChecked(path)
	if slices.Contains(known.Holds, this) {
		return nil
	}
	check := b.Check
	if len(cfg.Allowed) > 0 {
		check = func(ctx context.Context) error {
			_, err := browser.SelfCheck(ctx, cfg)
			return err
		}
	}
	checking, span := trace.Begin(ctx, trace.Check)
	err := check(checking)
	span.End(trace.Failed(err))
	if err != nil {
		return fmt.Errorf("the self-check of %s: %w", b.Version(), err)
	}
	known.Holds = append(known.Holds, this)
	if len(known.Holds) > maxChecked {
		known.Holds = known.Holds[len(known.Holds)-maxChecked:]
	}
	data, err := json.Marshal(known)
	if err == nil {
		err = durable.WriteFile(path, append(data, '\n'))
	}
	if err != nil {
		a.cfg.Logger.Warn("the self-check of Chromium could not be remembered", "error", err)
	}
	return nil
}

// readChecked returns an empty list when there is no file that could be read.
func readChecked(path string) checkedChromiums {
	f, err := os.Open(path)
	if err != nil {
		return checkedChromiums{}
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, checkedSize+1))
	var known checkedChromiums
	if err != nil || strictjson.Decode(data, strictjson.Limits{Bytes: checkedSize}, &known) != nil {
		return checkedChromiums{}
	}
	return known
}
