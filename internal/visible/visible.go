// Package visible keeps text of objects, programs and files from controlling the terminal it is shown on: names in ELF files and BTF, source lines,
// what programs print, and what scenario files call their runs.
//
// It does not know who wrote a text. [Writer] is the net below all output and lets colours pass; [Text] is for text that nothing may pass.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package visible

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Text returns text as it can be shown: control characters other than tabs, and bytes that are not UTF-8, appear as \xNN.
func Text(text string) string {
	clean := func(r rune) bool { return r == '\t' || !control(r) && r != utf8.RuneError }
	if !strings.ContainsFunc(text, func(r rune) bool { return !clean(r) }) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if clean(r) {
			b.WriteString(text[:n])
		} else {
			escape(&b, text[:n])
		}
		text = text[n:]
	}
	return b.String()
}

// control reports whether terminals act on a character: C0, DEL and C1.
func control(r rune) bool { return r < ' ' || r >= 0x7f && r <= 0x9f }

func escape(b *strings.Builder, text string) {
	for _, c := range []byte(text) {
		fmt.Fprintf(b, "\\x%02x", c)
	}
}

// Writer writes text to W, with control characters other than tabs and line ends as \xNN. Of escape sequences the styles that bpfrun itself uses
// pass. All other bytes are written as they are.
type Writer struct{ W io.Writer }

// styles are the escape sequences that pass: bold, dim, red, green, yellow, and back to normal.
var styles = []string{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"}

// Write implements io.Writer. It counts the bytes of p, not those they are shown as.
func (w Writer) Write(p []byte) (int, error) {
	if i := bytes.IndexFunc(p, suspect); i >= 0 {
		if _, err := io.WriteString(w.W, printable(string(p))); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	return w.W.Write(p)
}

func suspect(r rune) bool { return control(r) && r != '\n' && r != '\t' }

func printable(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if r == 0x1b {
			if s := style(text); s != "" {
				b.WriteString(s)
				text = text[len(s):]
				continue
			}
		}
		if suspect(r) {
			escape(&b, text[:n])
		} else {
			b.WriteString(text[:n])
		}
		text = text[n:]
	}
	return b.String()
}

// style is the style that text begins with, empty for none.
func style(text string) string {
	for _, s := range styles {
		if strings.HasPrefix(text, s) {
			return s
		}
	}
	return ""
}
