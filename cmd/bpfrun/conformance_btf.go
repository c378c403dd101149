package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/conformance/btfcases"
	"github.com/bpfrun/bpfrun/conformance/record"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
)

// conformanceBTFCommand is bpfrun conformance btf.
type conformanceBTFCommand struct {
	*console
	linker

	root, dir string
	kernel    []string
}

func newConformanceBTFCommand(a *app) *cobra.Command {
	c := &conformanceBTFCommand{console: &a.console, linker: a.linker()}
	cmd := &cobra.Command{
		Use:   "btf FILE.jsonl[.gz]...",
		Short: "Check BTF and compare with the recorded verdicts of a real kernel",
		Long: `Recreate the mutants of recordings (conformance record btf), check each as the recorded kernel does, and compare. A line is
printed for each mutant that one side accepts and the other refuses; -v adds those refused with another error.
Exit code 1 when any verdict differs.`,
		Example: "  bpfrun conformance btf conformance/btfcases/testdata/linux-6.18.jsonl.gz",
		Args:    atLeast(1),
		RunE: func(_ *cobra.Command, args []string) error {
			var spec *btf.Spec
			if len(c.kernel) > 0 {
				var err error
				if spec, err = c.kernels.openBTF(c.kernel[0], ""); err != nil {
					return err
				}
			}
			return c.conformanceBTF(args, c.root, c.dir, spec)
		},
	}
	cmd.Flags().StringVar(&c.root, "objects", ".", "base directory for the paths of sources")
	cmd.Flags().StringSliceVar(&c.kernel, "kernel-btf", nil, "BTF of the kernel of the recordings: kptrs to its types need a destructor")
	cmd.Flags().StringVar(&c.dir, "write", "", "directory for the BTF of each difference")
	return cmd
}

func (c *conformanceBTFCommand) conformanceBTF(paths []string, root, dir string, kernel *btf.Spec) error {
	seeds, err := btfcases.Seeds()
	if err != nil {
		return err
	}
	var total btfcases.Result
	var unwritten error
	out := &findings{console: c.console}
	for _, path := range paths {
		err := btfcases.Read(path, func(l *btfcases.Line) error {
			raw, err := btfSourceRaw(c.objects, seeds, root, l.Source)
			if err != nil {
				return err
			}
			if btfcases.Hash(raw) != l.SHA256 {
				return fmt.Errorf("%s: its BTF differs from the recording's", l.Source)
			}
			_, version, ok := loader.ParseRelease(l.Kernel)
			if !ok {
				return fmt.Errorf("%q is not a release of Linux", l.Kernel)
			}
			total.Add(btfcases.Compare(l, raw, uapi.ReleaseOf(version), hasType(kernel), func(n int, raw []byte, ours error) {
				if letter := l.Verdicts[n]; (letter == '.') == (ours == nil) && !c.verbose {
					return
				}
				visible.Fprintf(out, "%s mutant %d: the kernel %s, ours: %v\n", l.Source, n, shownLetter(l.Verdicts[n]), orAccepted(ours))
				if dir != "" {
					name := filepath.Join(dir, fmt.Sprintf("%s-%d.btf", filepath.Base(l.Source), n))
					if err := os.WriteFile(name, raw, 0o644); err != nil && unwritten == nil {
						unwritten = err
					}
				}
			}))
			return nil
		})
		if err != nil {
			return codeError{exitLoad, err}
		}
	}
	if unwritten != nil {
		return usageError{unwritten}
	}
	asked := total.Cases - total.NotAsked
	summary := fmt.Sprintf("%d cases, %d accepted by the kernel, %d not asked: %d with another verdict (%.4f %% the same), %d refused with another error",
		total.Cases, total.Accepted, total.NotAsked, total.Wrong, 100*float64(asked-total.Wrong)/float64(max(asked, 1)), total.OtherErrno)
	return out.compared(comparisonDocument{Passed: uint64(asked - total.Wrong), Failed: uint64(total.Wrong), Skipped: uint64(total.NotAsked)}, summary)
}

func shownLetter(letter byte) string {
	if letter == '.' {
		return "accepts"
	}
	for _, e := range []uapi.Errno{uapi.EINVAL, uapi.E2BIG, uapi.EEXIST, uapi.ELOOP, uapi.ENOENT, uapi.EFAULT} {
		if l, _ := btfcases.Letter(e); l == letter {
			return "refuses with " + e.Error()
		}
	}
	return "refuses"
}

func orAccepted(err error) string {
	if err == nil {
		return "accepted"
	}
	return err.Error()
}

// hasType returns a function that reports whether a kernel's BTF has a type.
func hasType(kernel *btf.Spec) btfcases.Kernel {
	if kernel == nil {
		return nil
	}
	return func(kind btf.Kind, name string) bool {
		_, ok := kernel.FindID(kind, name)
		return ok
	}
}

// btfSourceRaw returns the BTF of a source: a seed, or that of a file below a directory; an
// object's in the form in which libbpf passes it to kernels.
func btfSourceRaw(objects *objectFlags, seeds []btfcases.Source, root, name string) ([]byte, error) {
	for _, s := range seeds {
		if s.Name == name {
			return s.Raw, nil
		}
	}
	path := filepath.Join(root, filepath.FromSlash(name))
	if obj, err := objects.open(path); err == nil && obj.BTF != nil {
		return obj.KernelBTF()
	}
	spec, err := btf.Load(path, nil)
	if err != nil {
		return nil, err
	}
	return spec.Raw(), nil
}

// recordBTFCommand is bpfrun conformance record btf.
type recordBTFCommand struct {
	*console
	objects *objectFlags
	sim     *machineFlags

	output, root string
	mutants      int
}

func newRecordBTFCommand(a *app) *cobra.Command {
	c := &recordBTFCommand{console: &a.console, objects: &a.objects, sim: &a.sim}
	cmd := &cobra.Command{
		Use:     "btf [FILE]... -o FILE.jsonl[.gz]",
		Example: "  sudo bpfrun conformance record btf prog.o -o btf.jsonl.gz",
		Short:   "Ask the running kernel about mutants of BTF, for conformance btf",
		Long: `Pass mutants of BTF, a few built-in ones and those of FILEs, to this machine's BPF_BTF_LOAD, and record which are accepted
and the errors of the others. Loads are paced. Mutants that crash some kernels are skipped. Needs root.`,
		RunE: func(_ *cobra.Command, args []string) error { return c.recordBTF(args, c.output, c.root, c.mutants) },
	}
	cmd.Flags().StringVarP(&c.output, "output", "o", "", "`FILE` to write, compressed if the name ends in .gz (default: standard output)")
	cmd.Flags().StringVar(&c.root, "objects", ".", "base directory for the paths of sources")
	cmd.Flags().IntVar(&c.mutants, "mutations", 1000, "mutants of each source, determined by --seed")
	return cmd
}

func (c *recordBTFCommand) recordBTF(files []string, output, root string, mutants int) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	sources, err := btfcases.Seeds()
	if err != nil {
		return err
	}
	for _, f := range files {
		raw, err := btfSourceRaw(c.objects, nil, root, f)
		if err != nil {
			return codeError{exitLoad, err}
		}
		sources = append(sources, btfcases.Source{Name: filepath.ToSlash(f), Raw: raw})
	}
	kernel, err := btf.LoadHost()
	if err != nil {
		return codeError{exitNotSimulated, fmt.Errorf("record btf: the running kernel's types: %w", err)}
	}
	w, err := c.createVectors(output)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(visible.JSON{W: w})
	err = c.recordSources(ctx, sources, mutants, hasType(kernel), enc.Encode)
	return errors.Join(err, w.Close())
}

func (c *recordBTFCommand) recordSources(ctx context.Context, sources []btfcases.Source, mutants int, kernel btfcases.Kernel, emit func(any) error) error {
	accepted, total := 0, 0
	for _, s := range sources {
		l := btfcases.Line{Kernel: record.Release(), Source: s.Name, SHA256: btfcases.Hash(s.Raw), Seed: c.sim.seed}
		letters := make([]byte, 0, mutants)
		for n := range mutants {
			if err := ctx.Err(); err != nil {
				return err
			}
			raw := btfcases.Mutant(s.Raw, c.sim.seed, uint64(n))
			if btfcases.Unsafe(raw, kernel) {
				letters = append(letters, btfcases.NotAsked)
				continue
			}
			errno, err := record.BTFVerdict(raw)
			if err != nil {
				return codeError{exitNotSimulated, err}
			}
			letter, ok := btfcases.Letter(errno)
			if !ok {
				return codeError{exitNotSimulated, fmt.Errorf("record btf: BPF_BTF_LOAD of mutant %d of %s: %w, which is not about the BTF", n, s.Name, errno)}
			}
			if letter == '.' {
				accepted++
			}
			letters = append(letters, letter)
		}
		total += len(letters)
		l.Verdicts = string(letters)
		if err := emit(&l); err != nil {
			return err
		}
	}
	c.note("Linux %s: %d of %d accepted", record.Release(), accepted, total)
	return nil
}
