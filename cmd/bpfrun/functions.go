package main

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/loader"
)

// tracedFunction is a function that programs run for, with the cookie that they are attached to it
// with.
type tracedFunction struct {
	name   string
	cookie uint64
}

// parseFunctions parses NAME or NAME=COOKIE; all is every function.
func parseFunctions(values []string) ([]tracedFunction, error) {
	var out []tracedFunction
	for _, v := range values {
		name, cookie, has := strings.Cut(v, "=")
		f := tracedFunction{name: name}
		if has {
			var err error
			if f.cookie, err = strconv.ParseUint(cookie, 0, 64); err != nil {
				return nil, usagef("--function %s: the cookie %q is not a number", v, cookie)
			}
		}
		if name == "" {
			return nil, usagef("--function %s: want FUNCTION, FUNCTION=COOKIE or all", v)
		}
		out = append(out, f)
	}
	return out, nil
}

// runFunctions runs the programs that trace many functions for each of those chosen, and returns
// the names of the others.
func (c *runCommand) runFunctions(ctx context.Context, doc *report.RunDocument, m *machine.Machine, names []string, in machine.Input) ([]string, error) {
	chosen, err := parseFunctions(c.functions)
	if err != nil || len(chosen) == 0 {
		return names, err
	}
	var others []string
	for _, name := range names {
		lp, _ := m.Linked().Program(name)
		if !lp.SectionFlags.Has(progtype.Pattern) {
			others = append(others, name)
			continue
		}
		for _, f := range chosen {
			list := []string{f.name}
			if f.name == "all" {
				if list, err = m.FunctionsOf(name); err != nil {
					return nil, usagef("--function all: %w", err)
				}
			}
			for _, function := range list {
				if err := runFunction(ctx, doc, m, name, tracedFunction{function, f.cookie}, in); err != nil {
					return nil, err
				}
			}
		}
	}
	return others, nil
}

// runFunction runs a program for one function and adds the result to the document.
func runFunction(ctx context.Context, doc *report.RunDocument, m *machine.Machine, name string, f tracedFunction, in machine.Input) error {
	var err error
	if in.Hook, err = m.HookOf(name, f.name); err != nil {
		return usagef("--function %s: %w", f.name, err)
	}
	in.Cookie = f.cookie
	res, err := m.Run(ctx, name, in)
	switch {
	case errors.Is(err, context.Canceled):
		return codeError{exitInterrupted, errors.New("interrupted while running " + name + " for " + f.name)}
	case err != nil:
		return usageError{err}
	}
	doc.AddFunction(m, res, f.name)
	return nil
}

// checkFunctions refuses --function for objects without a program that takes it.
func (o runOptions) checkFunctions(obj *loader.Object) error {
	if len(o.functions) == 0 {
		return nil
	}
	for _, p := range obj.Programs {
		if p.SectionFlags.Has(progtype.Pattern) && o.chosen(p.Name) {
			return nil
		}
	}
	return usagef("--function: none of the programs traces several functions (kprobe.multi, kprobe.session, fentry.multi, uprobe.multi and the like)")
}
