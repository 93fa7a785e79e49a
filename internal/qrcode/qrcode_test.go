package qrcode_test

import (
	"strings"
	"testing"

	"rsc.io/qr"

	"github.com/papaver-agent/papaver/internal/qrcode"
)

// What is drawn is the code, module by module, with a light frame round it; the dark modules with ink, the light ones
// without.
func TestAQRCodeIsDrawnModuleByModule(t *testing.T) {
	t.Parallel()
	const link, frame = "https://auth.example.com/device?user_code=WDJB-MJHT", 2
	code, err := qr.Encode(link, qr.L)
	if err != nil {
		t.Fatal(err)
	}
	size := code.Size + 2*frame
	for _, ink := range []bool{true, false} {
		lines, err := qrcode.Lines(link, ink)
		if err != nil || len(lines) != (size+1)/2 {
			t.Fatalf("ink %v: %d lines, %v", ink, len(lines), err)
		}
		for y := range size {
			cells := []rune(lines[y/2])
			if len(cells) != size {
				t.Fatalf("ink %v: line %d has %d cells", ink, y/2, len(cells))
			}
			for x, cell := range cells {
				drawn := cell == '█' || cell == '▀' && y%2 == 0 || cell == '▄' && y%2 == 1
				if black := code.Black(x-frame, y-frame); drawn != (black == ink) {
					t.Errorf("ink %v: the module at %d, %d is black: %v, and drawn: %v", ink, x, y, black, drawn)
				}
			}
		}
	}
}

func TestALinkThatIsTooLongHasNoCode(t *testing.T) {
	t.Parallel()
	if _, err := qrcode.Lines("https://auth.example.com/"+strings.Repeat("x", 4000), true); err == nil {
		t.Error("a link of 4000 bytes was drawn")
	}
}
