package grammar

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/nearest"
)

// Pos is a position in a scenario file; line and column count from 1.
type Pos struct {
	File      string
	Line, Col int
}

// String is "file:line:col".
func (p Pos) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col) }

// Error is a mistake in a scenario file.
type Error struct {
	Pos
	Text    string
	Nearest []string // existing names that are similar, nearest first
	Err     error    // the cause, or nil
	Follows bool     // caused by another mistake: a reference to an object that could not be created
	Missing string   // the name that does not exist
}

// Error is "file:line:col: text (nearest: ...)".
func (e *Error) Error() string {
	s := e.Pos.String() + ": " + e.Text
	if len(e.Nearest) > 0 {
		s += " (nearest: " + strings.Join(e.Nearest, ", ") + ")"
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns a mistake at the node's position.
func (n *Node) Errorf(format string, args ...any) *Error {
	return &Error{Pos: n.Pos, Text: fmt.Sprintf(format, args...)}
}

// Unknown returns an error about a name that does not exist, with similar names.
func (n *Node) Unknown(what, name string, names []string) *Error {
	e := n.Errorf("unknown %s %s", what, Brief(name))
	e.Missing = name
	e.Nearest = nearest.Like(name, names)
	if len(e.Nearest) == 0 && len(names) > 0 && len(names) <= 12 {
		e.Text += fmt.Sprintf(" (available: %s)", strings.Join(names, ", "))
	}
	return e
}

// Placed is like wrap, for an error that may join several mistakes with positions of their own.
func (n *Node) Placed(what string, err error) error {
	var all Errors
	if errors.As(err, &all) {
		return all
	}
	return n.Wrap(what, err)
}

// Wrap adds the node's position to an error of the kernel or of BTF.
func (n *Node) Wrap(what string, err error) *Error {
	var already *Error
	if errors.As(err, &already) {
		if what != "" && strings.HasPrefix(already.Text, "(") { // the type of an unnamed value
			already.Text = what + " " + already.Text
		}
		return already
	}
	e := &Error{Pos: n.Pos, Text: what, Err: err}
	if what != "" {
		e.Text += ": "
	}
	var path *object.PathError
	var value *object.ValueError
	var bpath *btf.PathError
	var bvalue *btf.ValueError
	switch {
	case errors.As(err, &path):
		e.Text += fmt.Sprintf("no field %q in %s", path.Name, path.Type)
		if errors.Is(err, object.ErrBadPath) {
			e.Text = strings.TrimLeft(what+": ", ": ") + fmt.Sprintf("%s: %q does not fit %s", path.Path, path.Name, path.Type)
		}
		e.Nearest = path.Nearest
	case errors.As(err, &value):
		if value.Path != "" {
			e.Text += value.Path + " "
		}
		e.Text += fmt.Sprintf("(%s) cannot be %s: %s", value.Type, Brief(value.Value), value.Why)
	case errors.As(err, &bpath):
		e.Text += fmt.Sprintf("%q in %s: %s", bpath.Path, bpath.Root, bpath.Detail)
		e.Nearest = bpath.Nearest
	case errors.As(err, &bvalue):
		if bvalue.Path != "" {
			e.Text += bvalue.Path + " "
		}
		e.Text += fmt.Sprintf("(%s): %s", bvalue.Type, bvalue.Detail)
		e.Nearest = bvalue.Nearest
	default:
		e.Text += err.Error()
	}
	return e
}

// Brief shortens a value for a message.
func Brief(v any) string {
	s := fmt.Sprint(v)
	switch t := v.(type) {
	case nil:
		s = "null"
	case string:
		s = fmt.Sprintf("%q", t)
	}
	if len(s) > 60 {
		s = s[:60] + "..."
	}
	return s
}
