package main

import (
	"fmt"

	"github.com/spf13/pflag"
)

// listFlag is the value of a flag that may be repeated, as pflag's stringArray. That one makes a
// CSV writer for each such flag of each command before any is used.
type listFlag struct{ to *[]string }

// listVar defines a flag that may be repeated. short may be empty.
func listVar(f *pflag.FlagSet, to *[]string, name, short, usage string) {
	f.VarP(listFlag{to}, name, short, usage)
}

// Set appends a value.
func (l listFlag) Set(v string) error {
	*l.to = append(*l.to, v)
	return nil
}

// Type is that of pflag's flag: it decides how help and completion show the flag.
func (l listFlag) Type() string { return "stringArray" }

// String shows the values.
func (l listFlag) String() string {
	if l.to == nil || len(*l.to) == 0 {
		return "[]"
	}
	return fmt.Sprintf("%q", *l.to)
}
