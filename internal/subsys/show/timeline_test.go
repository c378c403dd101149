package show

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/markup"
)

// page is a page without errors and tables.
type page struct{ markup.Page }

func (*page) Failure(*Error)                   {}
func (*page) Table([]Heading, [][]markup.HTML) {}

// A long timeline is drawn in slices, which tell of each time what was there longest.
func TestLongTimelinesAreDrawnInSlices(t *testing.T) {
	const end = 4_000_000
	var spans []Span
	for at := uint64(0); at < end/2; at += 100 {
		spans = append(spans, Span{From: at, To: at + 80, What: "a"}, Span{From: at + 80, To: at + 100, What: "b"})
	}
	out := slicedSpans(spans, end)
	assert.Equal(t, []Span{{From: 0, To: end / 2, What: "a"}}, out)
	var p page
	Timeline(&p, "x", []Lane{{"CPU 0", spans}}, end, Colours{}, Time)
	assert.Less(t, len(p.String()), 2000)
	assert.Contains(t, p.String(), fmt.Sprintf("in %d slices", laneSlices))
}

func TestBytesAreSpacedAndCut(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", ""}, {"0a", "0a"}, {"0a0b0", "0a 0b"}, {string(make([]byte, 0)), ""},
	} {
		assert.Equal(t, tt.want, Spaced(tt.in))
	}
	long := fmt.Sprintf("%0100d", 0)
	assert.Equal(t, 24*3, len(Spaced(long))-len("... (50 bytes)"))
}
