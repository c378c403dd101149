package main

import (
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/btf/dedup"
	"github.com/bpfrun/bpfrun/btf/fromdwarf"
)

// btfGenCommand is bpfrun btf gen.
type btfGenCommand struct {
	*console
	kernels *kernelFlags

	base, output, into string
	vars               bool
}

func newBTFGenCommand(a *app) *cobra.Command {
	c := &btfGenCommand{console: &a.console, kernels: &a.kernels}
	cmd := &cobra.Command{
		Use:   "gen ELF {-o OUT.btf | --into COPY} [--base VMLINUX]",
		Short: "Make BTF of the DWARF of an object, executable, kernel or module",
		Long: `Make BTF of DWARF 2 to 5, as pahole -J does: types, functions with their parameters, per-CPU variables, declaration and type tags; equal
types are merged as libbpf does. -o writes raw BTF, --into a copy of the file with the BTF as section .BTF. --base makes split BTF of a module
on top of a kernel's. Units in C++ and Rust are left out and counted.`,
		Example: "  bpfrun btf gen vmlinux -o vmlinux.btf\n  bpfrun btf gen module.ko.debug --base vmlinux.btf --into module.ko",
		Args:    exactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if c.output == "" && c.into == "" {
				return usagef("btf gen needs -o OUT or --into COPY")
			}
			return c.btfGen(args[0], c.base, c.output, c.into, c.vars)
		},
	}
	cmd.Flags().StringVar(&c.base, "base", "", "BTF of the kernel that the module's continues")
	cmd.Flags().StringVarP(&c.output, "output", "o", "", "file to write raw BTF to")
	cmd.Flags().StringVar(&c.into, "into", "", "copy of the file to write, with .BTF")
	cmd.Flags().BoolVar(&c.vars, "global-vars", false, "write global variables of all sections, not only per-CPU ones")
	return cmd
}

func (c *btfGenCommand) btfGen(path, base, output, into string, vars bool) error {
	ctx, stop := c.interruptible(context.Background())
	defer stop()
	opt := fromdwarf.Options{GlobalVars: vars}
	if base != "" {
		var err error
		if opt.Base, err = c.kernels.openBTF(base, ""); err != nil {
			return err
		}
	}
	file, err := os.Open(path)
	if err != nil {
		return usageError{err}
	}
	defer file.Close()
	f, err := elf.NewFile(file)
	if err != nil {
		return codeError{exitLoad, fmt.Errorf("%s: not an ELF file: %w", filepath.Base(path), err)}
	}
	watch := c.silentProgress("percent of the work", 100)
	defer watch.end()
	shown := 0
	part := func(from, share int) func(done, total int64) error {
		return func(done, total int64) error {
			if now := from + int(done*int64(share)/max(total, 1)); now > shown {
				watch.add(now - shown)
				shown = now
			}
			return ctx.Err()
		}
	}
	opt.Progress = part(0, 70)
	res, err := fromdwarf.Make(f, opt)
	if err != nil {
		return codeError{exitLoad, fmt.Errorf("%s: %w", filepath.Base(path), err)}
	}
	raw, err := dedupTypes(res.Types, f.ByteOrder, part(70, 30))
	if err != nil {
		return codeError{exitLoad, fmt.Errorf("%s: %w", filepath.Base(path), err)}
	}
	c.note("%d types, %d functions, %d variables of %d compilation units", res.Types.Own(), res.Functions, res.Variables, res.Units)
	if res.Skipped > 0 {
		c.note("%d units are left out: BTF does not describe their language", res.Skipped)
	}
	if into != "" {
		info, err := file.Stat()
		if err != nil {
			return err
		}
		err = writeFile(into, func(w io.Writer) error {
			return fromdwarf.AddSections(w, file, info.Size(), fromdwarf.Section{Name: ".BTF", Content: raw})
		})
		if errors.Is(err, fromdwarf.ErrELF) {
			err = codeError{exitLoad, fmt.Errorf("%s: %w", filepath.Base(path), err)}
		}
		if err != nil {
			return err
		}
	}
	if output == "" {
		return nil
	}
	return writeFile(output, func(w io.Writer) error { _, err := w.Write(raw); return err })
}

func dedupTypes(types *dedup.Types, order binary.ByteOrder, progress func(done, total int64) error) ([]byte, error) {
	err := types.Dedup(func(done, total int) error { return progress(int64(done), int64(total)) })
	if err != nil {
		return nil, err
	}
	return types.Marshal(order)
}

// btfDedupCommand is bpfrun btf dedup.
type btfDedupCommand struct {
	*console
	kernels *kernelFlags

	base, output string
}

func newBTFDedupCommand(a *app) *cobra.Command {
	c := &btfDedupCommand{console: &a.console, kernels: &a.kernels}
	cmd := &cobra.Command{
		Use:   "dedup FILE -o OUT [--base VMLINUX]",
		Short: "Merge equal types of BTF, as libbpf's btf__dedup does",
		Args:  exactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if c.output == "" {
				return usagef("btf dedup needs -o OUT")
			}
			spec, err := c.kernels.openBTF(args[0], c.base)
			if err != nil {
				return err
			}
			types, err := dedup.Of(spec)
			if err != nil {
				return btfError(args[0], err)
			}
			before := types.Own()
			raw, err := dedupTypes(types, spec.ByteOrder(), func(int64, int64) error { return nil })
			if err != nil {
				return btfError(args[0], err)
			}
			c.note("%d types, %d before", types.Own(), before)
			return writeFile(c.output, func(w io.Writer) error { _, err := w.Write(raw); return err })
		},
	}
	cmd.Flags().StringVar(&c.base, "base", "", "BTF that FILE, split BTF of a module, continues")
	cmd.Flags().StringVarP(&c.output, "output", "o", "", "file to write")
	return cmd
}
