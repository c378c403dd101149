package report

import (
	"errors"

	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/machine"
)

// NewError turns an error into its JSON form, with the place it knows.
func NewError(err error) *Error {
	if err == nil {
		return nil
	}
	e := &Error{Kind: "error", Message: err.Error()}
	var le *loader.Error
	if errors.As(err, &le) {
		e.Kind, e.Object, e.Section, e.Program, e.Source = "load", le.Object, le.Section, le.Program, le.Source
		if le.Insn >= 0 {
			n := le.Insn
			e.Insn = &n
		}
	}
	var me *machine.MapError
	var ne *machine.NotSimulatedError
	switch {
	case errors.As(err, &me):
		e.Kind = "map"
	case errors.As(err, &ne):
		e.Kind, e.Program = "not-simulated", ne.Program
	}
	return e
}
