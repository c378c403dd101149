// Package termsvg draws what a command prints on a terminal as a picture (SVG).
package termsvg

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// Sizes in pixels of a character cell of a 14-pixel monospaced font, and of the space around the
// text.
const (
	cellWidth  = 8.43
	cellHeight = 19
	margin     = 16
	titleBar   = 34
)

// style is how the characters after an SGR sequence look.
type style struct {
	bold, dim bool
	color     string
}

// colors are those of a terminal with a dark background, by SGR code.
var colors = map[string]string{"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341"}

func (s *style) set(code string) {
	switch code {
	case "", "0":
		*s = style{}
	case "1":
		s.bold = true
	case "2":
		s.dim = true
	default:
		s.color = colors[code]
	}
}

// Render returns an SVG picture of a terminal that has run a command. output is what the command
// printed, with the SGR sequences for bold, dim, red, green and yellow; lines longer than columns
// are wrapped, with the indentation of their beginning.
func Render(command, output string, columns int) string {
	lines := wrap("$ "+command+"\n"+strings.TrimRight(output, "\n"), columns)
	width := float64(columns)*cellWidth + 2*margin
	height := len(lines)*cellHeight + titleBar + margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" width="%.0f" height="%d" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n", html.EscapeString(command))
	b.WriteString(`<rect width="100%" height="100%" rx="8" fill="#161b22"/>` + "\n")
	for i, c := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="17" r="6" fill="%s"/>`+"\n", margin+6+20*i, c)
	}
	b.WriteString(`<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14" fill="#e6edf3" xml:space="preserve">` + "\n")
	var now style
	for i, line := range lines {
		fmt.Fprintf(&b, `<text x="%d" y="%d">`, margin, titleBar+cellHeight*i+14)
		for _, p := range pieces(line) {
			if p.code != nil {
				now.set(*p.code)
				continue
			}
			b.WriteString(now.span(p.text))
		}
		b.WriteString("</text>\n")
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

// span returns the element of a text in a style.
func (s *style) span(text string) string {
	attributes := ""
	if s.bold {
		attributes += ` font-weight="bold"`
	}
	if s.dim {
		attributes += ` opacity="0.6"`
	}
	if s.color != "" {
		attributes += fmt.Sprintf(` fill="%s"`, s.color)
	}
	if attributes == "" {
		return html.EscapeString(text)
	}
	return "<tspan" + attributes + ">" + html.EscapeString(text) + "</tspan>"
}

// piece is a text without sequences, or the code of one SGR sequence.
type piece struct {
	text string
	code *string
}

func pieces(line string) []piece {
	var out []piece
	for line != "" {
		before, rest, found := strings.Cut(line, "\x1b[")
		if before != "" {
			out = append(out, piece{text: before})
		}
		if !found {
			break
		}
		code, after, _ := strings.Cut(rest, "m")
		out = append(out, piece{code: &code})
		line = after
	}
	return out
}

// wrap divides text into lines of at most columns characters, at spaces where it can.
func wrap(text string, columns int) []string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		indent := strings.Repeat(" ", min(len(line)-len(strings.TrimLeft(line, " "))+2, columns/2))
		for visible(line) > columns {
			at := cut(line, columns)
			out = append(out, strings.TrimRight(line[:at], " "))
			line = indent + strings.TrimLeft(line[at:], " ")
		}
		out = append(out, line)
	}
	return out
}

// visible returns how many cells a line takes.
func visible(line string) int {
	n := 0
	for _, p := range pieces(line) {
		n += utf8.RuneCountInString(p.text)
	}
	return n
}

// cut returns where a line that is too long is divided: at its last space that fits, else in the
// middle of a word.
func cut(line string, columns int) int {
	at, n, space := 0, 0, 0
	indent := len(line) - len(strings.TrimLeft(line, " "))
	for _, p := range pieces(line) {
		if p.code != nil {
			at += len("\x1b[m") + len(*p.code)
			continue
		}
		for i, r := range p.text {
			if n == columns {
				if space > indent {
					return space
				}
				return at + i
			}
			if r == ' ' && at+i > indent {
				space = at + i
			}
			n++
		}
		at += len(p.text)
	}
	return len(line)
}
