package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bpfrun/bpfrun/internal/nearest"
)

// flagError describes the error of a flag, and where an unknown flag may belong.
func flagError(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		switch f := invalid.GetFlag(); {
		case f.Value.Type() == "bool":
			return usagef("--%s=%s: want true or false, or --%s alone", f.Name, invalid.GetValue(), f.Name)
		case wanted(f) != "":
			return usagef("--%s %q: want %s", f.Name, invalid.GetValue(), wanted(f))
		}
	}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		if hint := belongs(cmd, unknown); hint != "" {
			return usagef("%w (%s)", err, hint)
		}
	}
	return usagef("%w (see %s --help)", err, cmd.CommandPath())
}

// wanted says what a flag takes, "" if its own errors do.
func wanted(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "int":
		return "a whole number"
	case "uint", "uint64":
		return "a whole number from 0 to 2^64-1"
	case "duration":
		return "a time with its unit, such as 30s or 5m"
	case "bool":
		return "true or false"
	}
	return ""
}

// belongs finds the flag that may have been meant: the same flag of run if no command was given, or
// one with a similar name.
func belongs(cmd *cobra.Command, unknown *pflag.NotExistError) string {
	name := unknown.GetSpecifiedName()
	short := unknown.GetSpecifiedShortnames() != ""
	if cmd == cmd.Root() {
		run, _, err := cmd.Find([]string{"run"})
		if err == nil && short && run.Flags().ShorthandLookup(name[:1]) != nil {
			return "a flag of bpfrun run: bpfrun run OBJECT -" + name[:1] + " ..."
		}
		if err == nil && !short && run.Flags().Lookup(name) != nil {
			return "a flag of bpfrun run: bpfrun run OBJECT --" + name + " ..."
		}
	}
	if short {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	near := nearest.Names(name, names, edits(name))
	if len(near) == 0 {
		return ""
	}
	return "nearest: --" + strings.Join(near, ", --")
}

// edits returns the maximum edit distance to a similar name. Short names allow more for their
// length, since transposing two letters counts as two edits.
func edits(name string) int {
	if len(name) <= 3 {
		return (len(name) + 1) / 2
	}
	return min(2, len(name)/3)
}

// noCommand refuses a first argument that is not a file and looks like a command.
func noCommand(root *cobra.Command, arg string) error {
	if _, err := os.Stat(arg); !errors.Is(err, fs.ErrNotExist) || filepath.Base(arg) != arg || filepath.Ext(arg) != "" {
		return nil
	}
	names := commandNames(root)
	hint := "see bpfrun --help"
	if near := nearest.Names(arg, names, edits(arg)); len(near) > 0 {
		hint = "nearest: " + strings.Join(near, ", ")
	}
	return usagef("%s: no such file, and no command of that name (%s)", arg, hint)
}
