package secret_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/internal/secret"
)

const value = "s3cr3t-value"

type holder struct {
	Exported   secret.Text
	unexported secret.Text
}

// Clauses: C10-5.14
func TestSecretPrintsAsRedactedInEveryFormat(t *testing.T) {
	t.Parallel()
	s := secret.New(value)
	h := holder{Exported: s, unexported: s}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T %v", "%10.3v", "%p"} {
		for _, x := range []any{s, &s, h, &h, []secret.Text{s}, map[string]secret.Text{"k": s}} {
			out := fmt.Sprintf(verb, x)
			if strings.Contains(out, value) || strings.Contains(out, fmt.Sprintf("%x", value)) {
				t.Errorf("%s of %T shows the secret: %s", verb, x, out)
			}
		}
	}
	for _, handler := range []func(*bytes.Buffer) slog.Handler{
		func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		var b bytes.Buffer
		slog.New(handler(&b)).Info("m", "secret", s, "holder", h, "pointer", &h)
		if strings.Contains(b.String(), value) {
			t.Errorf("slog shows the secret: %s", b.String())
		}
	}
}

func TestSecretCannotBeEncodedAsJSON(t *testing.T) {
	t.Parallel()
	if out, err := json.Marshal(holder{Exported: secret.New(value)}); !errors.Is(err, secret.ErrNoTextForm) {
		t.Errorf("Marshal = %s, %v; want ErrNoTextForm", out, err)
	}
}

func TestSecretRevealsItsValueOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	if got := secret.New(value).Reveal(); got != value {
		t.Errorf("Reveal = %q", got)
	}
	if !(secret.Text{}).Empty() || secret.New(value).Empty() {
		t.Error("Empty is wrong")
	}
}
