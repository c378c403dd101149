package repl

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/debug"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// listing is the position where the next list continues.
type listing struct {
	file        string
	first, next uint32
}

const listed = 10

func (r *REPL) lineCount() uint32 { return uint32(r.listSize) }

func list(r *REPL, _ context.Context, args string) error {
	var from, to uint32
	file := r.list.file
	switch {
	case args == "" && file != "":
		from, to = r.list.next, r.list.next+r.lineCount()-1
	case args == "-":
		if file == "" || r.list.first <= 1 {
			return errors.New("list: already at the beginning")
		}
		from, to = max(r.list.first, r.lineCount()+1)-r.lineCount(), r.list.first-1
	default:
		if a, b, ok := strings.Cut(args, ","); ok {
			name := "" // the file
			if i := strings.LastIndexByte(a, ':'); i > 0 {
				name, a = strings.TrimSpace(a[:i]), a[i+1:]
			}
			lo, err1 := strconv.ParseUint(strings.TrimSpace(a), 10, 31)
			hi, err2 := strconv.ParseUint(strings.TrimSpace(b), 10, 31)
			if err1 != nil || err2 != nil || hi < lo {
				return fmt.Errorf("list %s: want two line numbers, as in list 10,20 or list FILE:10,20", args)
			}
			where := ""
			if name != "" {
				where = name + ":" + strings.TrimSpace(a)
			}
			f, _, err := r.s.ListAround(where)
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
		half := r.lineCount() / 2
		file, from = f, max(line, half+1)-half
		to = from + r.lineCount() - 1
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
		r.printf("%s%s%4d: %s\n", mark, b, l.Place.PC, visible.Lines(text))
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
				r.printf("%4d: %s\n", rel.Insn, visible.Lines(r.s.RelocText(rel)))
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
		r.printf("%4d: %s\n", rel.Insn, visible.Lines(r.s.RelocText(rel)))
	}
	return nil
}
