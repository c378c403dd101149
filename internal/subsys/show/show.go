// Package show is between the reports of subsystems and what draws them: the documents that are
// JSON, tables on terminals and parts of pages at the same time, and what these are drawn with.
// Start from [Document]. It does not know any subsystem, and not how a terminal or a page looks.
package show

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/internal/markup"
)

// Document is what a report says about one simulation. Encoded as JSON it is part of the JSON
// document.
type Document interface {
	// Program reports whether a program is part of the simulation, and whether that ran.
	Program(name string) (ran, known bool)
	// Text writes it for a terminal.
	Text(t Text)
	// Page returns what draws it on a page, nil if it has no drawing and its text stands there.
	Page() func(Page)
}

// Text is a terminal.
type Text interface {
	// Printf writes text, in which nothing can control the terminal.
	Printf(format string, args ...any)
	Bold(text string) string
	Dim(text string) string
	Red(text string) string
	Yellow(text string) string
	// Table writes rows with aligned columns. The first row is the head.
	Table(rows [][]string)
	// All reports whether long lists are written to their end.
	All() bool
}

// Page is a page of a report.
type Page interface {
	// Printf writes markup; arguments are escaped unless they are markup themselves.
	Printf(format string, args ...any)
	// Write writes markup as it is.
	Write(text markup.HTML)
	// Failure writes an error; nil writes nothing.
	Failure(e *Error)
	Table(columns []Heading, rows [][]markup.HTML)
}

// Heading is the head of a column of a table: numbers are aligned to the right, wide ones are left
// out on narrow screens.
type Heading struct {
	Name         string
	Number, Wide bool
}

// Error is the JSON form of an error.
type Error struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Object  string `json:"object,omitempty"`
	Section string `json:"section,omitempty"`
	Program string `json:"program,omitempty"`
	Insn    *int   `json:"insn,omitempty"`
	Source  string `json:"source,omitempty"`

	Word  string   `json:"-"` // shown in tables; empty means "error"
	Lines []string `json:"-"` // for tables
	Note  bool     `json:"-"` // the error leaves something unknown about a program that still runs
}

// Text is the error as tables show it.
func (e *Error) Text() string {
	if len(e.Lines) == 0 {
		return e.Message
	}
	return strings.Join(e.Lines, "\n")
}

// Program is part of [Document] for simulations with programs by operation; refused means that none
// of them ran.
func Program(progs map[string]string, name string, refused bool) (ran, known bool) {
	for _, p := range progs {
		if p == name {
			return !refused, true
		}
	}
	return false, false
}

// Title is the name of a scenario's run, or what a default simulation is of: "schedule of ops".
func Title(run, what, of string) string { return cmp.Or(run, what+" of "+of) }

// Spaced separates the bytes of hex digits, and shortens many.
func Spaced(hex string) string {
	const most = 24
	var b strings.Builder
	for i := 0; i+2 <= len(hex); i += 2 {
		if i > 0 {
			b.WriteByte(' ')
		}
		if i/2 == most && len(hex)/2 > most+2 {
			fmt.Fprintf(&b, "... (%d bytes)", len(hex)/2)
			break
		}
		b.WriteString(hex[i : i+2])
	}
	return b.String()
}
