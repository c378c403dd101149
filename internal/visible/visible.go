// Package visible keeps untrusted text from controlling the terminal: names in ELF files and BTF, source lines, the output of programs, and
// names of runs in scenario files.
//
// It does not know where a text comes from. [Writer] filters all output but keeps the styles of bpfrun; [Text] escapes every control character.
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

// Text escapes control characters other than tabs, and bytes that are not valid UTF-8, as \xNN.
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

// control reports whether terminals interpret a character: those of C0 and C1, and DEL.
func control(r rune) bool { return r < ' ' || r >= 0x7f && r <= 0x9f }

func escape(b *strings.Builder, text string) {
	for _, c := range []byte(text) {
		fmt.Fprintf(b, "\\x%02x", c)
	}
}

// Writer writes text to W and escapes control characters other than tabs and newlines as \xNN. The escape sequences of the styles that bpfrun
// uses are kept unless Plain is set; all other bytes are written unchanged.
type Writer struct {
	W io.Writer
	// Plain escapes styles too, for output without colours: those in it come from the text.
	Plain bool
}

// styles lists the escape sequences that [Writer] keeps: reset, bold, dim, red, green and yellow.
var styles = []string{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"}

// Write implements io.Writer. The result counts bytes of p, not of the escaped text.
func (w Writer) Write(p []byte) (int, error) {
	if i := bytes.IndexFunc(p, suspect); i >= 0 {
		if _, err := io.WriteString(w.W, w.printable(string(p))); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	return w.W.Write(p)
}

func suspect(r rune) bool { return control(r) && r != '\n' && r != '\t' }

func (w Writer) printable(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if r == 0x1b && !w.Plain {
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

// style returns the style that text begins with, or "" if there is none.
func style(text string) string {
	for _, s := range styles {
		if strings.HasPrefix(text, s) {
			return s
		}
	}
	return ""
}
