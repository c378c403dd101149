// Package refusal has one row for each reason for which the verifier refuses a program: the line of
// the kernel's log, the error, and what it means for the author of the program.
//
// It does not know when a program is refused: the verifier names the row. Start from [ID] and
// [ID.Row].
//
// To add a refusal, write its row in rows_AREA.go and run go test ./internal/verifier/refusal
// -update, which makes its constant; then give it a program and a neighbour
// (internal/verifier/testdata/refused.txt, or internal/verifier/testdata/refused/*.bpf.c).
package refusal

import (
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// ID names a refusal. The zero value is none.
type ID uint16

// Row describes a refusal.
type Row struct {
	// Name is the name of the refusal's constant.
	Name string
	// Errno is what BPF_PROG_LOAD returns; 0 if that depends on the place, or if the line is only
	// one of several.
	Errno uapi.Errno
	// Text is the format of the line, "" if the kernel says nothing.
	Text string
	// Why explains the refusal in the user's terms, and how to mend it.
	Why string
	// From is the rule from which on the kernel says it in these words, Until the rule from which
	// on it uses others.
	From, Until since.Rule
	// Of is the refusal whose line this one explains further, if the line has one of the words in
	// When.
	Of   string
	When []string
}

// areas is the table of all refusals.
var areas = [...][]Row{insnsRows[:], stackRows[:], memoryRows[:], mapsRows[:], helpersRows[:], kfuncsRows[:], callsRows[:], attachRows[:]}

// Row returns the refusal's row; that of 0 is empty.
func (id ID) Row() *Row {
	n := int(id) - 1
	for _, rows := range areas {
		if n >= 0 && n < len(rows) {
			return &rows[n]
		}
		n -= len(rows)
	}
	return new(Row)
}

// In returns the refusal that explains a line best: the one given, or one that its words tell more
// about.
func (id ID) In(line string) ID {
	for i, name := None+1, id.String(); i < numIDs; i++ {
		if row := i.Row(); row.Of == name && containsAny(line, row.When) {
			return i
		}
	}
	return id
}

func containsAny(line string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(line, w) })
}

// String returns the refusal's name.
func (id ID) String() string { return id.Row().Name }

// Named returns the refusal of a name.
func Named(name string) (ID, bool) {
	for id := None + 1; id < numIDs; id++ {
		if id.String() == name {
			return id, true
		}
	}
	return None, false
}

// All returns all refusals.
func All() []ID {
	out := make([]ID, 0, numIDs-1)
	for id := None + 1; id < numIDs; id++ {
		out = append(out, id)
	}
	return out
}
