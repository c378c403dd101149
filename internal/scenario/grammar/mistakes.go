package grammar

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Errors holds at least two mistakes in a scenario file, in file order. A single mistake is an
// [*Error].
type Errors []*Error

// MostErrors limits the number of mistakes reported for one file.
const MostErrors = 50

// Error returns one line for each mistake.
func (e Errors) Error() string {
	var lines []string
	for i, x := range e {
		if i == MostErrors {
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

// Mistakes collects errors while the rest of a file is checked. An error that is not a mistake in
// the file ends the check.
type Mistakes struct {
	List  Errors
	Other error
}

// Add adds an error, if any, and reports whether err was nil.
func (m *Mistakes) Add(err error) bool {
	if err == nil {
		return true
	}
	var all Errors
	var one *Error
	switch {
	case errors.As(err, &all):
		m.List = append(m.List, all...)
	case errors.As(err, &one):
		m.List = append(m.List, one)
	case m.Other == nil:
		m.Other = err
	}
	return false
}

// Try calls every step, even after one has failed.
func Try(steps ...func() error) error {
	var m Mistakes
	for _, step := range steps {
		m.Add(step())
	}
	return m.Err()
}

// Err returns the collected errors.
func (m *Mistakes) Err() error {
	switch {
	case m.Other != nil:
		return m.Other
	case len(m.List) == 0:
		return nil
	case len(m.List) == 1:
		return m.List[0]
	}
	return m.List
}

// Final returns the errors for the user: in file order, each once, and without mere consequences of
// others.
func (m *Mistakes) Final() error {
	if m.Other != nil {
		return m.Other
	}
	slices.SortStableFunc(m.List, func(a, b *Error) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Col - b.Col
	})
	seen := map[string]bool{}
	own := slices.Clone(m.List)
	own = slices.DeleteFunc(own, func(e *Error) bool {
		text := e.Error()
		again := seen[text] || e.Follows
		seen[text] = true
		return again
	})
	if len(own) == 0 {
		own = m.List // report the consequences rather than nothing
	}
	return (&Mistakes{List: own}).Err()
}
