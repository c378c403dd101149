package repl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// screen is the full-screen mode: source and registers at the top, then watches and command output,
// and the command line at the bottom. Its contents are collected after each command; resizing the
// terminal lays them out again.
type screen struct {
	mu    sync.Mutex
	on    bool
	out   io.Writer // the terminal
	size  func() (width, height int)
	state panes
	lines []string // the last lines of command output
	part  []byte   // the incomplete last line
}

// panes holds the contents shown at a stop, independent of the size.
type panes struct {
	title  string
	source []string // around the current line
	at     int      // index of the current line in source
	regs   []string
	watch  []string
}

// Sizes of the full screen.
const (
	keptLines  = 500 // lines of output
	aroundLine = 100 // lines of source on each side of the current one
	sideWidth  = 34  // width of the registers
	narrow     = 76  // minimum width that shows registers
)

var tuiCommand = &command{
	name: "tui", args: "[on|off]", topic: "other", short: "full-screen mode with source, registers, displays and output",
	long: "Needs a terminal. Repeat it, or use tui off, to leave.",
	run: func(r *REPL, _ context.Context, args string) error {
		if r.screen == nil {
			return errors.New("tui: this is not a terminal")
		}
		on := !r.screen.on
		if args != "" {
			if err := parseOnOff(args, &on); err != nil {
				return fmt.Errorf("tui %w", err)
			}
		}
		r.screen.turn(on)
		return nil
	},
}

// turn enters or leaves the mode, which uses the terminal's alternate screen.
func (x *screen) turn(on bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if on == x.on {
		return
	}
	x.on = on
	text := "\x1b[?1049l"
	if on {
		text = "\x1b[?1049h\x1b[2J"
		x.lines, x.part = nil, nil
	}
	_, _ = io.WriteString(x.out, text) // if the terminal is gone, the next read ends the session
}

// Write collects the output of commands while the mode is on.
func (x *screen) Write(b []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.on {
		return x.out.Write(b)
	}
	x.part = append(x.part, b...)
	for {
		i := bytes.IndexByte(x.part, '\n')
		if i < 0 {
			break
		}
		x.lines = append(x.lines, string(x.part[:i]))
		x.part = x.part[i+1:]
	}
	if n := len(x.lines) - keptLines; n > 0 {
		x.lines = append([]string(nil), x.lines[n:]...)
	}
	return len(b), nil
}

// show records what the session shows now and draws it.
func (r *REPL) show() {
	if r.screen == nil || !r.screen.on {
		return
	}
	p := r.panes()
	r.screen.mu.Lock()
	r.screen.state = p
	r.screen.mu.Unlock()
	r.screen.draw()
}

func (r *REPL) panes() panes {
	s := r.s
	p := panes{at: -1, title: fmt.Sprintf("%s on %s", s.Linked().Object.Name, s.Linked().Target.Name)}
	frames, err := s.Frames()
	if err == nil {
		f := frames[s.SelectedFrame()]
		p.title = fmt.Sprintf("%s  %s  %d instructions", p.title, f, s.Pos())
		if lines, err := s.List(f.File, max(f.Line, aroundLine+1)-aroundLine, f.Line+aroundLine); err == nil && f.Line > 0 {
			for _, l := range lines {
				mark := " "
				switch {
				case l.Line == f.Line:
					mark, p.at = ">", len(p.source)
				case l.Breakpoint != 0:
					mark = "*"
				}
				p.source = append(p.source, fmt.Sprintf("%s%4d %s", mark, l.Line, l.Text))
			}
		} else if f.Place.Prog != nil {
			for _, c := range s.Disassemble(f.Place.Prog, f.Place.PC-aroundLine, f.Place.PC+aroundLine) {
				mark := " "
				if c.Place == f.Place {
					mark, p.at = ">", len(p.source)
				}
				p.source = append(p.source, fmt.Sprintf("%s%4d: %s", mark, c.Place.PC, c.Text))
			}
		}
	}
	if regs, err := s.Registers(); err == nil {
		for _, g := range regs {
			text := "?"
			if g.Known {
				text = fmt.Sprintf("%#x %s", g.Value, g.Note)
			}
			p.regs = append(p.regs, fmt.Sprintf("%-3s %s", g.Name, text))
		}
	}
	for _, d := range r.shown {
		if d.code {
			continue
		}
		text := ""
		if v, err := s.Eval(d.expr); err != nil {
			text = "<" + err.Error() + ">"
		} else {
			text = s.Format(v, d.opt)
		}
		p.watch = append(p.watch, fmt.Sprintf("%d: %s = %s", d.id, d.expr, text))
	}
	return p
}

// draw draws the screen except for the last line, and leaves the cursor there.
func (x *screen) draw() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.on {
		return
	}
	w, h := x.size()
	var b strings.Builder
	b.WriteString("\x1b[H")
	for _, line := range x.layout(max(w, 20), max(h, 6)) {
		b.WriteString(line + "\x1b[K\r\n")
	}
	b.WriteString("\x1b[J")
	_, _ = io.WriteString(x.out, b.String()) // as in turn
}

// layout returns all lines except the last: title, source beside registers, watches, a rule,
// output.
func (x *screen) layout(w, h int) []string {
	rows := h - 1
	watch := min(len(x.state.watch), rows/4)
	top := (rows - 2 - watch) * 6 / 10
	side := 0
	if w >= narrow && len(x.state.regs) > 0 {
		side = sideWidth
	}
	out := []string{"\x1b[7m" + fit(x.state.title, w) + "\x1b[0m"}
	from := max(min(x.state.at-top/2, len(x.state.source)-top), 0)
	for i := range top {
		line := ""
		if n := from + i; n < len(x.state.source) {
			line = x.state.source[n]
		}
		left := w - side
		if side > 0 {
			left--
		}
		line = fit(line, left)
		if from+i == x.state.at {
			line = "\x1b[1m" + line + "\x1b[0m"
		}
		if side > 0 {
			reg := ""
			if i < len(x.state.regs) {
				reg = x.state.regs[i]
			}
			line += "|" + fit(reg, side)
		}
		out = append(out, line)
	}
	for _, text := range x.state.watch[:watch] {
		out = append(out, fit(text, w))
	}
	out = append(out, strings.Repeat("-", w))
	left := rows - len(out)
	lines := x.lines[max(len(x.lines)-left, 0):]
	for i := range left {
		line := ""
		if i < len(lines) {
			line = fit(lines[i], w)
		}
		out = append(out, line)
	}
	return out
}

// fit makes a line w columns wide: tabs become spaces, colours are dropped, and control characters
// become dots.
func fit(text string, w int) string {
	var b strings.Builder
	n := 0
	for i := 0; i < len(text) && n < w; {
		if rest := text[i:]; strings.HasPrefix(rest, "\x1b[") { // a colour sequence
			if end := strings.IndexByte(rest, 'm'); end > 0 {
				i += end + 1
				continue
			}
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch {
		case r == '\t':
			for stop := n/8*8 + 8; n < stop && n < w; n++ {
				b.WriteByte(' ')
			}
			continue
		case r < ' ' || r == 0x7f || r == utf8.RuneError && size == 1:
			r = '.'
		}
		b.WriteRune(r)
		n++
	}
	return b.String() + strings.Repeat(" ", w-n)
}
