package approval_test

import (
	"crypto/rand"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/lock"
)

func newLock(t *testing.T) *lock.Key {
	t.Helper()
	k, err := lock.Make(filepath.Join(t.TempDir(), "answers"), secret.New("alpine start 4am"), 2, time.Now(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// At a locked home whoever reaches the desk without the User's passphrase answers nothing, neither yes nor no.
func TestAtALockedHomeAnAnswerCountsWithItsSignatureAlone(t *testing.T) {
	k, stranger := newLock(t), newLock(t)
	public := k.Lock()
	written := &record{}
	d, err := approval.NewDesk(approval.Config{Record: written.write, Lock: &public})
	if err != nil {
		t.Fatal(err)
	}
	r, earlier := newRequest(t, d, "v1"), newRequest(t, d, "v1")
	came := ask(t, t.Context(), d, r)
	sign := func(k *lock.Key, s lock.Statement) lock.Signature {
		sig, err := k.Sign(s)
		if err != nil {
			t.Fatal(err)
		}
		return sig
	}
	for name, a := range map[string]approval.Answer{
		"a yes without one":        yes(r),
		"a no without one":         no(r),
		"a yes with a no's":        yes(r).Signed(sign(k, r.Statement(false))),
		"one of another question":  yes(r).Signed(sign(k, earlier.Statement(true))),
		"one of another lock":      yes(r).Signed(sign(stranger, r.Statement(true))),
		"one that is no signature": yes(r).Signed("AAAA"),
	} {
		if got, err := d.Decide(t.Context(), a); !errors.Is(err, lock.ErrSignature) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if list := written.all(); len(list) != 0 {
		t.Fatalf("written down: %+v", list)
	}
	sig := sign(k, r.Statement(true))
	won, err := d.Decide(t.Context(), yes(r).Signed(sig))
	if err != nil || won.State != approval.Approved || won.Signature != sig {
		t.Errorf("%+v, %v", won, err)
	}
	if o := <-came; o.decision != won {
		t.Errorf("who asked got %+v", o)
	}

	// What may not be asked is refused without a signature: that gives nobody anything.
	other := newRequest(t, d, "v2")
	refused := ask(t, t.Context(), d, other)
	if got, err := d.Decide(t.Context(), approval.Refusal(other.Shows())); err != nil || got.State != approval.Denied {
		t.Errorf("a refusal: %+v, %v", got, err)
	}
	<-refused
}
