package testrun

import (
	"cmp"
	"errors"
	"slices"

	"github.com/bpfrun/bpfrun/scenario"
)

// mistakeList collects the mistakes in scenario files, each once, from parsing the files and from opening them on several kernels.
type mistakeList struct {
	list []foundMistake
	seen map[string]bool
}

// foundMistake is an error with its position in a file, if it has one.
type foundMistake struct {
	at  scenario.Pos
	err error
}

// newMistakeList returns a list of the errors that are joined in parsing.
func newMistakeList(parsing error) *mistakeList {
	m := &mistakeList{seen: map[string]bool{}}
	m.add(parsing, "")
	return m
}

// add adds an error, or the errors joined in it. on is appended to those that are new.
func (m *mistakeList) add(err error, on string) {
	if err == nil {
		return
	}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range several.Unwrap() {
			m.add(e, on)
		}
		return
	}
	text := err.Error()
	if m.seen[text] {
		return
	}
	m.seen[text] = true
	f := foundMistake{err: err}
	var mistake *scenario.Error
	if errors.As(err, &mistake) {
		f.at = mistake.Pos
	}
	if on != "" {
		f.err = errors.New(text + on)
	}
	m.list = append(m.list, f)
}

// err returns an error with a line for each mistake, sorted by file and position.
func (m *mistakeList) err() error {
	slices.SortStableFunc(m.list, func(a, b foundMistake) int {
		return cmp.Or(cmp.Compare(a.at.File, b.at.File), cmp.Compare(a.at.Line, b.at.Line), cmp.Compare(a.at.Col, b.at.Col))
	})
	var errs []error
	for _, f := range m.list {
		errs = append(errs, f.err)
	}
	return errors.Join(errs...)
}
