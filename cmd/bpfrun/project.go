package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bpfrun/bpfrun/internal/project"
)

// projectVariable names the environment variable that names the project file, or is off.
const projectVariable = "BPFRUN_PROJECT"

// thresholdFlags are the thresholds of project files: the flag that each sets, and of which
// commands.
var thresholdFlags = []struct {
	name, flag string
	commands   []string
	check      func(text string) error // what the flag takes
}{
	{"coverage", "cover-min", []string{"bpfrun test", "bpfrun cover merge"}, checkShare},
	{"insns-growth", "max-insns-growth", []string{"bpfrun diff"}, checkGrowth},
	{"size-growth", "max-size-growth", []string{"bpfrun diff"}, checkGrowth},
	{"stack-growth", "max-stack-growth", []string{"bpfrun diff"}, checkGrowth},
	{"oldest", "at-least", []string{"bpfrun require"}, checkRelease},
}

func checkShare(text string) error   { _, err := parseShare(text); return err }
func checkGrowth(text string) error  { _, err := parseGrowth(text); return err }
func checkRelease(text string) error { _, err := parseRelease(text); return err }

// pathFlags are global flags whose values are files.
var pathFlags = []string{"module-btf", "kconfig", "kallsyms"}

// projectFlags are the global flags that a project file may set: those about kernels, objects and
// the machine. Flags that name files to write are not among them, so that a project file in a
// checkout of others writes nothing.
func projectFlags() []string {
	var out []string
	for _, g := range flagGroups {
		if g.name != "output" {
			out = append(out, g.flags...)
		}
	}
	return slices.DeleteFunc(out, func(name string) bool { return name == "btf" }) // kernels:
}

// projectFile is the project file of a command line, read when it is first asked for.
type projectFile struct {
	// note tells the user something; others are the flags of all commands. Both are set before the
	// file is read.
	note   func(format string, args ...any)
	others func() []string

	once sync.Once
	file *project.File
	err  error
}

// allFlags returns the names of the flags of a command and those below it.
func allFlags(cmd *cobra.Command) (out []string) {
	add := func(f *pflag.Flag) { out = append(out, f.Name) }
	cmd.PersistentFlags().VisitAll(add)
	cmd.Flags().VisitAll(add)
	for _, c := range cmd.Commands() {
		out = append(out, allFlags(c)...)
	}
	return out
}

// get returns the file; nil if there is none.
func (p *projectFile) get() (*project.File, error) {
	p.once.Do(func() {
		path := os.Getenv(projectVariable)
		switch path {
		case "off":
			return
		case "":
			here, err := os.Getwd()
			if err != nil {
				return
			}
			if path = project.Find(here); path == "" {
				return
			}
			if rel, err := filepath.Rel(here, path); err == nil {
				path = rel
			}
		}
		var names []string
		for _, t := range thresholdFlags {
			names = append(names, t.name)
		}
		if f := (&project.File{Path: path}); os.Getenv(projectVariable) == "" && !f.Own() {
			if f.Shared() {
				p.note("%s is not used: it belongs to another user, in a directory where everybody may put files (%s=%s uses it)", path, projectVariable, path)
				return
			}
			p.note("%s belongs to another user: its kernels, flags and thresholds apply (%s=off uses no project file)", path, projectVariable)
		}
		if p.file, p.err = project.Read(path, project.Names{Flags: projectFlags(), Thresholds: names, Other: p.others()}); errors.Is(p.err, fs.ErrNotExist) {
			p.err = usagef("%s=%s: no such file (off uses no project file)", projectVariable, path)
		} else if p.err == nil {
			p.err = checkThresholds(p.file)
		} else {
			p.err = usageError{p.err}
		}
	})
	return p.file, p.err
}

// checkThresholds refuses the first value that the flag of its threshold would refuse, with its
// place in the file.
func checkThresholds(f *project.File) error {
	for _, s := range f.Thresholds {
		for _, t := range thresholdFlags {
			for _, v := range s.Values {
				if s.Text != t.name {
					continue
				}
				if err := t.check(v.Text); err != nil {
					return usagef("%s: %s: %w", v.Pos, s.Text, err)
				}
			}
		}
	}
	return nil
}

// fromProject marks flags whose values the project file gave.
const fromProject = "bpfrun_project"

// applyProject gives a command what the project file says and the command line does not.
func (a *app) applyProject(cmd *cobra.Command) error {
	limited := false
	for _, t := range thresholdFlags {
		limited = limited || slices.Contains(t.commands, cmd.CommandPath())
	}
	if flagUse[cmd.CommandPath()] == "" && !limited || cmd.Name() == "doctor" { // which tells what is wrong with it
		return nil
	}
	f, err := a.project.get()
	if f == nil || err != nil {
		return err
	}
	for _, k := range f.Kernels {
		a.kernels.project = append(a.kernels.project, k.Text)
	}
	var errs []error
	set := func(fl *pflag.Flag, s project.Setting) {
		for i, v := range s.Values {
			text := v.Text
			if slices.Contains(pathFlags, fl.Name) {
				text = f.Join(text)
			}
			if i > 0 && fl.Value.Type() != "stringArray" {
				errs = append(errs, usagef("%s: %s takes one value", v.Pos, s.Text))
				return
			}
			if err := cmd.Flags().Set(fl.Name, text); err != nil && wanted(fl) != "" {
				errs = append(errs, usagef("%s: %s %q: want %s", v.Pos, s.Text, v.Text, wanted(fl)))
				return
			} else if err != nil {
				errs = append(errs, usagef("%s: %s: %w", v.Pos, s.Text, err))
				return
			}
		}
		_ = cmd.Flags().SetAnnotation(fl.Name, fromProject, nil)
	}
	for _, s := range f.Flags {
		if fl := cmd.Flags().Lookup(s.Text); fl != nil && !fl.Changed && usesFlag(cmd, s.Text) {
			set(fl, s)
		}
	}
	for _, t := range thresholdFlags {
		for _, s := range f.Thresholds {
			if fl := cmd.Flags().Lookup(t.flag); s.Text == t.name && slices.Contains(t.commands, cmd.CommandPath()) && fl != nil && !fl.Changed {
				set(fl, s)
			}
		}
	}
	return errors.Join(errs...)
}

// takesObjects reports whether a command takes objects that a project file can name: those whose
// only arguments are objects.
func takesObjects(cmd *cobra.Command) bool {
	_, args, _ := strings.Cut(cmd.Use, " ")
	return strings.HasPrefix(args, "OBJECT") && cmd.HasParent() && flagUse[cmd.CommandPath()] != ""
}

// nameObjects lets the project file name the objects of commands that get none.
func (a *app) nameObjects(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		a.nameObjects(cmd)
		if !takesObjects(cmd) || cmd.RunE == nil {
			continue
		}
		check, run := cmd.Args, cmd.RunE
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			args, err := a.withObjects(args)
			if err != nil || check == nil {
				return err
			}
			return check(cmd, args)
		}
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			args, err := a.withObjects(args)
			if err != nil {
				return err
			}
			return run(cmd, args)
		}
	}
}

// withObjects returns the arguments, or if there are none the objects of the project file.
func (a *app) withObjects(args []string) ([]string, error) {
	if len(args) > 0 {
		return args, nil
	}
	f, err := a.project.get()
	if f == nil || err != nil {
		return nil, err
	}
	objects, err := project.Match(f.Objects, true)
	if err != nil {
		return nil, usageError{err}
	}
	return objects, nil
}
