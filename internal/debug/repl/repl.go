// Package repl is the debugger's command line: it reads commands, executes them with a
// debug.Session, and reports the results. It reads from a terminal with line editing, history and
// completion, or from a pipe or file.
//
// Start from [New] and [REPL.Run]. All commands are in one table, from which help and the
// documentation are generated.
package repl

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/bpfrun/bpfrun/internal/debug"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// Config configures a REPL.
type Config struct {
	In  io.Reader
	Out io.Writer
	// Terminal means that In and Out are a terminal: lines can be edited.
	Terminal bool
	// Echo writes each command line that was not typed, so that the output is a transcript.
	Echo bool
	// HistoryFile keeps the command history between sessions, "" for none.
	HistoryFile string
	// Height returns the number of lines of the terminal, for the pager; nil for no pager.
	Height func() int
	// Width returns the number of columns of the terminal, for the full-screen mode; nil for 80.
	Width func() int
	// Color enables terminal colours.
	Color bool
}

const prompt = "(bpfrun) "

// REPL is one interactive session.
type REPL struct {
	s    *debug.Session
	cfg  Config
	out  io.Writer
	last string // repeated by an empty line
	quit bool
	// failed counts failed commands.
	failed   int
	depth    int // nesting of sourced files
	list     listing
	shown    []display
	nextID   int
	shownAt  uint64 // address at which the next x continues
	examined examined

	aliases  map[string]string
	listSize int
	print    printing
	screen   *screen // nil without a terminal
	paging   bool
	ask      func() bool // waits at the end of a screenful, nil without a terminal
	log      *os.File    // the transcript
	// collecting receives the lines of a multi-line command, up to "end".
	collecting func(line string) error
	// queue holds the pending commands of breakpoints.
	queue []string
}

// New creates a REPL for a session.
func New(s *debug.Session, cfg Config) *REPL {
	r := &REPL{s: s, cfg: cfg, aliases: map[string]string{}, listSize: listed, paging: true}
	r.out = &visible.Writer{W: &tee{r, cfg.Out}, Plain: !cfg.Color}
	s.OnTrace = r.traced
	return r
}

// Failed returns the number of failed commands.
func (r *REPL) Failed() int { return r.failed }

// tee writes to the user and to the transcript.
type tee struct {
	r  *REPL
	to io.Writer
}

func (t *tee) Write(b []byte) (int, error) {
	if t.r.log != nil {
		_, _ = t.r.log.Write(b) // a full disk must not end the session
	}
	return t.to.Write(b)
}

// typed records a line of user input in the transcript.
func (r *REPL) typed(line string) {
	if r.log != nil {
		visible.Fprintf(r.log, "%s%s\n", r.prompt(), line)
	}
}

// prompt returns the prompt for the next line.
func (r *REPL) prompt() string {
	if r.collecting != nil {
		return "> "
	}
	if r.s.Several() {
		return fmt.Sprintf("(bpfrun cpu %d) ", r.s.CPU())
	}
	return prompt
}

func (r *REPL) printf(format string, args ...any) { visible.Fprintf(r.out, format, args...) }

// Run reads and executes commands until quit or the end of the input. The error is a read error.
func (r *REPL) Run(ctx context.Context) error {
	if r.cfg.Terminal {
		return r.interactive(ctx)
	}
	return r.script(ctx, r.cfg.In, false)
}

const maxLine = 1 << 20

// script executes the lines of a reader; if strict is set, it stops at the first that fails.
func (r *REPL) script(ctx context.Context, in io.Reader, strict bool) error {
	sc := bufio.NewScanner(in)
	sc.Buffer(nil, maxLine)
	for !r.quit && ctx.Err() == nil && sc.Scan() {
		line := sc.Text()
		if !r.cfg.Echo {
			r.typed(line)
		}
		if err := r.Command(ctx, line); err != nil {
			if strict {
				return fmt.Errorf("%s: %w", strings.TrimSpace(line), err)
			}
			r.report(err)
		}
	}
	return sc.Err()
}

func (r *REPL) report(err error) {
	r.failed++
	r.printf("%s\n", visible.Lines(r.paint(red, err.Error())))
}

// size returns the size of the terminal in columns and lines.
func (r *REPL) size() (width, height int) {
	width, height = 80, 24
	if r.cfg.Width != nil {
		width = r.cfg.Width()
	}
	if r.cfg.Height != nil {
		height = r.cfg.Height()
	}
	return width, height
}

// interruptible executes a command line that an interrupt can stop.
func (r *REPL) interruptible(ctx context.Context, interrupts <-chan os.Signal, line string) error {
	run, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-interrupts:
			stop()
		case <-run.Done():
		}
	}()
	return r.Execute(run, line)
}

// Execute executes one command line and the commands of the breakpoints it stops at. An empty line
// repeats the last command if that command is repeatable. Canceling the context interrupts
// execution.
func (r *REPL) Execute(ctx context.Context, line string) error {
	line = strings.TrimSpace(line)
	if r.collecting != nil {
		return r.collecting(line)
	}
	if strings.HasPrefix(line, "#") {
		return nil
	}
	if line == "" {
		if line = r.last; line == "" {
			return nil
		}
	}
	r.queue = nil
	if err := r.one(ctx, line); err != nil {
		return err
	}
	last := r.last
	for len(r.queue) > 0 && ctx.Err() == nil && !r.quit {
		next := r.queue[0]
		r.queue = r.queue[1:]
		if err := r.one(ctx, next); err != nil {
			r.queue = nil
			return fmt.Errorf("command of a breakpoint: %s: %w", next, err)
		}
	}
	r.last = last
	return nil
}

// one executes one command.
func (r *REPL) one(ctx context.Context, line string) error {
	full, err := r.expand(line)
	if err != nil {
		return err
	}
	word, args := splitCommand(full)
	if word == silent {
		return nil
	}
	c, err := find(word)
	if err != nil {
		return err
	}
	r.last = ""
	if c.repeat != never {
		r.last = line
		if c.repeat == bare {
			r.last = word
		}
	}
	if r.ask != nil && r.paging && !r.screen.on && r.cfg.Height != nil && (c.topic == "looking" || c.topic == "other") {
		out := r.out
		r.out = &pager{out: out, height: max(r.cfg.Height(), 4), ask: r.ask}
		defer func() { r.out = out }()
	}
	return c.run(r, ctx, args)
}

// splitCommand splits off the first word; a slash and what follows belong to the arguments, as in
// p/x.
func splitCommand(line string) (word, args string) {
	i := 0
	for i < len(line) && line[i] != ' ' && line[i] != '\t' && line[i] != '/' {
		i++
	}
	return line[:i], strings.TrimSpace(line[i:])
}

// Terminal colours.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	bold   = "1"
)

func (r *REPL) paint(color, text string) string {
	if !r.cfg.Color || text == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// Command executes a line that was not typed; with Config.Echo, it writes the line first.
func (r *REPL) Command(ctx context.Context, line string) error {
	if r.cfg.Echo {
		r.printf("%s%s\n", r.prompt(), line)
	}
	return r.Execute(ctx, line)
}
