package repl

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/debug"
)

// listing is where the next list goes on.
type listing struct {
	file        string
	first, next uint32
}

const listed = 10

func list(r *REPL, _ context.Context, args string) error {
	var from, to uint32
	file := r.list.file
	switch {
	case args == "" && file != "":
		from, to = r.list.next, r.list.next+listed-1
	case args == "-":
		if file == "" || r.list.first <= 1 {
			return errors.New("list: already at the beginning")
		}
		from, to = max(r.list.first, listed+1)-listed, r.list.first-1
	default:
		if a, b, ok := strings.Cut(args, ","); ok {
			lo, err1 := strconv.ParseUint(strings.TrimSpace(a), 10, 31)
			hi, err2 := strconv.ParseUint(strings.TrimSpace(b), 10, 31)
			if err1 != nil || err2 != nil || hi < lo {
				return fmt.Errorf("list %s: want two line numbers", args)
			}
			f, _, err := r.s.ListAround("")
			if err != nil {
				return err
			}
			file, from, to = f, uint32(lo), uint32(min(hi, lo+1<<16))
			break
		}
		f, line, err := r.s.ListAround(args)
		if err != nil {
			return err
		}
		file, from = f, max(line, listed/2+1)-listed/2
		to = from + listed - 1
	}
	lines, err := r.s.List(file, from, to)
	if err != nil {
		return err
	}
	gap := false
	for _, l := range lines {
		if !l.Known {
			gap = true
			continue
		}
		if gap {
			r.printf("  ...\n")
			gap = false
		}
		mark := " "
		switch {
		case l.Current:
			mark = r.paint(green, ">")
		case l.Breakpoint != 0:
			mark = r.paint(yellow, "*")
		case l.Code:
			mark = "."
		}
		r.printf("%s %d\t%s\n", mark, l.Line, l.Text)
	}
	r.list = listing{file, from, to + 1}
	return nil
}

// codeLines shows instructions.
func (r *REPL) codeLines(lines []debug.CodeLine, source bool) {
	for _, l := range lines {
		if source && l.Function != "" {
			r.printf("%s:\n", r.paint(bold, l.Function))
		}
		if source && l.Source != "" {
			r.printf("; %s\n", l.Source)
		}
		mark := "  "
		if l.Current {
			mark = r.paint(green, "=>")
		}
		b := " "
		if l.Breakpoint != 0 {
			b = r.paint(yellow, "*")
		}
		text := l.Text
		if l.Reloc != nil {
			note := "CO-RE " + r.s.RelocText(l.Reloc)
			if l.Changed {
				note = r.paint(yellow, note)
			}
			text = fmt.Sprintf("%-36s ; %s", text, note)
		}
		r.printf("%s%s%4d: %s\n", mark, b, l.Place.PC, text)
	}
}

func relo(r *REPL, _ context.Context, args string) error {
	if args == "all" {
		lp := r.s.Here().Prog
		if lp == nil {
			return debug.ErrIdle
		}
		for i := range lp.Relocs {
			rel := &lp.Relocs[i]
			if rel.Relocation != nil {
				r.printf("%4d: %s\n", rel.Insn, r.s.RelocText(rel))
			}
		}
		return nil
	}
	p := r.s.Here()
	if args != "" && args != "." {
		places, _, err := r.s.Locate(args)
		if err != nil {
			return err
		}
		p = places[0]
	}
	if p.Prog == nil {
		return debug.ErrIdle
	}
	list := r.s.RelocsAt(p)
	if len(list) == 0 {
		r.printf("No CO-RE relocation belongs to %s.\n", p)
	}
	for _, rel := range list {
		r.printf("%4d: %s\n", rel.Insn, r.s.RelocText(rel))
	}
	return nil
}

// infoTable holds what info can list.
var infoTable = map[string]struct {
	short string
	run   func(r *REPL) error
}{
	"args":        {"the arguments of the hook", infoArgs},
	"breakpoints": {"breakpoints and watchpoints", infoBreaks},
	"checkpoints": {"checkpoints", infoCheckpoints},
	"ctx":         {"what the program was called with", infoContext},
	"display":     {"expressions that are displayed", infoDisplay},
	"events":      {"records sent to user space in this run", infoEvents},
	"functions":   {"programs and subprograms", infoFunctions},
	"helpers":     {"helpers and kfuncs that programs call", infoHelpers},
	"kernel":      {"accesses of kernel memory in this run", infoKernel},
	"locals":      {"local variables and arguments, by DWARF", infoLocals},
	"maps":        {"maps and how many elements they have", infoMaps},
	"packet":      {"the headers of the packet", infoPacket},
	"programs":    {"programs and whether they can be run", infoPrograms},
	"registers":   {"registers of the selected frame", infoRegisters},
	"relocs":      {"what CO-RE changed in this program", infoRelocs},
	"variables":   {"global variables and their values", infoVariables},
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
		return infoTable[found[0]].run(r)
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

func infoArgs(r *REPL) error {
	list, err := r.s.Arguments()
	if err != nil {
		return err
	}
	return r.lines(list, "The hook has no arguments that are known.")
}

func infoBreaks(r *REPL) error {
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

func infoCheckpoints(r *REPL) error {
	var list []string
	for _, c := range r.s.Checkpoints() {
		list = append(list, fmt.Sprintf("%-3d after %d instructions: %s", c.ID, c.Pos, c.Note))
	}
	return r.lines(list, "No checkpoints.")
}

func infoContext(r *REPL) error {
	text, err := r.s.ContextText()
	if err != nil {
		return err
	}
	r.printf("%s\n", text)
	return nil
}

func infoDisplay(r *REPL) error {
	var list []string
	for _, d := range r.shown {
		list = append(list, fmt.Sprintf("%-3d %s", d.id, d.expr))
	}
	return r.lines(list, "Nothing is displayed.")
}

func infoEvents(r *REPL) error { return r.lines(r.s.Events(), "No events yet.") }

func infoFunctions(r *REPL) error { return r.lines(r.s.Functions(), "No functions.") }

func infoHelpers(r *REPL) error { return r.lines(r.s.HelperNames(), "No program calls a helper.") }

func infoKernel(r *REPL) error {
	reads, writes := r.s.KernelReads()
	var list []string
	for _, a := range reads {
		note := ""
		if !a.Relocated {
			note = ", not relocated"
		}
		list = append(list, fmt.Sprintf("insn %d reads %s.%s of %s (%d bytes%s)", a.Insn, a.Type, a.Path, a.Role, a.Size, note))
	}
	for _, a := range writes {
		list = append(list, fmt.Sprintf("insn %d writes %s.%s of %s (%d bytes)", a.Insn, a.Type, a.Path, a.Role, a.Size))
	}
	return r.lines(list, "No kernel memory was accessed yet.")
}

func infoMaps(r *REPL) error {
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

func infoPacket(r *REPL) error {
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

func infoPrograms(r *REPL) error {
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

func infoRegisters(r *REPL) error {
	regs, err := r.s.Registers()
	if err != nil {
		return err
	}
	for _, g := range regs {
		switch {
		case !g.Known:
			r.printf("%-4s not kept by the call\n", g.Name)
		case g.Note != "":
			r.printf("%-4s %#-20x %s\n", g.Name, g.Value, g.Note)
		default:
			r.printf("%-4s %#-20x %d\n", g.Name, g.Value, int64(g.Value))
		}
	}
	r.printf("%-4s %d (after %d instructions)\n", "pc", r.s.Here().PC, r.s.Pos())
	return nil
}

func infoRelocs(r *REPL) error { return relo(r, context.Background(), "all") }

func infoVariables(r *REPL) error {
	var list []string
	for _, n := range r.s.Variables() {
		v, err := r.s.Eval(n)
		if err != nil {
			list = append(list, fmt.Sprintf("%s: %v", n, err))
			continue
		}
		list = append(list, fmt.Sprintf("%s = %s", n, r.s.Format(v, debug.FormatOptions{})))
	}
	return r.lines(list, "The object has no global variables.")
}

func infoLocals(r *REPL) error {
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

// plural counts things.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
