package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/report"
)

// disasmCommand is bpfrun disasm.
type disasmCommand struct {
	*console
	linker
	sim *machineFlags

	progs              []string
	raw, native, loops bool
}

func newDisasmCommand(a *app) *cobra.Command {
	c := &disasmCommand{console: &a.console, linker: a.linker(), sim: &a.sim}
	cmd := &cobra.Command{
		Use:   "disasm OBJECT [--btf KERNEL] [-p PROGRAM]",
		Short: "Disassemble programs with source lines, relocated for a target when --btf is given",
		Example: `  bpfrun disasm prog.o -p handle_exec
  bpfrun disasm prog.o --btf kernel.btf --jit`,
		Args: oneObject,
		RunE: func(_ *cobra.Command, args []string) error {
			obj, err := c.objects.open(args[0])
			if err != nil {
				return err
			}
			for _, name := range c.progs {
				if _, ok := obj.Program(name); !ok {
					return usagef("-p %s: no such program in %s (available: %s)", name, obj.Name, programNames(obj))
				}
			}
			if c.loops && !c.native {
				return usagef("--loops shows native code: add --jit")
			}
			if c.json && c.native {
				return usagef("disasm --jit has no --json: native code is shown for people to read")
			}
			if c.json {
				return c.document(obj)
			}
			d := report.Disassembly{W: c.stdout, Raw: c.raw, Native: c.native, Loops: c.loops, Programs: c.progs}
			if c.native && !machine.NativeCode() {
				return codeError{exitNotSimulated, errors.New("--jit: native code is not supported on this system")}
			}
			if c.native && report.ByteOrderName(obj.ByteOrder) == "big" {
				return codeError{exitNotSimulated, errors.New("--jit: big-endian programs cannot run here, so they have no native code")}
			}
			if len(c.kernels.btf) == 0 && !c.native {
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
	cmd.Flags().StringArrayVarP(&c.progs, "prog", "p", nil, "`PROGRAM` to show; repeatable")
	cmd.Flags().BoolVar(&c.raw, "raw", false, "also print the bytes of each instruction")
	cmd.Flags().BoolVar(&c.native, "jit", false, "also print the native code of each instruction")
	cmd.Flags().BoolVar(&c.loops, "loops", false, "with --jit: show the native code of long-running programs, after loop versioning")
	return cmd
}

// document writes what disasm shows, as JSON.
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
