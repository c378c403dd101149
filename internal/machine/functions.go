package machine

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/progtype"
)

// matching returns the function that a multi probe runs for: the one with the shortest name among
// those its pattern matches.
func (cs *contexts) matching(pattern string) string {
	best := pattern
	for _, name := range cs.functions(pattern) {
		if best == pattern || len(name) < len(best) || len(name) == len(best) && name < best {
			best = name
		}
	}
	return best
}

// functions returns the kernel's functions that a pattern matches by name, none if it is no
// pattern.
func (cs *contexts) functions(pattern string) (names []string) {
	spec := cs.reg.linked.Target.BTF
	if spec == nil || !strings.ContainsAny(pattern, "*?") {
		return nil
	}
	for id := btf.ID(1); int(id) < spec.NumTypes(); id++ {
		if spec.Kind(id) != btf.KindFunc {
			continue
		}
		if name := spec.Name(id); globs(pattern, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// globs reports whether a pattern with * and ? matches a name (libbpf glob_match).
func globs(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

// NotTracedError means that a program does not trace a function.
type NotTracedError struct {
	Program, Function, Pattern string
	// Some are functions that it does trace; none if its pattern is of user space, or names one.
	Some []string
	// Unlisted means that the pattern matches, but the kernel's types list no such function.
	Unlisted bool
}

// Error names what the program traces.
func (e *NotTracedError) Error() string {
	switch {
	case e.Unlisted:
		return fmt.Sprintf("program %s traces functions of the kernel, whose types list no %s", e.Program, e.Function)
	case e.Pattern == "":
		return fmt.Sprintf("program %s does not trace several functions (kprobe.multi, kprobe.session, fentry.multi, uprobe.multi and the like)", e.Program)
	case len(e.Some) > 0:
		return fmt.Sprintf("program %s traces %s, which does not match %s; it matches %s", e.Program, e.Pattern, e.Function, strings.Join(e.Some, ", "))
	}
	return fmt.Sprintf("program %s traces %s, which does not match %s", e.Program, e.Pattern, e.Function)
}

// HookOf returns the hook of a program that traces many functions, for the run of one of them: a
// function of the kernel, or for programs that trace user space the name of one in their file. The
// error is a [*NotTracedError].
func (m *Machine) HookOf(program, function string) (*Hook, error) {
	p := m.byName[program]
	if p == nil {
		return nil, fmt.Errorf("%w: %s", ErrNoProgram, program)
	}
	if !p.lp.SectionFlags.Has(progtype.Pattern) {
		return nil, &NotTracedError{Program: program, Function: function}
	}
	file, pattern := "", p.lp.AttachTo
	if i := strings.LastIndexByte(pattern, ':'); i >= 0 && p.lp.SectionFlags.Has(progtype.User) {
		file, pattern = pattern[:i+1], pattern[i+1:]
	}
	known := p.lp.SectionFlags.Has(progtype.User) || m.linked.Target.BTF == nil || m.linked.Target.HasFunc(function)
	if pattern != "" && !globs(pattern, function) || !known {
		e := &NotTracedError{Program: program, Function: function, Pattern: pattern, Unlisted: !known && (pattern == "" || globs(pattern, function))}
		if file == "" {
			e.Some = m.functions(pattern)
			e.Some = e.Some[:min(len(e.Some), 5)]
		}
		return nil, e
	}
	return &Hook{AttachTo: file + function, Section: p.lp.Section}, nil
}

// MostFunctions limits how many functions a run of all of them has.
const MostFunctions = 4096

// ErrFunctions means that the functions which a program traces are unknown, or too many to run all.
var ErrFunctions = errors.New("these functions must be named")

// FunctionsOf returns the functions that a program which traces many is attached to: those of the
// kernel that its pattern matches, by name. The error is a [*NotTracedError], or [ErrFunctions] if
// user space chooses them, they are in a file, or they are more than [MostFunctions].
func (m *Machine) FunctionsOf(program string) ([]string, error) {
	p := m.byName[program]
	switch {
	case p == nil:
		return nil, fmt.Errorf("%w: %s", ErrNoProgram, program)
	case !p.lp.SectionFlags.Has(progtype.Pattern):
		return nil, &NotTracedError{Program: program}
	}
	pattern, user := p.lp.AttachTo, p.lp.SectionFlags.Has(progtype.User)
	if user {
		pattern = pattern[strings.LastIndexByte(pattern, ':')+1:]
	}
	switch {
	case pattern == "":
		return nil, fmt.Errorf("%w: the section of program %s names none", ErrFunctions, program)
	case !strings.ContainsAny(pattern, "*?"):
		return []string{pattern}, nil
	case user:
		return nil, fmt.Errorf("%w: program %s traces those of a file that %s matches", ErrFunctions, program, pattern)
	}
	names := m.functions(pattern)
	switch {
	case len(names) == 0:
		return nil, fmt.Errorf("%w: the kernel's types list none that %s of program %s matches", ErrFunctions, pattern, program)
	case len(names) > MostFunctions:
		return nil, fmt.Errorf("%w: %s of program %s matches %d, more than %d", ErrFunctions, pattern, program, len(names), MostFunctions)
	}
	return names, nil
}
