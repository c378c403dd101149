// Package visible keeps untrusted text from controlling the terminal, and from looking like output
// of bpfrun's own: names in ELF files and BTF, source lines, the output of programs, paths, and
// names of runs in scenario files.
//
// It does not know where a text comes from. [Text] escapes all that is not visible, so that a text
// stays on its line and in its column. [Fprintf] does so with all arguments: what writes lines or
// tables uses it in place of package fmt. [Writer] filters all output but keeps lines and the
// styles of bpfrun, and [JSON] filters what an encoder writes.
package visible

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text escapes as \xNN what is not visible, except for tabs: control characters, bytes that are not
// valid UTF-8, separators of lines, and characters that only change how others are shown, such as
// those that reverse the direction.
func Text(text string) string { return keep(text, func(r rune) bool { return r == '\t' }) }

// plain reports whether a text consists of tabs and the visible characters of ASCII, and with lines
// also of line breaks: nothing in it has to be escaped. Most texts are plain.
func plain[T string | []byte](text T, lines bool) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' || c >= 0x7f) && c != '\t' && (c != '\n' || !lines) {
			return false
		}
	}
	return true
}

// keep escapes what is not visible, except for tabs and what also returns true for.
func keep(text string, also func(r rune) bool) string {
	if plain(text, false) {
		return text
	}
	clean := func(r rune, n int) bool { return (r != utf8.RuneError || n > 1) && !hidden(r) || also(r) }
	var b strings.Builder
	done := 0
	for i := 0; i < len(text); {
		r, n := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(text[i:])
		}
		if !clean(r, n) {
			b.WriteString(text[done:i])
			for _, c := range []byte(text[i : i+n]) {
				fmt.Fprintf(&b, "\\x%02x", c)
			}
			done = i + n
		}
		i += n
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

// hidden reports whether a character is none that one sees: those of C0 and C1 and DEL, which
// terminals interpret; format characters, among them the marks of direction; and the separators of
// lines and paragraphs.
func hidden(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r <= 0x9f:
		return true
	case r < 0x9f:
		return false
	}
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// Fprintf formats like [fmt.Fprintf], but escapes the text of each argument as [Text] does, except
// for the styles of bpfrun: only the format makes lines.
func Fprintf(w io.Writer, format string, args ...any) (int, error) {
	return fmt.Fprintf(w, format, shown(args)...)
}

// Fprintln is like [fmt.Fprintln], with arguments as in [Fprintf].
func Fprintln(w io.Writer, args ...any) (int, error) { return fmt.Fprintln(w, shown(args)...) }

// Sprintf returns what [Fprintf] writes.
func Sprintf(format string, args ...any) string { return fmt.Sprintf(format, shown(args)...) }

// Lines is text of several lines that [Fprintf] leaves as it is: what bpfrun composed of escaped
// parts.
type Lines string

// Indent returns text of several lines, each escaped as by [Fprintf], with a prefix before all but
// the first: what a name adds is seen to belong to the text.
func Indent(text, prefix string) Lines {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = line(lines[i])
	}
	return Lines(strings.Join(lines, "\n"+prefix))
}

// argument is an argument of Fprintf.
type argument struct{ v any }

// Format implements [fmt.Formatter].
func (a argument) Format(f fmt.State, verb rune) {
	_, _ = io.WriteString(f, line(fmt.Sprintf(fmt.FormatString(f, verb), a.v)))
}

func shown(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch v := a.(type) {
		case Lines:
			out[i] = string(v)
		case nil, bool, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, uintptr, float32, float64:
			out[i] = v
		case string:
			if out[i] = a; !plain(v, false) {
				out[i] = argument{v}
			}
		default:
			out[i] = argument{v}
		}
	}
	return out
}

// line is [Text] that keeps styles.
func line(text string) string {
	if !strings.Contains(text, "\x1b") {
		return Text(text)
	}
	return styled(text, func(r rune) bool { return r == '\t' })
}

// styles lists the escape sequences that are kept: reset, bold, dim, red, green and yellow.
var styles = []string{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"}

// styled is keep that also keeps styles.
func styled(text string, also func(r rune) bool) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(text, 0x1b)
		if i < 0 {
			break
		}
		b.WriteString(keep(text[:i], also))
		s := style(text[i:])
		if s == "" {
			s = `\x1b`
			text = text[i+1:]
		} else {
			text = text[i+len(s):]
		}
		b.WriteString(s)
	}
	b.WriteString(keep(text, also))
	return b.String()
}

// style returns the style that text begins with, or "" if there is none.
func style(text string) string {
	for _, s := range styles {
		if strings.HasPrefix(text, s) {
			return s
		}
	}
	return ""
}
