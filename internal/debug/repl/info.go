package repl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/bpfrun/bpfrun/internal/debug"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// infoTable holds the subcommands of info.
var infoTable = map[string]struct {
	short string
	run   func(r *REPL, args string) error
}{
	"args":        {"the arguments of the function, and of the program's hook", infoArgs},
	"breakpoints": {"breakpoints and watchpoints", infoBreaks},
	"checkpoints": {"checkpoints", infoCheckpoints},
	"frame":       {"the selected function", infoFrame},
	"line":        {"the instructions of a line", infoLine},
	"packets":     {"packets of the capture", infoPackets},
	"runs":        {"runs of the scenario", infoRuns},
	"source":      {"the current source file and where its text comes from", infoSource},
	"sources":     {"source files", infoSources},
	"stack":       {"the active functions", infoStack},
	"symbol":      {"what is at an address", infoSymbol},
	"types":       {"types of the object, optionally only those whose names contain a text", infoTypes},
	"watchpoints": {"watchpoints", infoWatches},
	"cpus":        {"what each CPU does", infoCPUs},
	"ctx":         {"what the program was called with", infoContext},
	"display":     {"expressions that are displayed", infoDisplay},
	"events":      {"records sent to user space in this run", infoEvents},
	"functions":   {"programs and subprograms", infoFunctions},
	"helpers":     {"helpers and kfuncs that programs call", infoHelpers},
	"kernel":      {"accesses of kernel memory in this run", infoKernel},
	"locals":      {"local variables and arguments, from DWARF", infoLocals},
	"maps":        {"maps with their number of elements", infoMaps},
	"packet":      {"the headers of the packet", infoPacket},
	"programs":    {"programs, and whether they can run", infoPrograms},
	"registers":   {"registers of the selected frame", infoRegisters},
	"relocs":      {"the CO-RE changes in this program", infoRelocs},
	"variables":   {"global variables and their values", infoVariables},
}

// infoShort maps familiar abbreviations to subcommands that they do not select uniquely.
var infoShort = map[string]string{
	"a": "args", "b": "breakpoints", "br": "breakpoints", "break": "breakpoints", "c": "checkpoints", "e": "events", "f": "frame", "h": "helpers", "k": "kernel", "l": "locals",
	"lo": "locals", "m": "maps", "p": "packet", "r": "registers", "s": "stack", "v": "variables", "w": "watchpoints", "func": "functions", "fu": "functions",
	"all-registers": "registers", "source": "source", "packet": "packet",
}

func infoNames() []string {
	out := make([]string, 0, len(infoTable))
	for n := range infoTable {
		out = append(out, n)
	}
	sort.Strings(out)
	return out
}

func infoWords() string {
	names := infoNames()
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

func info(r *REPL, _ context.Context, args string) error {
	if args == "" {
		for _, n := range infoNames() {
			r.printf("  info %-12s %s\n", n, infoTable[n].short)
		}
		return nil
	}
	args, rest := splitCommand(args)
	if name, ok := infoShort[args]; ok {
		args = name
	}
	var found []string
	for _, n := range infoNames() {
		if n == args {
			found = []string{n}
			break
		}
		if strings.HasPrefix(n, args) {
			found = append(found, n)
		}
	}
	switch len(found) {
	case 1:
		return infoTable[found[0]].run(r, rest)
	case 0:
		return fmt.Errorf("no info %q: want %s", args, infoWords())
	}
	return fmt.Errorf("info %q is ambiguous: %s", args, strings.Join(found, ", "))
}

func (r *REPL) lines(list []string, none string) error {
	if len(list) == 0 {
		r.printf("%s\n", none)
	}
	for _, l := range list {
		r.printf("%s\n", l)
	}
	return nil
}

func infoArgs(r *REPL, _ string) error {
	list, err := r.s.Arguments()
	if err != nil {
		return err
	}
	return r.lines(list, "No arguments known here.")
}

func infoBreaks(r *REPL, _ string) error {
	var list []string
	for _, b := range r.s.Breakpoints() {
		list = append(list, describe(b))
		for _, c := range b.Commands {
			list = append(list, "      "+c)
		}
	}
	for _, w := range r.s.Watches() {
		list = append(list, describeWatch(w))
	}
	return r.lines(list, "No breakpoints or watchpoints.")
}

func infoWatches(r *REPL, _ string) error {
	var list []string
	for _, w := range r.s.Watches() {
		list = append(list, describeWatch(w))
	}
	return r.lines(list, "No watchpoints.")
}

func infoFrame(r *REPL, _ string) error {
	frames, err := r.s.Frames()
	if err != nil {
		return err
	}
	f := frames[r.s.SelectedFrame()]
	r.printf("#%d %s of %s\n", f.Level, f, f.Place.Prog.Name)
	if f.Inlined {
		r.printf("inlined into %s\n", frames[f.Level+1].Func)
	}
	if f.Callback {
		r.printf("called back by a helper\n")
	}
	if f.Level+1 < len(frames) {
		r.printf("called by %s\n", frames[f.Level+1])
	}
	r.printf("r10 = %#x, after %s of the run\n", f.FP, plural(int(r.s.Pos()), "instruction"))
	return nil
}

func infoStack(r *REPL, args string) error { return r.one(context.Background(), "backtrace "+args) }

func infoLine(r *REPL, args string) error {
	places := []debug.Place{r.s.Here()}
	if args != "" {
		var err error
		if places, _, err = r.s.Locate(args); err != nil {
			return err
		}
	}
	for _, p := range places {
		if p.Prog == nil {
			return debug.ErrIdle
		}
		l, ok := r.s.LineAt(p)
		if !ok {
			r.printf("No line information for %s.\n", p)
			continue
		}
		lo, hi := r.s.LineRange(p)
		r.printf("Line %d of %s is insn %d to %d of %s.\n", l.Line, l.File, lo, hi-1, p.Prog.Name)
	}
	return nil
}

func infoSource(r *REPL, _ string) error {
	l, ok := r.s.LineAt(r.s.Here())
	if !ok {
		return errors.New("no source file is current")
	}
	from := "the lines stored in the line information"
	if r.s.HasSource(l.File) {
		from = "the file"
	}
	r.printf("%s, shown from %s; lines by %s.\n", l.File, from, r.s.LineSource(r.s.Here()))
	return nil
}

func infoSources(r *REPL, text string) error {
	return r.lines(having(r.s.Files(), text), "No source files: the object has no line information.")
}

func infoSymbol(r *REPL, args string) error {
	v, err := r.s.Eval(args)
	if err != nil {
		return err
	}
	addr, err := r.s.Address(v)
	if err != nil {
		return err
	}
	r.printf("%s\n", r.s.WhatIs(addr))
	return nil
}

func infoTypes(r *REPL, text string) error {
	return r.lines(r.s.ObjectTypes(text), "No such types in the object.")
}

func infoRuns(r *REPL, _ string) error {
	var list []string
	for _, c := range r.s.Cases() {
		list = append(list, fmt.Sprintf("%s: %s", c.Name, c.Prog))
	}
	return r.lines(list, "The session has no scenario.")
}

func infoCheckpoints(r *REPL, _ string) error {
	var list []string
	for _, c := range r.s.Checkpoints() {
		list = append(list, fmt.Sprintf("%-3d after %d instructions: %s", c.ID, c.Pos, c.Note))
	}
	return r.lines(list, "No checkpoints.")
}

func infoContext(r *REPL, _ string) error {
	text, err := r.s.ContextText()
	if err != nil {
		return err
	}
	r.printf("%s\n", visible.Lines(text))
	return nil
}

func infoDisplay(r *REPL, _ string) error {
	var list []string
	for _, d := range r.shown {
		list = append(list, fmt.Sprintf("%-3d %s", d.id, d.expr))
	}
	return r.lines(list, "Nothing is displayed.")
}

func infoEvents(r *REPL, _ string) error { return r.lines(r.s.Events(), "No events yet.") }

func infoFunctions(r *REPL, text string) error {
	return r.lines(having(r.s.Functions(), text), "No functions.")
}

// having returns the elements of a list that contain a text.
func having(list []string, text string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return !strings.Contains(s, text) })
}

func infoHelpers(r *REPL, _ string) error {
	return r.lines(r.s.HelperNames(), "No program calls a helper.")
}

func infoKernel(r *REPL, _ string) error {
	reads, writes := r.s.KernelReads()
	var list []string
	in := func(program string) string { // after a tail call, the instruction is another program's
		if program == r.s.Program() {
			return ""
		}
		return program + " "
	}
	for _, a := range reads {
		note := ""
		if !a.Relocated {
			note = ", not relocated"
		}
		list = append(list, fmt.Sprintf("%sinsn %d reads %s.%s of %s (%d bytes%s)", in(a.Program), a.Insn, a.Type, a.Path, a.Role, a.Size, note))
	}
	for _, a := range writes {
		list = append(list, fmt.Sprintf("%sinsn %d writes %s.%s of %s (%d bytes)", in(a.Program), a.Insn, a.Type, a.Path, a.Role, a.Size))
	}
	return r.lines(list, "No kernel memory was accessed yet.")
}

func infoMaps(r *REPL, _ string) error {
	var list []string
	for _, m := range r.s.Maps() {
		text := fmt.Sprintf("%s: %s", m.Name, m.Type)
		switch {
		case m.Err != nil:
			text += ", not simulated"
		case m.Section:
			text += ", global variables"
		case m.Keys == "":
			text += ", " + plural(m.Entries, "record")
		default:
			text += fmt.Sprintf(" of %s to %s, %d of %d elements", m.Keys, m.Values, m.Entries, m.MaxEntries)
		}
		list = append(list, text)
	}
	return r.lines(list, "The object has no maps.")
}

func infoPacket(r *REPL, _ string) error {
	v, err := r.s.Eval("pkt")
	if err != nil {
		return err
	}
	h, err := r.s.Headers()
	if err != nil {
		return err
	}
	r.printf("%d bytes: %s\n", len(v.Data), h)
	for _, l := range h.Layers {
		x, err := r.s.Eval("pkt." + l.Path())
		if err != nil {
			return err
		}
		r.printf("%-7s at %d: %s\n", l.Path(), l.Off, r.s.Format(x, debug.FormatOptions{}))
	}
	if h.Cut != "" {
		r.printf("%s\n", h.Cut)
	}
	return nil
}

func infoPrograms(r *REPL, _ string) error {
	var list []string
	for _, lp := range r.s.Linked().Programs {
		text := fmt.Sprintf("%s: %s", lp.Name, lp.Hook)
		if _, ok := r.s.Machine().ImageOf(lp.Name); !ok {
			text += ", cannot be run"
			if err := r.s.Machine().ProgramError(lp.Name); err != nil {
				text += ": " + err.Error()
			}
		}
		list = append(list, text)
	}
	return r.lines(list, "The object has no programs.")
}

func infoRegisters(r *REPL, text string) error {
	regs, err := r.s.Registers()
	if err != nil {
		return err
	}
	for _, g := range regs {
		if text != "" && !slices.Contains(strings.Fields(text), g.Name) {
			continue
		}
		switch {
		case !g.Known:
			r.printf("%-4s clobbered by the call\n", g.Name)
		case g.Note != "":
			r.printf("%-4s %#-20x %s\n", g.Name, g.Value, g.Note)
		default:
			r.printf("%-4s %#-20x %d\n", g.Name, g.Value, int64(g.Value))
		}
	}
	if text != "" {
		return nil
	}
	r.printf("%-4s %d (after %d instructions)\n", "pc", r.s.Here().PC, r.s.Pos())
	return nil
}

func infoRelocs(r *REPL, _ string) error { return relo(r, context.Background(), "all") }

func infoVariables(r *REPL, text string) error {
	var list []string
	for _, n := range having(r.s.Variables(), text) {
		v, err := r.s.Eval(n)
		if err != nil {
			list = append(list, fmt.Sprintf("%s: %v", n, err))
			continue
		}
		list = append(list, fmt.Sprintf("%s = %s", n, r.s.Format(v, debug.FormatOptions{})))
	}
	return r.lines(list, "The object has no global variables.")
}

func infoLocals(r *REPL, _ string) error {
	locals, err := r.s.Locals()
	if err != nil {
		return err
	}
	var list []string
	for _, l := range locals {
		text := l.Name + " = "
		if l.Err != nil {
			text = l.Err.Error()
		} else {
			text += r.s.Format(l.Value, debug.FormatOptions{})
		}
		list = append(list, text)
	}
	return r.lines(list, "No local variables are visible here.")
}

// plural formats a count with its noun.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
