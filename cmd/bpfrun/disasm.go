package main

import (
	"bufio"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/jit"
	"github.com/bpfrun/bpfrun/loader"
)

// disasmCommand is bpfrun disasm.
type disasmCommand struct {
	*console
	linker
	sim *machineFlags

	progs               []string
	native              string // processor; empty without native code
	raw, loops, bpftool bool
}

func newDisasmCommand(a *app) *cobra.Command {
	c := &disasmCommand{console: &a.console, linker: a.linker(), sim: &a.sim}
	cmd := &cobra.Command{
		Use:   "disasm OBJECT [--btf KERNEL] [-p PROGRAM]",
		Short: "Disassemble programs with source lines, relocated for a target when --btf is given",
		Example: `  bpfrun disasm prog.o -p handle_exec
  bpfrun disasm prog.o --btf kernel.btf --jit`,
		Args: oneObject,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(c.kernels.btf) == 0 && c.native == "" && !c.bpftool {
				if err := noKernelFlags(cmd); err != nil {
					return err
				}
			}
			obj, err := c.objects.open(args[0])
			if err != nil {
				return err
			}
			for _, name := range c.progs {
				if _, ok := obj.Program(name); !ok {
					return usagef("-p %s: no such program in %s (available: %s)", name, obj.Name, programNames(obj))
				}
			}
			if err := c.check(obj); err != nil {
				return err
			}
			if c.json {
				return c.document(obj)
			}
			w := bufio.NewWriterSize(c.stdout, 64<<10) // there are thousands of lines
			defer func() { _ = w.Flush() }()           // stdout keeps the error
			d := report.Disassembly{W: w, Raw: c.raw, Native: c.native, Loops: c.loops, Bpftool: c.bpftool, Programs: c.progs}
			if len(c.kernels.btf) == 0 && c.native == "" && !c.bpftool {
				return d.Object(obj)
			}
			if d.Config, err = c.sim.config(false); err != nil {
				return err
			}
			linked, _, err := c.link(obj)
			if err != nil {
				return err
			}
			if err := d.Linked(linked); err != nil {
				return codeError{exitLoad, err}
			}
			return nil
		},
	}
	listVar(cmd.Flags(), &c.progs, "prog", "p", "`PROGRAM` to show; repeatable")
	cmd.Flags().BoolVar(&c.raw, "raw", false, "also print the bytes of each instruction")
	cmd.Flags().StringVar(&c.native, "jit", "", "also print the native code of each instruction, for `PROCESSOR` (amd64, arm64; default: this machine's)")
	cmd.Flags().Lookup("jit").NoOptDefVal = runtime.GOARCH
	cmd.Flags().BoolVar(&c.bpftool, "bpftool", false, "write the JSON of bpftool prog dump xlated, with --jit that of jited; with --raw with opcodes")
	cmd.Flags().BoolVar(&c.loops, "loops", false, "with --jit: show the native code of long-running programs, after loop versioning")
	return cmd
}

// check refuses flags that exclude each other, and native code for objects that have none.
func (c *disasmCommand) check(obj *loader.Object) error {
	switch {
	case c.loops && c.native == "":
		return usagef("--loops shows native code: add --jit")
	case c.json && c.bpftool:
		return usagef("--json and --bpftool are two forms of JSON: give one")
	case c.json && c.native != "":
		return usagef("disasm --jit has no --json: native code is shown for people to read; --bpftool writes JSON")
	case c.bpftool && len(c.progs) != 1 && len(obj.Programs) != 1:
		return usagef("--bpftool writes one program: add -p PROGRAM (available: %s)", programNames(obj))
	case c.native == "":
		return nil
	case !slices.Contains(jit.Processors(), c.native):
		return codeError{exitNotSimulated, fmt.Errorf("--jit: there is no native code for %s, only for %s (--jit=PROCESSOR)", c.native, strings.Join(jit.Processors(), " and "))}
	case report.ByteOrderName(obj.ByteOrder) == "big":
		return codeError{exitNotSimulated, errors.New("--jit: there is no native code for big-endian programs: the interpreter runs them")}
	}
	return nil
}

// document writes the disassembly as JSON.
func (c *disasmCommand) document(obj *loader.Object) error {
	if len(c.kernels.btf) == 0 {
		return report.WriteJSON(c.stdout, report.NewDisasmDocument(obj, c.progs))
	}
	linked, source, err := c.link(obj)
	if err != nil {
		return err
	}
	return report.WriteJSON(c.stdout, report.NewLinkedDisasmDocument(linked, source, c.progs))
}
