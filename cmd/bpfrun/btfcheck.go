package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/check"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/loader"
)

// btfCheckCommand is bpfrun btf check.
type btfCheckCommand struct {
	*console
	kernels *kernelFlags

	releases       []string
	asIs, sanitise bool
	output         string
}

func newBTFCheckCommand(a *app) *cobra.Command {
	c := &btfCheckCommand{console: &a.console, kernels: &a.kernels}
	cmd := &cobra.Command{
		Use:   "check FILE [--kernel RELEASE...]",
		Short: "Check BTF as a kernel's BPF_BTF_LOAD does: which type breaks which rule, and how to fix it",
		Long: `Check BTF as BPF_BTF_LOAD of a Linux release does, from 5.10 on: the header, names, sizes, flags, references, loops, depth,
and the special fields. The report names the first broken rule, its type, the error the kernel returns, and a fix.

The BTF of a BPF object is checked in the form libbpf passes to the kernel: sections get sizes, externs are defined, and what
an older kernel does not know is replaced; each replacement is listed. --as-is checks the section as stored in the file.
Raw BTF is always checked as is, unless --sanitise applies libbpf's replacements. -o writes the BTF checked for the last release.

Exit code 3 when a release refuses the BTF.`,
		Example: "  bpfrun btf check prog.bpf.o --kernel 5.10,6.12\n  bpfrun btf check types.btf --kernel 7.2",
		Args:    exactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return c.btfCheck(args[0], c.releases, c.asIs, c.sanitise, c.output)
		},
	}
	cmd.Flags().StringSliceVar(&c.releases, "kernel", nil, "Linux releases: 5.10, 6.12.4 (default: those of --btf, else the newest known)")
	cmd.Flags().BoolVar(&c.asIs, "as-is", false, "check an object's section as stored in the file")
	cmd.Flags().BoolVar(&c.sanitise, "sanitise", false, "apply libbpf's replacements for older kernels to raw BTF too")
	cmd.Flags().StringVarP(&c.output, "output", "o", "", "write the BTF checked for the last release to `FILE`")
	return cmd
}

// checkTarget is a kernel that BTF is checked against.
type checkTarget struct {
	name     string
	release  uapi.Release
	inKernel func(btf.Kind, string) bool
}

// newestChecked is the release whose rules apply by default.
const newestChecked = "7.2"

func (c *btfCheckCommand) checkTargets(kernels []string) ([]checkTarget, error) {
	var out []checkTarget
	if len(kernels) == 0 && len(c.kernels.btf) > 0 {
		sources, err := c.kernels.sources()
		if err != nil {
			return nil, err
		}
		for _, s := range sources {
			t, err := c.kernels.target(s)
			if err != nil {
				return nil, err
			}
			if t.Version == 0 {
				return nil, usagef("--btf %s: unknown release; name it with --kernel", s.Path)
			}
			out = append(out, checkTarget{t.VersionString(), uapi.ReleaseOf(t.Version), hasType(t.BTF)})
		}
		return out, nil
	}
	if len(kernels) == 0 {
		kernels = []string{newestChecked}
	}
	for _, k := range kernels {
		_, version, ok := loader.ParseRelease(k)
		if !ok || !since.Verified(uapi.ReleaseOf(version)) {
			return nil, usagef("--kernel %s: want a Linux release from 5.10 on, such as 6.12", k)
		}
		out = append(out, checkTarget{k, uapi.ReleaseOf(version), nil})
	}
	return out, nil
}

func (c *btfCheckCommand) btfCheck(path string, kernels []string, asIs, sanitise bool, output string) error {
	targets, err := c.checkTargets(kernels)
	if err != nil {
		return err
	}
	raw, ptr, object, err := c.rawBTF(path, asIs)
	if err != nil {
		return err
	}
	doc := &report.BTFCheckDocument{Schema: report.Schema, File: filepath.Base(path), Results: []report.BTFCheckResult{}}
	var checked []byte
	for _, t := range targets {
		given, changes := raw, []check.Change(nil)
		var err error
		if object || sanitise {
			given, changes, err = check.Sanitise(raw, t.release)
		}
		if err == nil {
			err = check.BTF(given, check.Options{Release: t.release, PointerSize: ptr, InKernel: t.inKernel})
			checked = given
		}
		var p *check.Problem
		if err != nil && !errors.As(err, &p) {
			return codeError{exitLoad, fmt.Errorf("%s: %w", filepath.Base(path), err)}
		}
		if p != nil {
			doc.Exit = exitLoad
		}
		doc.Results = append(doc.Results, report.NewBTFCheckResult(t.name, changes, p))
	}
	c.code = doc.Exit
	if output != "" && checked != nil {
		if err := writeFile(output, func(w io.Writer) error { _, err := w.Write(checked); return err }); err != nil {
			return err
		}
	}
	if c.json {
		return report.WriteJSON(c.stdout, doc)
	}
	return report.WriteBTFCheck(c.stdout, doc)
}

// rawBTF reads the BTF of a file without checking it. object reports that it is a BPF object's, in
// the form in which libbpf passes it to kernels.
func (c *btfCheckCommand) rawBTF(path string, asIs bool) (raw []byte, ptr int, object bool, err error) {
	if path == "host" || path == "embedded" {
		spec, err := c.kernels.openBTF(path, "")
		if err != nil {
			return nil, 0, false, err
		}
		return spec.Raw(), spec.PointerSize(), false, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, false, usageError{err}
	}
	raw, ptr, err = btf.RawSection(data)
	if errors.Is(err, btf.ErrNotBTF) {
		// A compressed file, or an archive.
		spec, loadErr := c.kernels.openBTF(path, "")
		if loadErr != nil {
			return nil, 0, false, loadErr
		}
		return spec.Raw(), spec.PointerSize(), false, nil
	}
	if err != nil {
		return nil, 0, false, btfError(path, err)
	}
	if asIs || !bytes.HasPrefix(data, []byte("\x7fELF")) {
		return raw, ptr, false, nil
	}
	obj, err := loader.OpenBytes(filepath.Base(path), data)
	if errors.Is(err, loader.ErrNotObject) || errors.Is(err, loader.ErrBTF) {
		return raw, ptr, false, nil // a kernel or module, or BTF so malformed that only the rules explain why
	}
	if err != nil {
		return nil, 0, false, codeError{exitLoad, err}
	}
	if raw, err = obj.KernelBTF(); err != nil {
		return nil, 0, false, btfError(path, err)
	}
	return raw, 8, true, nil
}
