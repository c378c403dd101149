package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Marks delimit the part of a Markdown file that [Paste] replaces.
const (
	Begin = "<!-- corpus table: begin (written by bpfrun conformance corpus) -->"
	End   = "<!-- corpus table: end -->"
)

// ErrMarks means that a file has only one of the marks, or has them in the wrong order.
var ErrMarks = errors.New("the marks of the corpus table do not match")

// Paste replaces the text between the marks of a Markdown file. If the file has no marks, they and
// the section are added at its end. A missing file is created.
func Paste(file string, section []byte) error {
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := replace(old, section)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if bytes.Equal(text, old) {
		return nil
	}
	return os.WriteFile(file, text, 0o644)
}

func replace(old, section []byte) ([]byte, error) {
	begin, end := bytes.Index(old, []byte(Begin)), bytes.Index(old, []byte(End))
	var out bytes.Buffer
	switch {
	case begin < 0 && end < 0:
		out.Write(old)
		if len(old) > 0 {
			out.WriteString("\n")
		}
		fmt.Fprintf(&out, "%s\n\n%s\n%s\n", Begin, section, End)
	case begin < 0 || end < begin:
		return nil, ErrMarks
	default:
		out.Write(old[:begin+len(Begin)])
		out.WriteString("\n\n")
		out.Write(section)
		out.WriteString("\n")
		out.Write(old[end:])
	}
	return out.Bytes(), nil
}
