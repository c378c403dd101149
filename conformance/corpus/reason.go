package corpus

import (
	"errors"
	"strings"

	"github.com/bpfrun/bpfrun/loader"
)

// reason returns an error as one line, without the names of object and program, which are in the
// row.
func reason(err error) string {
	var e *loader.Error
	if !errors.As(err, &e) {
		return oneLine(err.Error())
	}
	var parts []string
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	if e.Detail != "" {
		parts = append(parts, e.Detail)
	}
	if e.Hint != "" {
		parts = append(parts, e.Hint)
	}
	return oneLine(strings.Join(parts, ": "))
}

func oneLine(s string) string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' })
	for i, l := range lines {
		lines[i] = strings.Join(strings.Fields(l), " ")
	}
	return strings.Join(lines, "; ")
}
