package visible

import (
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// Writer writes text to W and escapes as \xNN what is not visible, except for tabs, line breaks
// and, unless Plain is set, the styles of bpfrun.
type Writer struct {
	W io.Writer
	// Plain escapes styles too, for output without colours: those in it come from the text.
	Plain bool

	tail []byte // the first bytes of a character whose others are not written yet
}

// Write implements io.Writer. The result counts bytes of p, not of the escaped text.
func (w *Writer) Write(p []byte) (int, error) {
	if len(w.tail) == 0 && plain(p, true) {
		return w.W.Write(p)
	}
	text := append(w.tail, p...)
	whole := len(text) - unfinished(text)
	text, w.tail = text[:whole], append([]byte(nil), text[whole:]...)
	if len(text) == 0 {
		return len(p), nil
	}
	if err := w.write(string(text)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what Write held back because it may be the beginning of a character.
func (w *Writer) Flush() error {
	tail := w.tail
	if w.tail = nil; len(tail) == 0 {
		return nil
	}
	return w.write(string(tail))
}

func (w *Writer) write(text string) error {
	also := func(r rune) bool { return r == '\n' || r == '\t' }
	if w.Plain {
		text = keep(text, also)
	} else {
		text = styled(text, also)
	}
	_, err := io.WriteString(w.W, text)
	return err
}

// unfinished returns the number of bytes at the end of p that begin a character.
func unfinished(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if c := p[len(p)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(p[len(p)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// JSON is a writer for encoders of JSON, which write a document at a time: what is not visible, and
// can only be in strings, is escaped as JSON does.
type JSON struct{ W io.Writer }

// Write implements io.Writer.
func (j JSON) Write(p []byte) (int, error) {
	var out []byte
	done := 0
	for i := 0; i < len(p); {
		r, n := rune(p[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(p[i:])
		}
		if hidden(r) && r != '\n' {
			out = append(out, p[done:i]...)
			for _, u := range utf16.Encode([]rune{r}) {
				out = append(out, '\\', 'u', hex[u>>12], hex[u>>8&15], hex[u>>4&15], hex[u&15])
			}
			done = i + n
		}
		i += n
	}
	if done > 0 {
		if _, err := j.W.Write(append(out, p[done:]...)); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	return j.W.Write(p)
}

const hex = "0123456789abcdef"
