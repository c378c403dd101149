// Package project reads bpfrun.yaml, a file with what all commands in a directory and below it have
// in common: kernels, objects, flags, thresholds, and how the project compiles its objects.
//
// It knows the file's keys and where the file is. What a flag or a threshold means is the
// command's. Start from [Find] and [Read].
package project

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/nearest"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

// Name is the name of the file.
const Name = "bpfrun.yaml"

// maxFile limits the size of the file in bytes.
const maxFile = 1 << 20

// Value is a text in the file.
type Value struct {
	scenario.Pos
	Text string
}

// Setting is a flag or a threshold with its values.
type Setting struct {
	Value  // the name
	Values []Value
}

// File is a project file.
type File struct {
	Path string
	// Kernels are names as --btf takes them; paths are relative to the file's directory and exist
	// there.
	Kernels []Value
	// Objects and Watch are patterns of files, with the file's directory.
	Objects, Watch []Value
	// Build is a command line for the shell, in the file's directory; "" for none.
	Build string
	// Flags are global flags of the command, Thresholds limits that some commands check.
	Flags, Thresholds []Setting
}

// Dir is the directory of the file.
func (f *File) Dir() string { return filepath.Dir(f.Path) }

// Error is a mistake in the file.
type Error struct {
	scenario.Pos
	Text string
}

func (e *Error) Error() string { return e.Pos.String() + ": " + e.Text }

// Find returns the path of the file in a directory or the nearest one above it, up to the directory
// of a repository; "" if there is none.
func Find(dir string) string {
	for {
		path := filepath.Join(dir, Name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return ""
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// keys are those of the file.
var keys = []string{"kernels", "objects", "watch", "build", "flags", "thresholds"}

// Names are what a file may set.
type Names struct {
	Flags, Thresholds []string
	// Other are flags that exist but that a file may not set, such as those that name files to
	// write.
	Other []string
}

// Read reads a file.
func Read(path string, names Names) (*File, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return nil, err
	}
	f := &File{Path: path}
	if len(data) > maxFile {
		return nil, &Error{scenario.Pos{File: path, Line: 1, Col: 1}, fmt.Sprintf("the file is larger than %d bytes", maxFile)}
	}
	if onlyComments(string(data)) {
		return f, nil
	}
	root, err := grammar.ReadNode(path, data)
	if err != nil {
		return nil, err
	}
	if root.Kind == grammar.Null {
		return f, nil
	}
	if root.Kind != grammar.Mapping {
		return nil, &Error{root.Pos, "want keys: " + strings.Join(keys, ", ")}
	}
	for _, p := range root.Pairs {
		if err := f.read(p, names); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func onlyComments(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return false
		}
	}
	return true
}

func (f *File) read(p scenario.Pair, names Names) (err error) {
	switch p.Key.Text {
	case "kernels":
		if f.Kernels, err = values(p.Value); err == nil {
			for i, k := range f.Kernels {
				if f.Kernels[i].Text, err = f.kernel(k); err != nil {
					return err
				}
			}
		}
	case "objects":
		f.Objects, err = f.patterns(p.Value)
	case "watch":
		f.Watch, err = f.patterns(p.Value)
	case "build":
		if p.Value.Kind != grammar.Scalar || p.Value.Text == "" {
			return &Error{p.Value.Pos, "build: want a command line, such as make"}
		}
		f.Build = p.Value.Text
	case "flags":
		f.Flags, err = settings(p.Value, "flag", names.Flags, names.Other)
	case "thresholds":
		f.Thresholds, err = settings(p.Value, "threshold", names.Thresholds, nil)
	default:
		return unknown(p.Key, "key", keys)
	}
	return err
}

// unknown is the error for a name that does not exist.
func unknown(n *grammar.Node, what string, names []string) error {
	text := fmt.Sprintf("unknown %s %q", what, n.Text)
	if near := nearest.Like(n.Text, names); len(near) > 0 {
		text += " (nearest: " + strings.Join(near, ", ") + ")"
	} else {
		text += " (available: " + strings.Join(names, ", ") + ")"
	}
	return &Error{n.Pos, text}
}

// values reads a text or a list of texts.
func values(n *grammar.Node) ([]Value, error) {
	items := n.Items
	if n.Kind == grammar.Scalar {
		items = []*grammar.Node{n}
	} else if n.Kind != grammar.Sequence {
		return nil, &Error{n.Pos, "want a text or a list of texts"}
	}
	var out []Value
	for _, i := range items {
		if i.Kind != grammar.Scalar || i.Text == "" {
			return nil, &Error{i.Pos, "want a text"}
		}
		out = append(out, Value{i.Pos, i.Text})
	}
	return out, nil
}

// settings reads names with values; each name has to be one of names. Those of others are known and
// refused.
func settings(n *grammar.Node, what string, names, others []string) ([]Setting, error) {
	if n.Kind != grammar.Mapping {
		return nil, &Error{n.Pos, "want a mapping of " + what + "s: " + strings.Join(names, ", ")}
	}
	var out []Setting
	for _, p := range n.Pairs {
		if !slices.Contains(names, p.Key.Text) {
			if slices.Contains(others, p.Key.Text) {
				return nil, &Error{p.Key.Pos, fmt.Sprintf("the %s %q cannot be set in this file (available: %s)", what, p.Key.Text, strings.Join(names, ", "))}
			}
			return nil, unknown(p.Key, what, names)
		}
		v, err := values(p.Value)
		if err != nil {
			return nil, err
		}
		out = append(out, Setting{Value{p.Key.Pos, p.Key.Text}, v})
	}
	return out, nil
}

// kernel makes a name a path if that is one in the file's directory: a file, a directory or a
// pattern that matches.
func (f *File) kernel(name Value) (string, error) {
	path := f.Join(name.Text)
	found, err := glob(path)
	switch {
	case errors.Is(err, errMany):
		return "", &Error{name.Pos, err.Error()}
	case err == nil && len(found) > 0:
		return path, nil
	}
	return name.Text, nil
}

// Join returns a path in the file relative to the working directory of the command; absolute ones
// stay as they are.
func (f *File) Join(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(f.Dir(), filepath.FromSlash(path))
}

func (f *File) patterns(n *grammar.Node) ([]Value, error) {
	list, err := values(n)
	for i := range list {
		list[i].Text = f.Join(list[i].Text)
		if _, bad := filepath.Match(list[i].Text, ""); bad != nil {
			return nil, &Error{list[i].Pos, fmt.Sprintf("%q is no pattern of files", list[i].Text)}
		}
	}
	return list, err
}

// Match returns the files that patterns match, each once, in the order of the patterns. A pattern
// without a match is an error where required is set.
func Match(patterns []Value, required bool) ([]string, error) {
	var out []string
	seen := map[string]bool{}
	for _, p := range patterns {
		found, err := glob(p.Text)
		if errors.Is(err, errMany) {
			return nil, &Error{p.Pos, err.Error()}
		}
		if err != nil || len(found) == 0 && required {
			return nil, &Error{p.Pos, fmt.Sprintf("no file matches %s", p.Text)}
		}
		for _, path := range found {
			if !seen[path] {
				seen[path] = true
				out = append(out, path)
			}
		}
	}
	return out, nil
}
