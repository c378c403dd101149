package testrun

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/scenario"
)

// Mistakes are the mistakes in scenario files, each once, from parsing the files and from opening
// them on several kernels.
type Mistakes struct {
	files map[string][]foundMistake // by the path of the scenario file
	seen  map[string]bool
}

// foundMistake is an error with its position in a file, if it has one.
type foundMistake struct {
	at  scenario.Pos
	err error
}

// NewMistakes returns the errors of parsing, by the path of the file.
func NewMistakes(parsing map[string]error) *Mistakes {
	m := &Mistakes{files: map[string][]foundMistake{}, seen: map[string]bool{}}
	for path, err := range parsing {
		m.add(path, err, "")
	}
	return m
}

// Add adds an error that running a file revealed.
func (m *Mistakes) Add(path string, err error) { m.add(path, err, "") }

// add adds an error of a file, or the errors joined in it. on is appended to those that are new.
func (m *Mistakes) add(path string, err error, on string) {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range several.Unwrap() {
			m.add(path, e, on)
		}
		return
	}
	text := err.Error()
	if m.seen[path+"\x00"+text] {
		return
	}
	m.seen[path+"\x00"+text] = true
	f := foundMistake{err: err}
	var mistake *scenario.Error
	if errors.As(err, &mistake) {
		f.at = mistake.Pos
	}
	if on != "" {
		f.err = errors.New(text + on)
	}
	m.files[path] = append(m.files[path], f)
}

// Paths returns the files with mistakes, sorted.
func (m *Mistakes) Paths() []string { return slices.Sorted(maps.Keys(m.files)) }

// Of returns an error with a line for each mistake of a file, sorted by position; nil if it has
// none.
func (m *Mistakes) Of(path string) error { return sorted(m.files[path]) }

// Err returns an error with a line for each mistake, sorted by file and position; nil if there are
// none. What several files share, such as a file that they include, is in it once.
func (m *Mistakes) Err() error {
	var all []foundMistake
	seen := map[string]bool{}
	for _, path := range m.Paths() {
		for _, f := range m.files[path] {
			if text := f.err.Error(); !seen[text] {
				seen[text] = true
				all = append(all, f)
			}
		}
	}
	return sorted(all)
}

// Exit returns the exit code of the mistakes: 3 if all of them are about objects that cannot be
// loaded, else 2.
func (m *Mistakes) Exit() int {
	for _, list := range m.files {
		for _, f := range list {
			if code, ok := exitcode.Of(f.err); !ok || code != exitcode.Load {
				return exitcode.Usage
			}
		}
	}
	return exitcode.Load
}

func sorted(list []foundMistake) error {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b foundMistake) int {
		return cmp.Or(cmp.Compare(a.at.File, b.at.File), cmp.Compare(a.at.Line, b.at.Line), cmp.Compare(a.at.Col, b.at.Col))
	})
	var errs []error
	for _, f := range list {
		errs = append(errs, f.err)
	}
	return errors.Join(errs...)
}
