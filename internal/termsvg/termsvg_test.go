package termsvg

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// drawn returns the lines of text of a picture, and fails if it is not XML.
func drawn(t *testing.T, svg string) []string {
	t.Helper()
	var lines []string
	inside := false
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return lines
		}
		require.NoError(t, err)
		switch x := token.(type) {
		case xml.StartElement:
			if x.Name.Local == "text" {
				inside = true
				lines = append(lines, "")
			}
		case xml.EndElement:
			inside = inside && x.Name.Local != "text"
		case xml.CharData:
			if inside {
				lines[len(lines)-1] += string(x)
			}
		}
	}
}

func TestPicturesHaveTheOutput(t *testing.T) {
	for _, tt := range []struct {
		name, output string
		columns      int
		want         []string
	}{
		{"plain", "a <b> & c\n\nd\n", 40, []string{"$ cmd", "a <b> & c", "", "d"}},
		{"styles are no characters", "\x1b[1mbold\x1b[0m \x1b[31m✗ red\x1b[0m", 10, []string{"$ cmd", "bold ✗ red"}},
		{"a long line", "  one two three four", 12, []string{"$ cmd", "  one two", "    three", "    four"}},
		{"a long word", strings.Repeat("x", 25), 10, []string{"$ cmd", "xxxxxxxxxx", "  xxxxxxxx", "  xxxxxxx"}},
		{"a style over a wrapped line", "\x1b[31mred red red\x1b[0m end", 8, []string{"$ cmd", "red red", "  red", "  end"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, drawn(t, Render("cmd", tt.output, tt.columns)))
		})
	}
}

func TestStylesAreDrawn(t *testing.T) {
	svg := Render("cmd", "\x1b[1mA\x1b[0mB\x1b[31mC\x1b[0m\x1b[2mD\x1b[0m", 40)
	assert.Contains(t, svg, `<tspan font-weight="bold">A</tspan>B<tspan fill="#ff7b72">C</tspan><tspan opacity="0.6">D</tspan>`)
}
