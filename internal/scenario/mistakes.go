package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Errors holds at least two mistakes in a scenario file, in file order. A single mistake is an
// [*Error].
type Errors []*Error

// mostErrors limits the number of mistakes reported for one file.
const mostErrors = 50

// Error returns one line for each mistake.
func (e Errors) Error() string {
	var lines []string
	for i, x := range e {
		if i == mostErrors {
			lines = append(lines, fmt.Sprintf("%s: %d more mistakes", x.File, len(e)-i))
			break
		}
		lines = append(lines, x.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the mistakes.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, x := range e {
		out[i] = x
	}
	return out
}

// mistakes collects errors while the rest of a file is checked. An error that is not a mistake in
// the file ends the check.
type mistakes struct {
	list  Errors
	other error
}

// add adds an error, if any, and reports whether err was nil.
func (m *mistakes) add(err error) bool {
	if err == nil {
		return true
	}
	var all Errors
	var one *Error
	switch {
	case errors.As(err, &all):
		m.list = append(m.list, all...)
	case errors.As(err, &one):
		m.list = append(m.list, one)
	case m.other == nil:
		m.other = err
	}
	return false
}

// try calls every step, even after one has failed.
func try(steps ...func() error) error {
	var m mistakes
	for _, step := range steps {
		m.add(step())
	}
	return m.err()
}

// err returns the collected errors.
func (m *mistakes) err() error {
	switch {
	case m.other != nil:
		return m.other
	case len(m.list) == 0:
		return nil
	case len(m.list) == 1:
		return m.list[0]
	}
	return m.list
}

// besides drops consequences of mistakes that were found earlier: errors at the same position,
// about a run that could not be read completely, or about parts that were left out.
func (m *mistakes) besides(f *File) {
	if len(f.found) == 0 {
		return
	}
	at := map[Pos]bool{}
	for _, e := range f.found {
		at[e.Pos] = true
	}
	for _, r := range f.Runs {
		if r.damaged {
			at[r.Pos] = true
		}
	}
	m.list = slices.DeleteFunc(f.cut.own(m.list), func(e *Error) bool { return at[e.Pos] })
	m.list = append(m.list, f.found...)
}

// final returns the errors for the user: in file order, each once, and without mere consequences of
// others.
func (m *mistakes) final() error {
	if m.other != nil {
		return m.other
	}
	slices.SortStableFunc(m.list, func(a, b *Error) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Col - b.Col
	})
	seen := map[string]bool{}
	own := slices.Clone(m.list)
	own = slices.DeleteFunc(own, func(e *Error) bool {
		text := e.Error()
		again := seen[text] || e.follows
		seen[text] = true
		return again
	})
	if len(own) == 0 {
		own = m.list // report the consequences rather than nothing
	}
	return (&mistakes{list: own}).err()
}
