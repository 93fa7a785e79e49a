package trouble_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/papaver-agent/papaver/internal/trouble"
)

func TestAnErrorsFourSentencesAreFoundUnderWhateverIsAroundThem(t *testing.T) {
	t.Parallel()
	cause := errors.New("connection refused")
	want := &trouble.Error{What: "shop.test could not be reached", Done: "nothing", Undone: "everything", Next: "look", Err: cause}
	err := fmt.Errorf("run: %w", fmt.Errorf("visit: %w", want))
	if got := trouble.Of(err); got != want {
		t.Errorf("Of = %+v", got)
	}
	if !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
	if got := want.Error(); got != "shop.test could not be reached: connection refused" {
		t.Errorf("Error = %q", got)
	}
	if got := (&trouble.Error{What: "it ended"}).Error(); got != "it ended" {
		t.Errorf("without a cause: %q", got)
	}
}

func TestAnErrorWithoutWordsStillSaysWhatIsKnown(t *testing.T) {
	t.Parallel()
	cause := errors.New("disk full")
	got := trouble.Of(cause)
	if got.What != "disk full" || got.Done == "" || got.Undone == "" || got.Next == "" || !errors.Is(got, cause) {
		t.Errorf("Of = %+v", got)
	}
}

func TestTextFromOutsideIsQuotedAndBounded(t *testing.T) {
	t.Parallel()
	if got := trouble.Quoted("a\x1b[2J\u202e\"", 80); got != `"a\x1b[2J\u202e\""` {
		t.Errorf("it is %s", got)
	}
	if got := trouble.Quoted("abcdef", 3); got != `"abc"… (6 bytes)` {
		t.Errorf("a long one is %s", got)
	}
}
