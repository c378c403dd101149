package report

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// NewError converts an error to its JSON form, with the location it carries.
func NewError(err error) *Error {
	if err == nil {
		return nil
	}
	e := &Error{Kind: "error", Message: err.Error(), Lines: strings.Split(err.Error(), "\n")}
	var le *loader.Error
	if errors.As(err, &le) {
		e.Kind, e.Object, e.Section, e.Program, e.Source = "load", le.Object, le.Section, le.Program, le.Source
		if le.Insn >= 0 {
			n := le.Insn
			e.Insn = &n
		}
		e.Lines = loadErrorLines(le)
	}
	var me *machine.MapError
	var ne *machine.NotSimulatedError
	var re *verifier.RefusedError
	switch {
	case errors.As(err, &re):
		e.Kind, e.Program, e.Word = "verifier", re.Program, "verifier:"
		e.Lines = []string{re.Verdict.Summary() + "; bpfrun verify -p " + re.Program + " explains it"}
		if re.Verdict.Insn >= 0 {
			e.Insn = &re.Verdict.Insn
		}
		if line := re.Verdict.Source; line != nil {
			e.Source = fmt.Sprintf("%s:%d", line.File, line.Line)
		}
	case errors.As(err, &me):
		e.Kind = "map"
	case errors.As(err, &ne):
		e.Kind, e.Program = "not-simulated", ne.Program
	}
	return e
}

// loadErrorLines formats an error for the rows below its program in a table: the failure, the
// source line and the next step, one line each. Object, program and section are left out, since the
// row above names them.
func loadErrorLines(e *loader.Error) []string {
	var parts []string
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	if e.Detail != "" {
		parts = append(parts, e.Detail)
	}
	text := strings.Join(parts, ": ")
	if e.Insn >= 0 {
		text = fmt.Sprintf("insn %d: %s", e.Insn, text)
	}
	lines := []string{text}
	if e.Source != "" {
		lines = append(lines, "at "+e.Source)
	}
	if e.Hint != "" {
		lines = append(lines, e.Hint)
	}
	return lines
}
