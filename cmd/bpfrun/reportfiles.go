package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// reportKinds are the formats of -o and what they are for.
var reportKinds = []struct{ kind, about string }{
	{"html", "a page"},
	{"md", "Markdown"},
	{"junit", "for CI"},
	{"github", "annotations for GitHub Actions"},
}

// reportFiles is the flag -o KIND=FILE: the reports that a command writes beside its output.
type reportFiles struct {
	kinds []string
	given []string
	files map[string]string // set by check
}

// add defines the flag for the formats that the command has, by name in [reportKinds].
func (r *reportFiles) add(fl *pflag.FlagSet, kinds ...string) {
	r.kinds = kinds
	var list []string
	for _, k := range reportKinds {
		if slices.Contains(kinds, k.kind) {
			list = append(list, k.kind+"=FILE ("+k.about+")")
		}
	}
	text := list[0]
	if n := len(list); n > 1 {
		text = strings.Join(list[:n-1], ", ") + " or " + list[n-1]
	}
	listVar(fl, &r.given, "output", "o", "also write a report: "+strings.Replace(text, "=FILE", "=`FILE`", 1)+"; repeatable")
}

// check reads the flag, and checks before a long run that its files can be written.
func (r *reportFiles) check() error {
	want := strings.Join(r.kinds, "=FILE or ") + "=FILE"
	files, err := pairsOf("output", r.given, want)
	if err != nil {
		return err
	}
	for kind, path := range files {
		if !slices.Contains(r.kinds, kind) || path == "" {
			return usagef("-o %s=%s: want %s", kind, path, want)
		}
		if err := checkWritable(path); err != nil {
			return err
		}
	}
	r.files = files
	return nil
}

// wants reports whether a format was asked for.
func (r *reportFiles) wants(kind string) bool { return r.files[kind] != "" }

// write writes the report of a format, if it was asked for. What could control a terminal is
// escaped in it.
func (r *reportFiles) write(kind string, write func(io.Writer) error) error {
	path := r.files[kind]
	if path == "" {
		return nil
	}
	return writeText(path, write)
}

// checkWritable checks before a long run that its report can be written. It does not change
// existing files, and does not open pipes or devices.
func checkWritable(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil
	}
	f, openErr := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o666)
	if openErr != nil {
		return usageError{openErr}
	}
	f.Close()
	if errors.Is(err, fs.ErrNotExist) {
		return os.Remove(path)
	}
	return nil
}
