package corpus

import (
	"errors"
	"strings"

	"github.com/bpfrun/bpfrun/loader"
)

// reason is an error in a line, without the names of object and program, which the row has.
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

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
