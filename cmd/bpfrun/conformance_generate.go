package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/conformance/isa"
	"github.com/bpfrun/bpfrun/conformance/isa/generate"
	"github.com/bpfrun/bpfrun/conformance/isa/record"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// generateFlags select programs of the generator.
type generateFlags struct {
	count, first uint64
	runs         int
	only         string
	small        bool
	kernel       bool
	show         bool
	mutate       bool
	output       string
}

func (g *generateFlags) add(cmd *cobra.Command, count uint64) {
	f := cmd.Flags()
	f.Uint64Var(&g.count, "count", count, "number of programs")
	f.Uint64Var(&g.first, "first", 0, "index of the first program")
	f.IntVar(&g.runs, "runs", 4, "inputs per program")
	f.StringVar(&g.only, "only", "", "only one kind of program: form (about one instruction), sequence (of fused instructions), random, or two kinds not included by default: walk (loops over memory) and recursion (such loops in recursive functions)")
	f.BoolVar(&g.small, "small", false, "small programs with inputs that compress well")
}

func (g *generateFlags) config() (generate.Config, error) {
	switch g.only {
	case "", generate.Form, generate.Sequence, generate.Random, generate.Walk, generate.Recursion:
	default:
		return generate.Config{}, usagef("--only %s: want form, sequence, random, walk or recursion", g.only)
	}
	if g.runs < 1 {
		return generate.Config{}, usagef("--runs %d: want at least 1", g.runs)
	}
	return generate.Config{Runs: g.runs, Only: g.only, Small: g.small}, nil
}

// conformanceGenerateCommand is bpfrun conformance generate.
type conformanceGenerateCommand struct {
	*console
	sim *machineFlags

	generateFlags
}

func newConformanceGenerateCommand(a *app) *cobra.Command {
	c := &conformanceGenerateCommand{console: &a.console, sim: &a.sim}
	cmd := &cobra.Command{
		Use:     "generate [--count N] [--seed S] [--kernel]",
		Example: "  bpfrun conformance generate --count 100000 --seed 7",
		Short:   "Compare interpreter, reference evaluator and the running kernel on generated programs",
		Long: `Generate random valid programs and compare the interpreter with the reference evaluator, and with
--kernel also with the running kernel (BPF_PROG_LOAD and BPF_PROG_TEST_RUN only; needs root). The same
--seed gives the same programs. Programs with different results are printed, with exit code 1.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return c.generate() },
	}
	c.generateFlags.add(cmd, 20_000)
	cmd.Flags().BoolVar(&c.kernel, "kernel", false, "also run them on this machine's kernel")
	cmd.Flags().BoolVar(&c.mutate, "mutate", false, "corrupt fields of the programs, so that most of them fault")
	cmd.Flags().BoolVar(&c.show, "show", false, "print the program --first instead")
	return cmd
}

func (x *conformanceGenerateCommand) generate() error {
	modes, err := x.sim.isaModes()
	if err != nil {
		return err
	}
	programs, err := x.config()
	if err != nil {
		return err
	}
	cfg := isa.DifferentialConfig{Seed: x.sim.seed, First: x.first, Count: x.count, Generate: programs, Mutate: x.mutate}
	if x.sim.engine != "auto" { // else all modes in turn
		cfg.Modes = modes
	}
	if x.kernel {
		if x.only == generate.Recursion {
			return usagef("--only recursion --kernel: no kernel accepts such programs")
		}
		cfg.Generate.Kernel, cfg.Generate.Version = true, record.Version()
		cfg.Other = func() (isa.OtherRunner, error) { return record.Open() }
	}
	if x.show && x.json {
		return usagef("generate --show has no --json: it writes assembly")
	}
	if x.show {
		c := generate.New(x.sim.seed, cfg.Generate).Case(x.first)
		visible.Fprintf(x.stdout, "%s %s %s\n%s", c.Name(), c.Cat, c.Form, isa.Listing(c.Insns))
		return nil
	}
	ctx, cancel := x.interruptible(context.Background())
	defer cancel()
	start := time.Now()
	watch := x.progress("programs", int(x.count))
	cfg.Progress = func(done uint64) { watch.set(int(done), int(x.count)) }
	r, err := isa.Differential(ctx, cfg)
	watch.end()
	if r == nil || err != nil && !errors.Is(err, context.Canceled) {
		return codeError{exitNotSimulated, err}
	}
	found := &findings{console: x.console}
	for _, d := range r.Disagreements {
		visible.Fprintln(found, d.Text)
	}
	if !x.json {
		writeReasons(x.console, r.Reasons)
	}
	who := "interpreter = reference"
	if len(cfg.Modes) > 0 {
		who = ""
		for _, m := range cfg.Modes {
			who += m.Name + " = "
		}
		who += "reference"
	}
	if x.kernel {
		who += " = Linux " + record.Release()
	}
	if err != nil { // interrupted
		x.code = exitExpectation
	}
	summary := fmt.Sprintf("%s, seed %d: %s (%.0f s)", who, x.sim.seed, r.Summary(), time.Since(start).Seconds())
	return found.compared(comparisonDocument{Passed: r.Programs - min(r.Programs, r.Disagreeing+r.Rejected), Failed: r.Disagreeing, Skipped: r.Rejected}, summary)
}

// writeReasons prints the kernel's reasons for refusing programs, most frequent first.
func writeReasons(c *console, m map[string]uint64) {
	if !c.verbose {
		return
	}
	keys := slices.SortedFunc(maps.Keys(m), func(x, y string) int {
		return int(m[y]) - int(m[x]) + strings.Compare(x, y)/2
	})
	for _, k := range keys {
		visible.Fprintf(c.stdout, "refused %d times: %s\n", m[k], k)
	}
}

func newConformanceRecordCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "record",
		Short: "Record results of the running kernel",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRecordISACommand(a), newRecordCasesCommand(a), newRecordCoreCommand(a), newRecordVerdictsCommand(a), newRecordBTFCommand(a))
	return cmd
}

// recordISACommand is bpfrun conformance record isa.
type recordISACommand struct {
	*console
	sim *machineFlags

	generateFlags
}

func newRecordISACommand(a *app) *cobra.Command {
	c := &recordISACommand{console: &a.console, sim: &a.sim}
	cmd := &cobra.Command{
		Use:     "isa -o FILE.jsonl[.gz]",
		Example: "  sudo bpfrun conformance record isa --count 500 -o vectors.jsonl.gz",
		Short:   "Run generated programs on the running kernel and write vectors for conformance isa",
		Long: `Run generated programs on this machine's kernel with BPF_PROG_TEST_RUN and write the results as vectors for
conformance isa. Needs root; nothing is attached or pinned.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			programs, err := c.config()
			if err != nil {
				return err
			}
			var out bytes.Buffer
			ctx, cancel := c.interruptible(context.Background())
			defer cancel()
			cfg := record.Config{Seed: c.sim.seed, First: c.first, Count: c.count, Generate: programs}
			cfg.Generate.Version = record.Version()
			r, err := record.Programs(ctx, cfg, &out)
			if err != nil {
				return codeError{exitNotSimulated, err}
			}
			writeReasons(c.console, r.Reasons)
			visible.Fprintf(c.stderr, "Linux %s, seed %d: %s\n", record.Release(), c.sim.seed, r.Summary())
			if c.output == "" || c.output == "-" {
				_, err = out.WriteTo(c.stdout)
				return err
			}
			return writeVectors(c.output, out.Bytes())
		},
	}
	c.generateFlags.add(cmd, 1000)
	cmd.Flags().StringVarP(&c.output, "output", "o", "", "`FILE` to write, compressed if the name ends in .gz (default: standard output)")
	return cmd
}

// writeVectors writes a file of lines, compressed if its name ends in .gz.
func writeVectors(path string, data []byte) error {
	w, err := createFile(path)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return errors.Join(err, w.Close())
}

// createVectors opens a file of lines for writing; "" and "-" are standard output.
func (c *console) createVectors(path string) (io.WriteCloser, error) {
	if path == "" || path == "-" {
		return keepOpen{c.stdout}, nil
	}
	return createFile(path)
}

// keepOpen is a writer whose Close does nothing.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

// zipped closes the compressor and the underlying file.
type zipped struct {
	*gzip.Writer
	file *os.File
}

func (z zipped) Close() error { return errors.Join(z.Writer.Close(), z.file.Close()) }

func createFile(path string) (io.WriteCloser, error) {
	f, err := os.Create(path)
	if err != nil || !strings.HasSuffix(path, ".gz") {
		return f, err
	}
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return zipped{z, f}, nil
}
