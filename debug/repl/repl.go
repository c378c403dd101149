// Package repl is the debugger's command line: it reads commands, carries them out with a debug.Session, and writes what
// happened. It reads from a terminal with editing, history and completion, and as well from a pipe or a file.
//
// Start from [New] and [REPL.Run]. All commands are in one table, from which help and the documentation are
// made.
package repl

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/chzyer/readline"

	"github.com/bpfrun/bpfrun/debug"
)

// Config says where a REPL reads and writes.
type Config struct {
	In  io.Reader
	Out io.Writer
	// Terminal says that In and Out are a terminal: lines are edited there.
	Terminal bool
	// Echo writes each command line that is read from a pipe or file, so that the output is a transcript.
	Echo bool
	// HistoryFile keeps command lines between sessions, "" for none.
	HistoryFile string
	// Color marks what is shown with terminal colours.
	Color bool
}

const prompt = "(bpfrun) "

// REPL is one interactive session.
type REPL struct {
	s    *debug.Session
	cfg  Config
	out  io.Writer
	last string // the line that an empty line repeats
	quit bool
	// failed counts commands that could not be carried out.
	failed int
	depth  int // of source
	list   listing
	shown  []display
	nextID int
}

// New makes a REPL for a session.
func New(s *debug.Session, cfg Config) *REPL {
	r := &REPL{s: s, cfg: cfg, out: cfg.Out}
	s.OnTrace = r.traced
	return r
}

// Failed returns how many commands could not be carried out.
func (r *REPL) Failed() int { return r.failed }

func (r *REPL) printf(format string, args ...any) { fmt.Fprintf(r.out, format, args...) }

// Run reads and carries out commands up to the end of the input or quit. The error is one of reading.
func (r *REPL) Run(ctx context.Context) error {
	if r.cfg.Terminal {
		return r.interactive(ctx)
	}
	return r.script(ctx, r.cfg.In, false)
}

const maxLine = 1 << 20

// script carries out the lines of a reader; with strict it stops at the first one that fails.
func (r *REPL) script(ctx context.Context, in io.Reader, strict bool) error {
	sc := bufio.NewScanner(in)
	sc.Buffer(nil, maxLine)
	for !r.quit && ctx.Err() == nil && sc.Scan() {
		line := sc.Text()
		if r.cfg.Echo {
			r.printf("%s%s\n", prompt, line)
		}
		if err := r.Execute(ctx, line); err != nil {
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
	r.printf("%s\n", r.paint(red, err.Error()))
}

func (r *REPL) interactive(ctx context.Context) error {
	in, ok := r.cfg.In.(io.ReadCloser)
	if !ok {
		in = io.NopCloser(r.cfg.In)
	}
	rl, err := readline.NewEx(&readline.Config{
		Prompt: prompt, HistoryFile: r.cfg.HistoryFile, AutoComplete: r, Stdin: in, Stdout: r.cfg.Out,
		HistorySearchFold: true, InterruptPrompt: "^C", EOFPrompt: "quit",
	})
	if err != nil {
		return err
	}
	defer rl.Close()
	r.out = rl.Stdout()
	for !r.quit && ctx.Err() == nil {
		line, err := rl.Readline()
		switch {
		case errors.Is(err, readline.ErrInterrupt):
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		run, stop := signal.NotifyContext(ctx, os.Interrupt)
		if err := r.Execute(run, line); err != nil {
			r.report(err)
		}
		stop()
	}
	return nil
}

// Execute carries out one command line. An empty line repeats the last command, where that makes sense. A canceled context
// interrupts what runs.
func (r *REPL) Execute(ctx context.Context, line string) error {
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "#") {
		return nil
	}
	if line == "" {
		if line = r.last; line == "" {
			return nil
		}
	}
	word, args := splitCommand(line)
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
	return c.run(r, ctx, args)
}

// splitCommand cuts the first word off; what follows a slash belongs to the arguments, as in p/x.
func splitCommand(line string) (word, args string) {
	i := 0
	for i < len(line) && line[i] != ' ' && line[i] != '\t' && line[i] != '/' {
		i++
	}
	return line[:i], strings.TrimSpace(line[i:])
}

// colours of a terminal.
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
