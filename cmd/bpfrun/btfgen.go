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
	"strings"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/dedup"
	"github.com/bpfrun/bpfrun/btf/fromdwarf"
	"github.com/bpfrun/bpfrun/btf/ids"
)

// btfGenCommand is bpfrun btf gen.
type btfGenCommand struct {
	*console
	kernels *kernelFlags

	base, output, into, features string
	vars                         bool
}

func newBTFGenCommand(a *app) *cobra.Command {
	c := &btfGenCommand{console: &a.console, kernels: &a.kernels}
	cmd := &cobra.Command{
		Use:   "gen ELF {-o OUT.btf | --into COPY} [--base VMLINUX]",
		Short: "Generate BTF from the DWARF of an object, executable, kernel or module",
		Long: `Generate BTF from DWARF 2 to 5, as pahole -J does: types, functions with their parameters, per-CPU variables, declaration and
type tags. Equal types are merged as libbpf does. -o writes raw BTF, --into a copy of the file with a .BTF section. With --base
the result is split BTF of a module on top of a kernel's. C++ and Rust units are skipped and counted.

--features takes names of pahole's --btf_features: var, float, decl_tag, type_tag, enum64 (these are made without the flag), global_var,
decl_tag_kfuncs (kfuncs of .BTF_ids get the tags bpf_kfunc and bpf_fastcall), attributes (address_space(1) for arena pointers of kfuncs),
distilled_base (with --base: .BTF.base, the part of the kernel's types that the module needs, so that it can be moved to another build),
and layout (the sizes of all kinds, which Linux reads from 7.2 on).

Three are about functions: optimized_func (functions that are in the symbol table only with a suffix such as
.isra.0), consistent_func (no functions whose prototypes differ between units) and true_signature (functions with a suffix under their full names,
and without the parameters that were optimized out).

With any of the last three, functions are left out whose parameters are not where the calling
convention puts them, that BTF cannot describe after optimization, or whose name has several addresses; bpfrun counts them by reason.`,
		Example: "  bpfrun btf gen vmlinux -o vmlinux.btf\n  bpfrun btf gen module.ko.debug --base vmlinux.btf --into module.ko",
		Args:    exactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if c.output == "" && c.into == "" {
				return usagef("btf gen needs -o OUT or --into COPY")
			}
			return c.run(args[0])
		},
	}
	cmd.Flags().StringVar(&c.base, "base", "", "`BTF` of the kernel, for the split BTF of a module")
	cmd.Flags().StringVarP(&c.output, "output", "o", "", "`FILE` to write raw BTF to; with distilled_base also OUT.base")
	cmd.Flags().StringVar(&c.into, "into", "", "`FILE` to write: a copy of the input with .BTF")
	cmd.Flags().BoolVar(&c.vars, "global-vars", false, "describe global variables of all sections, not only per-CPU ones")
	cmd.Flags().StringVar(&c.features, "features", "", "`FEATURES` to generate, as pahole's --btf_features, separated by commas")
	return cmd
}

// options converts the flags to options; f is the file.
func (c *btfGenCommand) options(path string, f *elf.File) (fromdwarf.Options, error) {
	opt := fromdwarf.Options{Features: fromdwarf.DefaultFeatures}
	if c.features != "" {
		var err error
		if opt.Features, err = fromdwarf.ParseFeatures(c.features); err != nil {
			return opt, usageError{err}
		}
	}
	if c.vars {
		opt.Features |= fromdwarf.GlobalVar
	}
	if opt.Features&fromdwarf.DistilledBase != 0 && c.base == "" {
		return opt, usagef("distilled_base needs --base VMLINUX")
	}
	if c.base != "" {
		var err error
		if opt.Base, err = c.kernels.openBTF(c.base, ""); err != nil {
			return opt, err
		}
	}
	if opt.Features&(fromdwarf.KfuncTags|fromdwarf.Attributes) == 0 {
		return opt, nil
	}
	s, err := ids.ReadELF(f)
	if errors.Is(err, ids.ErrNoSection) {
		return opt, nil // it has no kfuncs
	}
	if err == nil {
		var spec *btf.Spec
		if s.IsResolved() {
			// The BTF in the file itself, which its ids refer to.
			if spec, err = c.kernels.openBTF(path, c.base); err != nil {
				return opt, err
			}
		}
		opt.Kfuncs, err = s.Kfuncs(spec)
	}
	if err != nil {
		return opt, codeError{exitLoad, fmt.Errorf("%s: %w", filepath.Base(path), err)}
	}
	return opt, nil
}

func (c *btfGenCommand) run(path string) error {
	ctx, stop := c.interruptible(context.Background())
	defer stop()
	file, err := os.Open(path)
	if err != nil {
		return usageError{err}
	}
	defer file.Close()
	f, err := elf.NewFile(file)
	if err != nil {
		return codeError{exitLoad, fmt.Errorf("%s: not an ELF file: %w", filepath.Base(path), err)}
	}
	opt, err := c.options(path, f)
	if err != nil {
		return err
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
	var sections []fromdwarf.Section
	if err == nil {
		sections, err = btfSections(res.Types, f.ByteOrder, opt, part(70, 30))
	}
	if err != nil {
		return codeError{exitLoad, fmt.Errorf("%s: %w", filepath.Base(path), err)}
	}
	c.note("%d types, %d functions, %d variables of %d compilation units", res.Types.Own(), res.Functions, res.Variables, res.Units)
	if opt.Features&fromdwarf.KfuncTags != 0 {
		c.note("%d kfuncs tagged", res.Kfuncs)
	}
	for reason, n := range res.LeftOut {
		if n > 0 {
			c.note("%d functions left out: %s", n, fromdwarf.Reason(reason))
		}
	}
	if res.Skipped > 0 {
		c.note("%d units were skipped: BTF cannot describe their language", res.Skipped)
	}
	if c.into != "" {
		if err := copyWith(c.into, path, file, sections); err != nil {
			return err
		}
	}
	if c.output == "" {
		return nil
	}
	for _, s := range sections {
		to := c.output + strings.TrimPrefix(s.Name, ".BTF")
		if err := writeFile(to, func(w io.Writer) error { _, err := w.Write(s.Content); return err }); err != nil {
			return err
		}
	}
	return nil
}

// btfSections deduplicates types and returns .BTF, and .BTF.base if requested.
func btfSections(types *dedup.Types, order binary.ByteOrder, opt fromdwarf.Options, progress func(done, total int64) error) ([]fromdwarf.Section, error) {
	raw, err := dedupTypes(types, order, progress)
	if err == nil && opt.Features&fromdwarf.Layout != 0 && opt.Features&fromdwarf.DistilledBase == 0 {
		raw, err = btf.WithLayout(raw)
	}
	if err != nil || opt.Features&fromdwarf.DistilledBase == 0 {
		return []fromdwarf.Section{{Name: ".BTF", Content: raw}}, err
	}
	split, err := btf.Parse(raw, opt.Base)
	if err != nil {
		return nil, err
	}
	base, own, err := btf.Distill(split)
	if err != nil {
		return nil, err
	}
	return []fromdwarf.Section{{Name: ".BTF", Content: own.Raw()}, {Name: ".BTF.base", Content: base.Raw()}}, nil
}

// copyWith writes a copy of an open file with additional sections.
func copyWith(to, path string, file *os.File, sections []fromdwarf.Section) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	err = writeFile(to, func(w io.Writer) error { return fromdwarf.AddSections(w, file, info.Size(), sections...) })
	if errors.Is(err, fromdwarf.ErrELF) {
		return codeError{exitLoad, fmt.Errorf("%s: %w", filepath.Base(path), err)}
	}
	return err
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
		Use:     "dedup FILE -o OUT [--base VMLINUX]",
		Example: "  bpfrun btf dedup raw.btf -o small.btf",
		Short:   "Merge equal types of BTF, as libbpf's btf__dedup does",
		Args:    exactly(1),
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
	cmd.Flags().StringVar(&c.base, "base", "", "`BTF` of the kernel, when FILE is the split BTF of a module")
	cmd.Flags().StringVarP(&c.output, "output", "o", "", "`FILE` to write")
	return cmd
}
