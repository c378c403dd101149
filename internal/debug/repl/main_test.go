package repl

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/term"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/debug"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// terminalObject in the environment makes the test binary a debugger on its terminal, for the tests
// that script one.
const terminalObject = "BPFRUN_TEST_TERMINAL"

func TestMain(m *testing.M) {
	if path := os.Getenv(terminalObject); path != "" {
		if err := onTerminal(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func onTerminal(path string) error {
	spec, err := embedded.Spec()
	if err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return err
	}
	obj, err := loader.OpenBytes(filepath.Base(path), data)
	if err != nil {
		return err
	}
	linked, err := obj.Load(loader.NewTarget(embedded.Name, spec), loader.LoadOptions{})
	if err != nil {
		return err
	}
	s, err := debug.New(linked, debug.Config{Machine: machine.Config{Seed: 1, Boot: time.Hour}, ELF: data, SourceDirs: []string{root, root + "/internal"}})
	if err != nil {
		return err
	}
	defer s.Close()
	size := func() (w, h int) {
		w, h, err := term.GetSize(int(os.Stdout.Fd()))
		if err != nil {
			return 0, 0
		}
		return w, h
	}
	r := New(s, Config{
		In: os.Stdin, Out: os.Stdout, Terminal: true, HistoryFile: os.Getenv(terminalObject + "_HISTORY"),
		Height: func() int { _, h := size(); return h }, Width: func() int { w, _ := size(); return w },
	})
	return r.Run(context.Background())
}
