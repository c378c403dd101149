package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/app/play"
	"github.com/bpfrun/bpfrun/internal/app/play/serve"
	"github.com/bpfrun/bpfrun/internal/kernels"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
)

// playTimeout is how long a message of the page may take.
const playTimeout = time.Minute

// playCommand is bpfrun play.
type playCommand struct {
	*console
	kernels *kernelFlags

	port   int
	noOpen bool
}

func newPlayCommand(a *app) *cobra.Command {
	c := &playCommand{console: &a.console, kernels: &a.kernels}
	cmd := &cobra.Command{
		Use:   "play [OBJECT]",
		Short: "Run, step and verify objects in a browser: serve the playground on this machine",
		Long: `Serve the playground, a page that runs, steps and verifies the programs of objects and compares kernels, and open it in the
browser. It begins with OBJECT, or with an example; others can be dropped on the page. The kernels are those of --btf, else those
that bpfrun kernels list shows, and the embedded one.

Only browsers on this machine reach it, with the token in the address that is printed. Ctrl-C ends it.`,
		Example: "  bpfrun play\n  bpfrun play prog.o --btf 'kernels/*.btf.xz'\n  bpfrun play prog.o --no-open --port 8080",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return c.play(args) },
	}
	cmd.Flags().IntVar(&c.port, "port", 0, "TCP port `N` on 127.0.0.1; 0 chooses a free one")
	cmd.Flags().BoolVar(&c.noOpen, "no-open", false, "print the address, and open no browser")
	return cmd
}

func (c *playCommand) play(args []string) error {
	if c.port < 0 || c.port > 65535 {
		return usagef("--port %d: want 0 to 65535", c.port)
	}
	var object *serve.Object
	if len(args) == 1 {
		data, err := os.ReadFile(args[0])
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return usagef("%s: no such file", args[0])
		case err != nil:
			return usageError{err}
		}
		name := filepath.Base(args[0])
		if _, err := loader.OpenBytes(name, data); err != nil {
			return codeError{exitLoad, err}
		}
		object = &serve.Object{Name: name, Data: data}
	}
	sources, err := c.sources()
	if err != nil {
		return err
	}
	player := play.New(play.Config{Kernels: sources, Timeout: playTimeout})
	defer player.Close()
	server, err := serve.New(player, buildVersion(), object, c.port)
	if err != nil {
		return usageError{err}
	}
	ctx, stop := c.interruptible(context.Background())
	defer stop()
	visible.Fprintf(c.stdout, "The playground is at %s\n", server.URL())
	if !c.noOpen {
		if err := openBrowser(server.URL()); err != nil {
			c.note("the browser cannot be opened (%v): open the address yourself", err)
		}
	}
	if err := server.Run(ctx); err != nil {
		return usageError{err}
	}
	return nil
}

// sources returns the kernels of the page besides the embedded one.
func (c *playCommand) sources() ([]play.Kernel, error) {
	var list []btfSource
	if len(c.kernels.btf) > 0 {
		var err error
		if list, err = c.kernels.sources(); err != nil {
			return nil, err
		}
	} else {
		for _, k := range c.kernels.kernelPath().List() {
			s := k.Source
			s.Name = k.ID
			list = append(list, btfSource{Source: s})
		}
	}
	var out []play.Kernel
	seen := map[string]bool{embedded.Name: true}
	for _, s := range list {
		if s.Path == kernels.Embedded || seen[s.Name] {
			continue
		}
		seen[s.Name] = true
		out = append(out, play.Kernel{Name: s.Name, Source: s.Path, Open: func() (*loader.Target, error) { return c.kernels.target(s) }})
	}
	return out, nil
}

// openBrowser opens an address in the user's browser, and does not wait for it.
func openBrowser(url string) error {
	var cmd *osexec.Cmd
	switch runtime.GOOS {
	case "darwin":
		cmd = osexec.Command("open", url)
	case "windows":
		cmd = osexec.Command("rundll32", "url.dll,FileProtocolHandler", url)
	case "linux":
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return fmt.Errorf("there is no display")
		}
		cmd = osexec.Command("xdg-open", url)
	default:
		return fmt.Errorf("no way to open one is known on %s", runtime.GOOS)
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	return nil
}
