package randomid_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"regexp"
	"testing"

	"github.com/papaver-agent/papaver/internal/randomid"
)

func TestEveryIdentifierIsAnotherAndHasItsForm(t *testing.T) {
	t.Parallel()
	long, short := regexp.MustCompile(`^x_[A-Za-z0-9_-]{22}$`), regexp.MustCompile(`^[a-z2-7]{8}$`)
	seen := make(map[string]bool)
	for range 200 {
		l, err := randomid.Long(rand.Reader, "x_")
		if err != nil || !long.MatchString(l) || seen[l] {
			t.Fatalf("Long = %q, %v", l, err)
		}
		s, err := randomid.Short(rand.Reader)
		if err != nil || !short.MatchString(s) || seen[s] {
			t.Fatalf("Short = %q, %v", s, err)
		}
		seen[l], seen[s] = true, true
	}
}

func TestTooLittleRandomnessIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := randomid.Long(bytes.NewReader(make([]byte, 15)), ""); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Long: %v", err)
	}
	if _, err := randomid.Short(bytes.NewReader(make([]byte, 4))); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Short: %v", err)
	}
}
