package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/conformance/core"
	"github.com/bpfrun/bpfrun/conformance/libbpf"
	"github.com/bpfrun/bpfrun/loader"
)

// conformanceCoreCommand is bpfrun conformance core.
type conformanceCoreCommand struct {
	*console
	kernels *kernelFlags

	dir string
}

func newConformanceCoreCommand(a *app) *cobra.Command {
	c := &conformanceCoreCommand{console: &a.console, kernels: &a.kernels}
	cmd := &cobra.Command{
		Use:   "core EXPECT.jsonl[.gz]... --objects DIR --btf KERNELS",
		Short: "Compare CO-RE relocations with recorded expectations",
		Long: `Compare the result of every CO-RE relocation with recorded expectations.

Lines are {object, btf, program, insn, kind, old, new, result} for a relocation and {object, btf,
program, core} for the hash of a program's code after CO-RE. Objects are found below --objects by
their path or file name, kernels among those of --btf by their names. A line is printed for each
difference; the last line reads "N passed, M failed". Exit code 1 when any failed.`,
		Example: "  bpfrun conformance core expect.jsonl.gz --objects objects/ --btf 'kernels/*.btf.xz'",
		Args:    atLeast(1),
		RunE:    func(_ *cobra.Command, args []string) error { return c.conformanceCore(args, c.dir) },
	}
	cmd.Flags().StringVar(&c.dir, "objects", ".", "directory with the objects that the expectations name")
	return cmd
}

func (c *conformanceCoreCommand) conformanceCore(files []string, objects string) error {
	sources, err := c.kernels.sources()
	if err != nil {
		return err
	}
	cfg := core.Config{Objects: objects, Parallel: runtime.GOMAXPROCS(0)}
	for _, s := range sources {
		cfg.Kernels = append(cfg.Kernels, core.Kernel{Name: s.Name, Open: func() (*loader.Target, error) { return c.kernels.target(s) }})
	}
	var total core.Result
	found := &findings{console: c.console}
	for _, path := range files {
		r, err := core.Check(path, cfg, found)
		if err != nil {
			return usageError{err}
		}
		total.Passed += r.Passed
		total.Failed += r.Failed
		total.Deviations += r.Deviations
	}
	summary := total.Summary()
	if total.Deviations > 0 {
		summary = fmt.Sprintf("%d differ from libbpf on purpose\n%s", total.Deviations, summary)
	}
	return found.compared(comparisonDocument{Passed: uint64(total.Passed), Failed: uint64(total.Failed), Deviations: uint64(total.Deviations)}, summary)
}

// recordOptions are the flags of conformance record core.
type recordOptions struct {
	dir, output, cc string
	libbpf          bool
}

// recordCoreCommand is bpfrun conformance record core.
type recordCoreCommand struct {
	*console
	linker

	recordOptions
}

func newRecordCoreCommand(a *app) *cobra.Command {
	c := &recordCoreCommand{console: &a.console, linker: a.linker()}
	cmd := &cobra.Command{
		Use:     "core [OBJECT...] --objects DIR --btf KERNELS -o FILE.jsonl[.gz]",
		Example: "  bpfrun conformance record core --libbpf --objects objects --btf 'kernels/*.btf' -o core.jsonl.gz",
		Short:   "Record the results of CO-RE relocation, as expectations for conformance core",
		Long: `Record the result of every CO-RE relocation of objects on kernels, as expectations for conformance
core: from bpfrun itself, or with --libbpf from this system's libbpf, which takes a C compiler and
libbpf's headers but no privileges. Without arguments all *.o below --objects are used.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error { return c.recordCore(args) },
	}
	f := cmd.Flags()
	f.StringVar(&c.dir, "objects", ".", "base directory for object names")
	f.StringVarP(&c.output, "output", "o", "", "`FILE` to write, compressed if the name ends in .gz (default: standard output)")
	f.BoolVar(&c.libbpf, "libbpf", false, "ask this system's libbpf instead of bpfrun")
	f.StringVar(&c.cc, "cc", "cc", "C compiler, with flags, that builds the libbpf harness")
	return cmd
}

func (c *recordCoreCommand) recordCore(paths []string) error {
	sources, err := c.kernels.sources()
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		if paths, err = objectsBelow(c.dir); err != nil {
			return usageError{err}
		}
	}
	ctx, stop := c.interruptible(context.Background())
	defer stop()
	var out bytes.Buffer
	if c.libbpf {
		err = c.recordLibbpf(ctx, &out, paths, sources)
	} else {
		err = c.recordOwn(ctx, &out, paths, sources)
	}
	if err != nil {
		return err
	}
	if c.output == "" || c.output == "-" {
		_, err = out.WriteTo(c.stdout)
		return err
	}
	return writeVectors(c.output, out.Bytes())
}

// objectsBelow lists the object files below a directory.
func objectsBelow(dir string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && filepath.Ext(path) == ".o" {
			out = append(out, path)
		}
		return err
	})
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("--objects %s: no *.o there", dir)
	}
	return out, err
}

// objectName returns an object's name in expectations: its path relative to the directory of
// --objects.
func objectName(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return filepath.Base(path)
}

// recordOwn records bpfrun's relocations of the objects. Objects that cannot be opened or loaded
// are skipped with a warning.
func (c *recordCoreCommand) recordOwn(ctx context.Context, w io.Writer, paths []string, sources []btfSource) error {
	for _, s := range sources {
		target, err := c.kernels.target(s)
		if err != nil {
			return err
		}
		for _, path := range paths {
			if err := ctx.Err(); err != nil {
				return codeError{exitFault, err}
			}
			obj, err := c.objects.open(path)
			if err == nil {
				err = core.Record(w, objectName(c.dir, path), obj, s.Name+".btf", target)
			}
			if err != nil {
				c.note("skipping %s on %s: %v", path, s.Name, err)
			}
		}
	}
	return nil
}

// recordLibbpf records the relocations of this system's libbpf.
func (c *recordCoreCommand) recordLibbpf(ctx context.Context, w io.Writer, paths []string, sources []btfSource) error {
	h, err := libbpf.Build(ctx, c.cc)
	if err != nil {
		return codeError{exitNotSimulated, err}
	}
	defer h.Close()
	c.note("libbpf %s", h.Version)
	for _, s := range sources {
		raw, err := c.rawFile(s)
		if err != nil {
			return err
		}
		for _, path := range paths {
			lines, err := h.Run(ctx, objectName(c.dir, path), path, s.Name+".btf", raw)
			if err != nil {
				os.Remove(raw)
				return codeError{exitNotSimulated, err}
			}
			if _, err := w.Write(lines); err != nil {
				os.Remove(raw)
				return err
			}
		}
		if err := os.Remove(raw); err != nil {
			return err
		}
	}
	return nil
}

// rawFile writes the source's BTF, uncompressed, to a temporary file.
func (c *recordCoreCommand) rawFile(s btfSource) (path string, err error) {
	spec, err := s.load(c.kernels.types())
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp("", "bpfrun-*.btf")
	if err != nil {
		return "", err
	}
	_, err = f.Write(spec.Raw())
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}
