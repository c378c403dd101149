package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/ids"
)

func (a *app) btfIDsCommand() *cobra.Command {
	var types, base string
	cmd := &cobra.Command{
		Use:   "ids FILE",
		Short: "Show the lists and sets of .BTF_ids by name and kind, checked against BTF",
		Long: `Show the lists and sets of ids that a kernel or module has in .BTF_ids, with the flags of kfuncs, and what is wrong with them: types that
are missing or of another kind, ids that lead elsewhere, sets that are not sorted. The file needs its symbols.

The BTF is the file's own, or that of --types; --base is the kernel's for a module. Exit code 1 when something is wrong.`,
		Example: "  bpfrun btf ids vmlinux\n  bpfrun btf ids module.ko --base vmlinux",
		Args:    exactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			s, spec, err := a.openIDs(args[0], types, base)
			if err != nil {
				return err
			}
			return a.showIDs(s, spec)
		},
	}
	idFlags(cmd, &types, &base)
	return cmd
}

func idFlags(cmd *cobra.Command, types, base *string) {
	cmd.Flags().StringVar(types, "types", "", "BTF the ids are of, when the file has none")
	cmd.Flags().StringVar(base, "base", "", "BTF that the types, split BTF of a module, continue")
}

// openIDs reads a file's .BTF_ids and the BTF they are of.
func (a *app) openIDs(path, types, base string) (*ids.Section, *btf.Spec, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, usageError{err}
	}
	s, err := ids.Read(file)
	if err != nil {
		return nil, nil, codeError{exitLoad, fmt.Errorf("%s: %w", filepath.Base(path), err)}
	}
	if types == "" {
		types = path
	}
	spec, err := a.openBTF(types, base)
	return s, spec, err
}

func (a *app) showIDs(s *ids.Section, spec *btf.Spec) error {
	wrong := map[*ids.Entry]string{}
	sets := map[*ids.Group][]string{}
	for _, f := range s.Check(spec) {
		a.code = exitExpectation
		if f.Entry != nil {
			wrong[f.Entry] = f.What
		} else {
			sets[f.Group] = append(sets[f.Group], f.What)
		}
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		head := fmt.Sprintf("%s %s", g.Kind, g.Name)
		if g.Kind != ids.List {
			head += fmt.Sprintf(" (%d)", g.Count)
		}
		if g.Kind == ids.Set8 && g.Flags&1 != 0 {
			head += " of kfuncs"
		}
		fmt.Fprintln(a.stdout, head)
		for _, what := range sets[g] {
			fmt.Fprintf(a.stdout, "  ! %s\n", what)
		}
		for j := range g.Entries {
			if err := a.showID(g, &g.Entries[j], spec, wrong[&g.Entries[j]]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *app) showID(g *ids.Group, e *ids.Entry, spec *btf.Spec, wrong string) error {
	kind, name := e.Kind, e.Name
	if g.Kind != ids.List && e.ID != 0 {
		kind, name = spec.Kind(e.ID), spec.Name(e.ID) // sets are sorted: the symbol is another entry's
	}
	line := fmt.Sprintf("  [%d] %s %s", e.ID, kind, name)
	if e.Kind == btf.KindVoid {
		line = fmt.Sprintf("  [%d] unused", e.ID)
	}
	if flags := ids.FlagNames(e.Flags); flags != "" {
		line += "  " + flags
	}
	if wrong != "" {
		line += fmt.Sprintf("  ! %s %s %s", e.Kind, e.Name, wrong)
	}
	_, err := fmt.Fprintln(a.stdout, line)
	return err
}

func (a *app) btfResolveIDsCommand() *cobra.Command {
	var types, base, output string
	cmd := &cobra.Command{
		Use:   "resolve-ids FILE -o OUT",
		Short: "Write the ids of .BTF_ids as resolve_btfids does",
		Long: `Write a copy of a kernel's or module's ELF file in which every entry of .BTF_ids has its id, sets have their counts and are sorted, as
resolve_btfids of the kernel's build does. Types that do not exist get id 0 and are named; exit code 1 then.`,
		Example: "  bpfrun btf resolve-ids module.ko --base vmlinux -o resolved.ko",
		Args:    exactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if output == "" {
				return usagef("btf resolve-ids needs -o OUT")
			}
			s, spec, err := a.openIDs(args[0], types, base)
			if err != nil {
				return err
			}
			file, missing, err := s.Resolve(spec)
			if err != nil {
				return codeError{exitLoad, fmt.Errorf("%s: %w", filepath.Base(args[0]), err)}
			}
			for _, e := range missing {
				a.note("%s %s is not in the BTF: its id is 0", e.Kind, e.Name)
				a.code = exitExpectation
			}
			return writeFile(output, func(w io.Writer) error { _, err := w.Write(file); return err })
		},
	}
	idFlags(cmd, &types, &base)
	cmd.Flags().StringVarP(&output, "output", "o", "", "file to write")
	return cmd
}
