package plaintext_test

import (
	"testing"

	"github.com/papaver-agent/papaver/internal/plaintext"
)

func TestTextFromRightToLeftIsKnownAsThat(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "Stormline 70.00 → “x”": false, "日本語": false, "नमस्ते": false, "שלום": true, "a שלום": true, "مرحبا": true, "٧٠": true,
		"\u202e00.07": false, // stands as an escape and turns nothing round
	} {
		if got := plaintext.RightToLeft(plaintext.Whole(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
