package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
)

// benchOptions are the flags of the bench command.
type benchOptions struct {
	prog    string
	memory  string
	compare string
	reports reportFiles
}

// benchCommand is bpfrun bench.
type benchCommand struct {
	*console
	linker
	sim *machineFlags

	benchOptions
}

func newBenchCommand(a *app) *cobra.Command {
	c := &benchCommand{console: &a.console, linker: a.linker(), sim: &a.sim}
	cmd := &cobra.Command{
		Use:   "bench OBJECT -p PROGRAM [--mem FILE] [--compare FILE]",
		Short: "Measure how long a program takes",
		Long: `Run a program in 40 batches of at least 3 ms and print the time of one run: the best and the median batch. Each run gets
a default context, whose making is not timed.

Programs that take packets run as in the kernel's BPF_PROG_TEST_RUN with repeat:
on one packet and one context, which each run finds as the one before left them. With --mem the section name is ignored: r1
points to a private copy of FILE in simulated memory, r2 is its length.

--compare reads the output of an earlier bench --json of the same program and reports whether this one is faster or slower:
the batches differ significantly (Mann-Whitney U test, p < 0.01) and the medians by more than 3 %. Exit code 1 when it is
slower. Measure both on the same, otherwise idle machine.`,
		Example: "  bpfrun bench prog.o -p filter --json >before.json\n  bpfrun bench prog.o -p filter --compare before.json\n  bpfrun bench hash.o -p fnv1a --mem input.bin",
		Args:    oneObject,
		RunE:    func(_ *cobra.Command, args []string) error { return c.bench(args[0]) },
	}
	f := cmd.Flags()
	f.StringVarP(&c.prog, "prog", "p", "", "`PROGRAM` to measure; needed when the object has several")
	f.StringVar(&c.compare, "compare", "", "compare with `FILE`, which bench --json wrote")
	c.reports.add(f, "html")
	f.StringVar(&c.memory, "mem", "", "`FILE` to pass to the program as memory: r1 = address, r2 = length")
	return cmd
}

func (c *benchCommand) bench(path string) error {
	cfg, err := c.sim.config(true)
	if err != nil {
		return err
	}
	cfg.Uncovered = true
	if err := c.reports.check(); err != nil {
		return err
	}
	var memory []byte
	if c.memory != "" {
		if memory, err = readFlagFile("mem", c.memory); err != nil {
			return err
		}
	}
	var earlier *report.BenchDocument
	if c.compare != "" {
		data, err := readFlagFile("compare", c.compare)
		if err != nil {
			return err
		}
		if earlier, err = report.ReadBench(data); err != nil {
			return usagef("--compare %s: %v", c.compare, err)
		}
	}
	source, err := c.kernels.one("bench works on one kernel")
	if err != nil {
		return err
	}
	began := time.Now()
	obj, err := c.objects.open(path)
	if err != nil {
		return err
	}
	if c.prog, err = programToMeasure(obj, c.prog); err != nil {
		return err
	}
	if memory != nil {
		// The type of a raw program is irrelevant: it must not prevent loading.
		c.objects.types = append(c.objects.types, c.prog+"="+uapi.ProgTypeSyscall.String())
		if obj, err = c.objects.open(path); err != nil {
			return err
		}
	}
	opened := time.Since(began)
	target, err := c.kernels.target(source)
	if err != nil {
		return err
	}
	began = time.Now()
	linked, err := c.linkTo(obj, target, c.prog)
	if err != nil {
		return err
	}
	doc := &report.BenchDocument{Schema: report.Schema, Object: obj.Name, Program: c.prog, Engine: engineName(cfg.Engine), Target: report.NewTarget(target, source.Path)}
	if !c.sim.noVerify {
		cfg.Verify = verifier.Excuse(context.Background())(linked)
	}
	m, err := machine.New(linked, cfg)
	if err != nil {
		return codeError{exitLoad, err}
	}
	defer m.Close()
	doc.LoadNS = (opened + time.Since(began)).Nanoseconds()
	ctx, stop := c.interruptible(context.Background())
	defer stop()
	res, err := m.Measure(ctx, c.prog, machine.Input{CPU: c.sim.cpu}, memory)
	if err != nil {
		return codeError{exitFault, err}
	}
	if err := benchFailure(m, res.First); err != nil {
		return err
	}
	for _, w := range res.First.Warnings {
		visible.Fprintf(c.stderr, "bpfrun: warning: %s\n", w)
	}
	for _, f := range res.First.Findings {
		visible.Fprintf(c.stderr, "bpfrun: finding: %s\n", f)
	}
	doc.Ret, doc.Insns, doc.CompileNS = report.Hex64(res.First.Ret), res.First.Insns, res.Compile.Nanoseconds()
	doc.Min, doc.Median, doc.Native = round(res.Min), round(res.Median), math.Round(1000*res.Native)/1000
	if doc.Engine == "jit" && doc.Native < 0.5 {
		doc.Engine = "interp"
	}
	for _, ns := range res.Batches {
		doc.Batches = append(doc.Batches, round(ns))
	}
	if earlier != nil {
		if err := doc.Compare(earlier, c.compare); err != nil {
			return usagef("--compare %s: %v", c.compare, err)
		}
		if doc.Compared.Verdict == "slower" {
			doc.Exit = exitExpectation
			c.code = doc.Exit
		}
	}
	if err := c.reports.write("html", func(w io.Writer) error { return report.WriteBenchHTML(w, doc) }); err != nil {
		return err
	}
	if c.json {
		return report.WriteJSON(c.stdout, doc)
	}
	return report.WriteBench(c.stdout, doc)
}

// round rounds to a tenth of a nanosecond.
func round(ns float64) float64 { return math.Round(ns*10) / 10 }

func programToMeasure(obj *loader.Object, name string) (string, error) {
	if name == "" {
		if len(obj.Programs) != 1 {
			return "", usagef("bench: name one program with -p (%s has %s)", obj.Name, programNames(obj))
		}
		return obj.Programs[0].Name, nil
	}
	if _, ok := obj.Program(name); !ok {
		return "", usagef("-p %s: no such program in %s (available: %s)", name, obj.Name, programNames(obj))
	}
	return name, nil
}

// benchFailure returns the error of a failed first run.
func benchFailure(m *machine.Machine, r *machine.Result) error {
	why := m.ProgramError(r.Program)
	if r.Fault != nil {
		why = r.Fault
	}
	code := map[machine.Status]int{
		machine.StatusFault: exitFault, machine.StatusNotSimulated: exitNotSimulated, machine.StatusRefused: exitLoad,
		machine.StatusAbsent: exitLoad, machine.StatusDisabled: exitLoad,
	}[r.Status]
	if code == exitOK {
		return nil
	}
	return codeError{code, fmt.Errorf("%s: %s: %w", r.Program, r.Status, why)}
}
