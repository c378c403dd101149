package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bpfrun/bpfrun/internal/debug"
	"github.com/bpfrun/bpfrun/internal/debug/dap"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// dapOptions are the flags of the dap command.
type dapOptions struct {
	listen   string
	remote   bool
	sessions int
}

// dapCommand is bpfrun dap.
type dapCommand struct {
	*console

	dapOptions
}

func newDAPCommand(a *app) *cobra.Command {
	c := &dapCommand{console: &a.console}
	cmd := &cobra.Command{
		Use:   "dap",
		Short: "Debug from an editor: speak the Debug Adapter Protocol",
		Long: `Speak the Debug Adapter Protocol on standard input and output, or, with --listen, to every client that connects. Editors start
this command. Their launch request names the object to debug ("object") and any option of bpfrun debug ("btf", "prog",
"scenario", "test", "pcap", "sourceMap", ...). docs/editors.md has configurations for VS Code, Neovim, Emacs and others.`,
		Example: `  bpfrun dap
  bpfrun dap --listen 127.0.0.1:4711`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.sessions < 1 {
				return usagef("--sessions %d: want at least 1", c.sessions)
			}
			if c.listen == "" {
				return c.dapOn(stdio{cmd.InOrStdin(), verbatim(c.stdout)})
			}
			return c.dapListen()
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.listen, "listen", "", "TCP `ADDRESS` to listen on, such as 127.0.0.1:4711; port 0 chooses a free one (default: standard input and output)")
	f.BoolVar(&c.remote, "remote", false, "allow --listen on addresses that other machines can reach: whoever connects can read files as you")
	f.IntVar(&c.sessions, "sessions", 8, "serve at most `N` clients at once; others wait")
	return cmd
}

// stdio is a connection over two streams.
type stdio struct {
	io.Reader
	io.Writer
}

// notForEditors are options of bpfrun debug that require a terminal.
var notForEditors = []string{"command-file", "execute", "echo", "color", "json", "help", "quiet", "verbose"}

// dapLauncher opens sessions like bpfrun debug. Options have the names of its flags.
func dapLauncher() dap.Launcher {
	l := dap.Launcher{Open: openLaunched}
	root := newApp(nil, nil).rootCommand()
	if cmd, _, err := root.Find([]string{"debug"}); err == nil {
		add := func(f *pflag.Flag) {
			global := root.PersistentFlags().Lookup(f.Name) == f
			if !slices.Contains(notForEditors, f.Name) && !slices.Contains(l.Options, f.Name) && (!global || usesFlag(cmd, f.Name)) {
				l.Options = append(l.Options, f.Name)
			}
		}
		cmd.Flags().VisitAll(add)
		cmd.InheritedFlags().VisitAll(add)
	}
	return l
}

// openLaunched opens a session from the equivalent command line of the options.
func openLaunched(_ context.Context, object string, options []dap.Option, out io.Writer) (*dap.Launched, error) {
	var launched *dap.Launched
	a := newApp(out, out)
	a.onSession = func(s *debug.Session, program string) error {
		launched = &dap.Launched{Session: s, Program: program}
		return nil
	}
	args := []string{"debug"}
	for _, o := range options {
		args = append(args, "--"+o.Name+"="+o.Value)
	}
	cmd := a.rootCommand()
	cmd.SetArgs(append(args, "--", object))
	cmd.SetOut(out)
	cmd.SetErr(out)
	if err := cmd.Execute(); err != nil {
		return nil, err
	}
	return launched, nil
}

func (c *dapCommand) dapOn(rw io.ReadWriter) error {
	ctx, stop := c.interruptible(context.Background())
	defer stop()
	if err := dapLauncher().Serve(ctx, rw); err != nil {
		return usageError{err}
	}
	return nil
}

// dapListen serves all connections until it is interrupted.
func (c *dapCommand) dapListen() error {
	addr, err := net.ResolveTCPAddr("tcp", c.listen)
	if err != nil {
		return usageError{fmt.Errorf("--listen: %w", err)}
	}
	if !c.remote && !addr.IP.IsLoopback() {
		return usagef("--listen %s: other machines can reach this address, and whoever connects can read files as you; use 127.0.0.1:PORT, or add --remote", c.listen)
	}
	ln, err := net.ListenTCP("tcp", addr)
	if err != nil {
		return usageError{fmt.Errorf("--listen: %w", err)}
	}
	ctx, stop := c.interruptible(context.Background())
	defer stop()
	defer context.AfterFunc(ctx, func() { ln.Close() })()
	visible.Fprintf(c.stdout, "DAP server listening at: %s\n", ln.Addr())
	l := dapLauncher()
	room := make(chan struct{}, c.sessions)
	var clients sync.WaitGroup
	defer clients.Wait()
	for {
		room <- struct{}{}
		conn, err := ln.AcceptTCP()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return usageError{err}
		}
		clients.Go(func() {
			defer func() { <-room }()
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			if err := l.Serve(ctx, conn); err != nil && ctx.Err() == nil {
				visible.Fprintf(c.stderr, "bpfrun: %s: %v\n", conn.RemoteAddr(), err)
			}
		})
	}
}
