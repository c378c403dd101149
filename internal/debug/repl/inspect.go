package repl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/debug"
	"github.com/bpfrun/bpfrun/internal/visible"
)

const exprHelp = `Expressions are C with the types of the object and the kernel: variables, map elements (execs[4242].pid, m[KEY, CPU]),
ctx, current, pkt (pkt.ip.ttl), hook arguments by name, $r0 to $r10, $retval, $pc, $insns, $N (earlier values),
casts, container_of, offsetof, sizeof, ntohs, ntohl, bpf_htons and similar, arrays and slices (comm[0:4], list[0]@8 past the end), enumerators, "text".`

var lookCommands = []*command{
	{
		name: "print", aliases: []string{"p", "inspect", "call"}, args: "[/FORMAT] EXPR", topic: "looking", short: "evaluate an expression; with = assign",
		long: exprHelp + "\nFORMAT is x, d, u, o, t (binary), c, s (text), a (address) or f (everything, nothing cut).",
		run: func(r *REPL, _ context.Context, args string) error {
			letter, expr, err := format(args)
			if err != nil {
				return err
			}
			if expr == "" {
				expr = "$" // repeat the last value
			}
			v, err := r.value(expr)
			if err != nil {
				return err
			}
			r.printf("$%d = %s\n", r.s.Remember(v), visible.Lines(r.shownValue(v, letter)))
			return nil
		},
		complete: names,
	},
	{
		name: "display", args: "[/FORMAT] [EXPR]", topic: "looking", short: "print an expression at every stop; without one, print all displays now",
		run: func(r *REPL, _ context.Context, args string) error {
			expr, code := strings.CutPrefix(args, "/i ")
			var letter debug.FormatOptions
			if !code {
				var err error
				if letter, expr, err = format(args); err != nil {
					return err
				}
			}
			if expr != "" {
				r.nextID++
				r.shown = append(r.shown, display{r.nextID, expr, letter, code})
				r.display(r.shown[len(r.shown)-1])
				return nil
			}
			r.displays()
			return nil
		},
		complete: names,
	},
	{
		name: "undisplay", args: "[N]", topic: "looking", short: "remove a display, or all",
		run: undisplay,
	},
	{
		name: "whatis", args: "TYPE|EXPR|ADDRESS", topic: "looking", short: "show a type's declaration, an expression's type, or what is at an address",
		run: func(r *REPL, _ context.Context, args string) error {
			if args == "" {
				return errors.New("whatis: nothing given")
			}
			if addr, err := strconv.ParseUint(args, 0, 64); err == nil {
				r.printf("%s\n", r.s.WhatIs(addr))
				return nil
			}
			text, err := r.s.TypeText(args)
			if err != nil {
				return err
			}
			r.printf("%s\n", visible.Lines(text))
			if addr, ok := r.s.Points(args); ok {
				r.printf("%s\n", r.s.WhatIs(addr))
			}
			return nil
		},
		complete: names,
	},
	{
		name: "x", args: "[/NFU] EXPR", topic: "looking", short: "examine memory: N units of size U (b, h, w, g) in format F (x, d, u, o, t, c, a, s, i)", repeat: bare,
		long: "Format i shows instructions, at $pc, a slot or a function. Repeated, or without an expression, x continues where it stopped.",
		run:  examine, complete: names,
	},
	{
		name: "backtrace", aliases: []string{"bt", "where", "stack"}, args: "[N|full]", topic: "looking", short: "the active functions",
		run: func(r *REPL, _ context.Context, args string) error {
			frames, err := r.s.Frames()
			if err != nil {
				return err
			}
			full := args == "full"
			if args != "" && !full {
				n, err := strconv.Atoi(args)
				if err != nil || n == 0 {
					return fmt.Errorf("backtrace: %q is not a number of frames", args)
				}
				if n < 0 {
					frames = frames[max(len(frames)+n, 0):]
				} else {
					frames = frames[:min(n, len(frames))]
				}
			}
			for _, f := range frames {
				mark := " "
				if f.Level == r.s.SelectedFrame() {
					mark = "*"
				}
				note := ""
				switch {
				case f.Inlined:
					note = ", inlined"
				case f.Callback:
					note = ", called by a helper"
				}
				r.printf("%s#%d  %s%s\n", mark, f.Level, f, note)
				if full {
					r.localsOf(f.Level)
				}
			}
			return nil
		},
	},
	{
		name: "frame", aliases: []string{"f"}, args: "[N]", topic: "looking", short: "select a frame",
		run: func(r *REPL, _ context.Context, args string) error {
			n := r.s.SelectedFrame()
			if args != "" {
				var err error
				if n, err = number("frame", args); err != nil {
					return err
				}
			}
			return r.selectFrame(n)
		},
	},
	{
		name: "up", topic: "looking", short: "select the caller", repeat: same,
		run: func(r *REPL, _ context.Context, _ string) error { return r.selectFrame(r.s.SelectedFrame() + 1) },
	},
	{
		name: "down", topic: "looking", short: "select the called function", repeat: same,
		run: func(r *REPL, _ context.Context, _ string) error { return r.selectFrame(r.s.SelectedFrame() - 1) },
	},
	{
		name: "list", aliases: []string{"l"}, args: "[LOCATION|FROM,TO]", topic: "looking", short: "show source lines; repeat to continue, list - to go back", repeat: bare,
		long: "Without source files, only the lines stored in the line information are shown. Marks: > current line, * breakpoint, . code.",
		run:  list, complete: locations,
	},
	{
		name: "disas", aliases: []string{"disassemble"}, args: "[/f] [LOCATION]", topic: "looking", short: "show instructions around a location, with source lines and CO-RE changes",
		long: "With /f, show the whole function. Marks: => current instruction, * breakpoint.",
		run: func(r *REPL, _ context.Context, args string) error {
			p := r.s.Here()
			before, behind := 6, 12
			for strings.HasPrefix(args, "/") { // gdb's /m, /r and /s are ignored
				word, rest, _ := strings.Cut(args, " ")
				if strings.Contains(word, "f") {
					before, behind = 1<<20, 1<<20
				}
				args = strings.TrimSpace(rest)
			}
			if args != "" {
				var err error
				if p, err = r.single(args); err != nil {
					return err
				}
				if f, ok := p.Func(); ok && f.Name == args {
					before, behind = 1<<20, 1<<20
				}
			}
			if p.Prog == nil {
				return debug.ErrIdle
			}
			f, ok := p.Func()
			if !ok {
				return fmt.Errorf("no function has instruction %d", p.PC)
			}
			r.codeLines(r.s.Disassemble(p.Prog, max(f.Start, p.PC-before), min(f.Start+f.Len, p.PC+behind)), true)
			return nil
		},
		complete: locations,
	},
	{
		name: "relo", args: "[.|LOCATION|all]", topic: "looking", short: "show the CO-RE relocations of this line",
		run: relo, complete: locations,
	},
	{
		name: "diff", args: "[CHECKPOINT]", topic: "looking", short: "show what changed since a checkpoint (default: the last one)",
		run: func(r *REPL, _ context.Context, args string) error {
			id := len(r.s.Checkpoints())
			if args != "" {
				var err error
				if id, err = number("checkpoint", args); err != nil {
					return err
				}
			}
			if id == 0 {
				return errors.New("no checkpoint yet (set one with: checkpoint)")
			}
			list, err := r.s.Diff(id)
			if err != nil {
				return err
			}
			if len(list) == 0 {
				r.printf("Nothing differs.\n")
			}
			for _, d := range list {
				old, now := d.Old, d.New
				if old == "" {
					old = "none"
				}
				if now == "" {
					now = "none"
				}
				r.printf("%s: %s -> %s\n", d.Name, old, now)
			}
			return nil
		},
	},
	{
		name: "info", aliases: []string{"i"}, args: "WHAT", topic: "looking", short: "a list of " + infoWords(), run: info,
		complete: func(*REPL, string) []string { return infoNames() },
	},
	{
		name: "registers", aliases: []string{"regs"}, args: "[NAME...]", topic: "looking", short: "show the registers of the selected frame (info registers)",
		run: func(r *REPL, _ context.Context, args string) error { return infoRegisters(r, args) },
	},
}

var changeCommands = []*command{
	{
		name: "set", args: "EXPR = VALUE|OPTION VALUE", topic: "changing", short: "change a register, variable, map element, kernel field, packet byte or option",
		long: "The change becomes part of the run: going back undoes it, going forward repeats it. VALUE may be in braces: {pid = 1, comm = \"x\"}.",
		run: func(r *REPL, _ context.Context, args string) error {
			return setCommand(r, nil, args)
		},
		complete: func(r *REPL, word string) []string { return append(names(r, word), optionNames()...) },
	},
}

type display struct {
	id   int
	expr string
	opt  debug.FormatOptions
	code bool // instructions, /i
}

func (r *REPL) displays() {
	for _, d := range r.shown {
		r.display(d)
	}
}

func (r *REPL) display(d display) {
	if d.code {
		p, err := r.slot(d.expr)
		if err != nil {
			r.printf("%d: /i %s: %v\n", d.id, d.expr, err)
			return
		}
		r.printf("%d: /i %s\n", d.id, d.expr)
		r.codeLines(r.s.Disassemble(p.Prog, p.PC, p.PC+1), false)
		return
	}
	v, err := r.s.Eval(d.expr)
	if err != nil {
		r.printf("%d: %s: %v\n", d.id, d.expr, err)
		return
	}
	r.printf("%d: %s = %s\n", d.id, d.expr, r.s.Format(v, d.opt))
}

func undisplay(r *REPL, _ context.Context, args string) error {
	if args == "" {
		r.shown = nil
		return nil
	}
	for _, word := range strings.Fields(args) {
		id, err := number("display", word)
		if err != nil {
			return err
		}
		before := len(r.shown)
		r.shown = slices.DeleteFunc(r.shown, func(d display) bool { return d.id == id })
		if len(r.shown) == before {
			return fmt.Errorf("no display %d", id)
		}
	}
	return nil
}

// single returns the place of a location that must have exactly one.
func (r *REPL) single(location string) (debug.Place, error) {
	places, _, err := r.s.Locate(location)
	if err != nil {
		return debug.Place{}, err
	}
	if len(places) > 1 {
		// Prefer the place in the running program.
		here := r.s.Here().Prog
		var mine []debug.Place
		for _, p := range places {
			if p.Prog == here {
				mine = append(mine, p)
			}
		}
		if len(mine) == 1 {
			return mine[0], nil
		}
		return debug.Place{}, &debug.AmbiguousError{Location: location, Places: places}
	}
	return places[0], nil
}

// slot returns the instruction that an expression denotes: $pc, a slot number, or a location.
func (r *REPL) slot(expr string) (debug.Place, error) {
	here := r.s.Here()
	if v, err := r.s.Eval(expr); err == nil {
		n, err := r.s.Address(v)
		if p, ok := r.s.CodeAt(n); err == nil && ok {
			return p, nil
		}
		if err == nil && here.Prog != nil && n < uint64(len(here.Prog.Insns)) {
			return debug.Place{Prog: here.Prog, PC: int(n)}, nil
		}
	}
	return r.single(expr)
}

// value evaluates an expression or makes an assignment.
func (r *REPL) value(expr string) (*debug.Value, error) {
	if r.s.IsAssignment(expr) {
		return r.s.Assign(expr)
	}
	return r.s.Eval(expr)
}

// format splits "/x" off the arguments.
func format(args string) (opt debug.FormatOptions, rest string, err error) {
	if !strings.HasPrefix(args, "/") {
		return opt, args, nil
	}
	word, rest, _ := strings.Cut(args[1:], " ")
	for _, c := range []byte(word) {
		switch {
		case c == 'f':
			opt.Full = true
		case strings.IndexByte("xduotcsa", c) >= 0:
			opt.Letter = c
		default:
			return opt, "", fmt.Errorf("unknown format %q: want one of x d u o t c s a f", c)
		}
	}
	return opt, strings.TrimSpace(rest), nil
}

// localsOf shows the variables of an active function.
func (r *REPL) localsOf(level int) {
	was := r.s.SelectedFrame()
	defer func() { _ = r.s.SelectFrame(was) }() // it was selected before
	if err := r.s.SelectFrame(level); err != nil {
		return
	}
	locals, err := r.s.Locals()
	if err != nil {
		r.printf("      %v\n", err)
	}
	for _, l := range locals {
		if l.Err != nil {
			r.printf("      %v\n", l.Err)
		} else {
			r.printf("      %s = %s\n", l.Name, r.s.Format(l.Value, debug.FormatOptions{}))
		}
	}
}

func (r *REPL) selectFrame(n int) error {
	if err := r.s.SelectFrame(n); err != nil {
		return err
	}
	r.list = listing{}
	r.printf("#%d  ", n)
	r.here(false)
	return nil
}

// examined holds the settings of the last x command.
type examined struct {
	letter byte
	size   int
}

// examine runs x/NFU.
func examine(r *REPL, _ context.Context, args string) error {
	n, letter, size := 1, r.examined.letter, r.examined.size
	if size == 0 {
		letter, size = 'x', 8
	}
	code := false
	if strings.HasPrefix(args, "/") {
		word, rest, _ := strings.Cut(args[1:], " ")
		args = strings.TrimSpace(rest)
		i := 0
		for i < len(word) && word[i] >= '0' && word[i] <= '9' {
			i++
		}
		if i > 0 {
			var err error
			if n, err = strconv.Atoi(word[:i]); err != nil || n < 1 || n > 1<<16 {
				return fmt.Errorf("x: %s is too many units", word[:i])
			}
		}
		for _, c := range []byte(word[i:]) {
			switch c {
			case 'b':
				size = 1
			case 'h':
				size = 2
			case 'w':
				size = 4
			case 'g':
				size = 8
			case 'i':
				code = true
			case 'x', 'd', 'u', 's', 'o', 't', 'z':
				letter = c
			case 'a':
				letter, size = c, 8
			case 'c':
				letter, size = c, 1
			default:
				return fmt.Errorf("x: %q is neither a format nor a size", c)
			}
		}
	}
	if code {
		if args == "" {
			args = "$pc"
		}
		p, err := r.slot(args)
		if err != nil {
			return err
		}
		list := r.s.Disassemble(p.Prog, p.PC, min(p.PC+2*n, len(p.Prog.Insns)))
		r.codeLines(list[:min(n, len(list))], false)
		return nil
	}
	r.examined = examined{letter, size}
	addr := r.shownAt
	if args != "" {
		v, err := r.s.Eval(args)
		if err != nil {
			return err
		}
		if addr, err = r.s.Address(v); err != nil {
			return err
		}
	} else if addr == 0 {
		return errors.New("x: no address given")
	}
	if letter == 's' {
		for range n {
			text, err := r.s.StringAt(addr)
			if err != nil {
				return err
			}
			r.printf("%#x: %q\n", addr, text)
			addr += uint64(len(text)) + 1
		}
		r.shownAt = addr
		return nil
	}
	units, err := r.s.Examine(addr, size, n)
	r.shownAt = addr + uint64(size*len(units))
	perLine := 16 / size
	if letter == 'a' {
		perLine = 1
	}
	for i, u := range units {
		if i%perLine == 0 {
			if i > 0 {
				r.printf("\n")
			}
			r.printf("%#x:", addr+uint64(i*size))
		}
		switch letter {
		case 'a':
			r.printf(" %s", r.s.AddressText(u))
		case 'o':
			r.printf(" %#o", u)
		case 't':
			r.printf(" %0*b", 8*size, u)
		case 'x', 'z':
			r.printf(" 0x%0*x", 2*size, u)
		case 'd':
			shift := 64 - 8*size
			r.printf(" %d", int64(u<<shift)>>shift)
		case 'u':
			r.printf(" %d", u)
		case 'c':
			r.printf(" %q", rune(u))
		}
	}
	if len(units) > 0 {
		r.printf("\n")
		if note := r.s.Released(addr); note != "" {
			r.printf("%s\n", note)
		}
	}
	return err
}
