//go:build !js

package repl

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/chzyer/readline"

	"github.com/bpfrun/bpfrun/internal/visible"
)

// interactive reads lines that are edited, and runs them as commands.
func (r *REPL) interactive(ctx context.Context) error {
	in := newInput(r.cfg.In)
	var rl *readline.Instance
	var setWidth func()
	rl, err := readline.NewEx(&readline.Config{
		Prompt: prompt, HistoryFile: r.cfg.HistoryFile, AutoComplete: r, Stdin: in, Stdout: r.cfg.Out,
		HistorySearchFold: true, InterruptPrompt: "^C", EOFPrompt: "quit",
		// Saved below: the library would also save answers to the pager.
		DisableAutoSaveHistory: true,
		FuncOnWidthChanged:     func(f func()) { setWidth = f },
		FuncFilterInputRune: onRune(func() {
			setWidth()
			r.screen.draw()
			rl.Refresh()
		}),
	})
	if err != nil {
		return err
	}
	defer rl.Close()
	// Commands write directly to the terminal, which is in cooked mode while no line is read. The
	// library's writer may assume that a line is still being read, and insert the prompt between
	// two pieces of output.
	r.screen = &screen{out: r.cfg.Out, size: r.size}
	defer r.screen.turn(false)
	defer onResize(func() {
		r.screen.draw() // at once, also while a command runs
		in.resized()
	})()
	r.out = &visible.Writer{W: &tee{r, r.screen}, Plain: !r.cfg.Color}
	r.ask = func() bool {
		rl.SetPrompt("-- more: Enter continues, q quits --")
		line, err := rl.Readline()
		return err == nil && !strings.HasPrefix(strings.TrimSpace(line), "q")
	}
	// Handle interrupts during the entire session: one just before or after a command would
	// otherwise end it.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	for !r.quit && ctx.Err() == nil {
		select {
		case <-interrupts: // too late for the previous command
		default:
		}
		r.show()
		rl.SetPrompt(r.prompt())
		line, err := rl.Readline()
		r.typed(line)
		if r.screen.on {
			visible.Fprintf(r.screen, "%s%s\n", r.prompt(), line)
		}
		switch {
		case errors.Is(err, readline.ErrInterrupt):
			r.collecting = nil
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		_ = rl.SaveHistory(line) // keep the line even if the file cannot be written
		if err := r.interruptible(ctx, interrupts, line); err != nil {
			r.report(err)
		}
	}
	return nil
}
