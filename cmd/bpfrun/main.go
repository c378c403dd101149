// Command bpfrun runs, tests and debugs unmodified BPF objects on the types of any
// kernel, without a kernel.
//
// This package parses flags, calls the packages that do the work, and renders
// what they return. It has no logic of its own.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/internal/exec"
)

func main() {
	exec.Child(os.Args[1:])
	collector.start()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run executes one command line and returns the exit code. A panic is a bug in bpfrun: it is
// reported as such, with exit code 70.
func run(args []string, stdout, stderr io.Writer) (code int) {
	out, messages := &output{w: stdout}, &output{w: stderr}
	a := newApp(out, messages)
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(stderr, "bpfrun: internal error: %v\n\nThis is a bug in bpfrun. Please report it with the object, the command line and this trace:\n%s", r, debug.Stack())
			code = exitBug
		}
	}()
	cmd := a.rootCommand()
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		a.complete(cmd)
	}
	cmd.SetArgs(args)
	cmd.SetOut(out)
	cmd.SetErr(messages)
	err := cmd.Execute()
	defer messages.flush()
	switch {
	case out.err != nil: // whatever else is wrong, this is why
	case err != nil:
		code = a.console.fail(err)
	default:
		a.sim.reportDifferences(&a.console)
		code = a.console.code
	}
	out.flush()
	switch {
	case out.err != nil:
		fmt.Fprintf(stderr, "bpfrun: write the output: %v\n", out.err)
		return exitUsage
	case a.console.interrupted.Load():
		return exitInterrupted
	}
	return code
}
