package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/report"
	"github.com/bpfrun/bpfrun/uapi"
)

// benchOptions are the flags of the bench command.
type benchOptions struct {
	prog    string
	memory  string
	compare string
}

func (a *app) benchCommand() *cobra.Command {
	var o benchOptions
	cmd := &cobra.Command{
		Use:   "bench OBJECT -p PROGRAM [--mem FILE] [--compare FILE]",
		Short: "Measure how long a program takes",
		Long: `Run a program in 40 batches of at least 3 ms and print the time of a run: the best and the
median batch. Without --mem every run gets a default context, which is not part of the time; of a program that gets packets it is: the
time is that of a packet in a replay. With --mem the program
is raw, whatever its section says: r1 points to a private copy of FILE in simulated memory, r2 is its length.

--compare reads what an earlier bench --json of the program wrote, and says whether this one is faster or slower: the batches
differ by more than chance explains (Mann-Whitney U test, p < 0.01) and the medians by more than 3 %. The exit code is 1 when it is
slower. Both have to be measured on one machine that does nothing else.`,
		Example: "  bpfrun bench prog.o -p filter --json >before.json\n  bpfrun bench prog.o -p filter --compare before.json\n  bpfrun bench hash.o -p fnv1a --mem input.bin",
		Args:    oneObject,
		RunE:    func(_ *cobra.Command, args []string) error { return a.bench(args[0], o) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.prog, "prog", "p", "", "`PROGRAM` to measure; needed when the object has several")
	f.StringVar(&o.compare, "compare", "", "compare with `FILE`, which bench --json wrote")
	f.StringVar(&o.memory, "mem", "", "`FILE` whose bytes the program gets: r1 = their address, r2 = their number")
	return cmd
}

func (a *app) bench(path string, o benchOptions) error {
	engine, err := a.machineEngine(true)
	if err != nil {
		return err
	}
	if err := a.checkCPUs(); err != nil {
		return err
	}
	var memory []byte
	if o.memory != "" {
		if memory, err = readFlagFile("mem", o.memory); err != nil {
			return err
		}
	}
	var earlier *report.BenchDocument
	if o.compare != "" {
		data, err := readFlagFile("compare", o.compare)
		if err != nil {
			return err
		}
		if earlier, err = report.ReadBench(data); err != nil {
			return usagef("--compare %s: %v", o.compare, err)
		}
	}
	sources, err := a.btfSources()
	if err != nil {
		return err
	}
	if len(sources) != 1 {
		return usagef("bench works on one target, --btf names %d", len(sources))
	}
	began := time.Now()
	obj, err := a.openObject(path)
	if err != nil {
		return err
	}
	if o.prog, err = programToMeasure(obj, o.prog); err != nil {
		return err
	}
	if memory != nil {
		// The type of a raw program means nothing: it must not keep it from being loaded.
		a.types = append(a.types, o.prog+"="+uapi.ProgTypeSyscall.String())
		if obj, err = a.openObject(path); err != nil {
			return err
		}
	}
	opened := time.Since(began)
	target, err := a.target(sources[0])
	if err != nil {
		return err
	}
	began = time.Now()
	linked, err := a.linkTo(obj, target, o.prog)
	if err != nil {
		return err
	}
	doc := &report.BenchDocument{Schema: report.Schema, Object: obj.Name, Program: o.prog, Engine: engineName(engine), Target: report.NewTarget(target, sources[0].Path)}
	m, err := machine.New(linked, machine.Config{Seed: a.seed, CPUs: a.cpus, MaxInsns: a.maxInsns, Strict: a.strict, Uncovered: true, Engine: engine, OnDifference: a.differ.add})
	if err != nil {
		return codeError{exitLoad, err}
	}
	defer m.Close()
	doc.LoadNS = (opened + time.Since(began)).Nanoseconds()
	ctx, stop := a.interruptible(context.Background())
	defer stop()
	res, err := m.Measure(ctx, o.prog, machine.Input{CPU: a.cpu}, memory)
	if err != nil {
		return codeError{exitFault, err}
	}
	if err := benchFailure(m, res.First); err != nil {
		return err
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
		if err := doc.Compare(earlier, o.compare); err != nil {
			return usagef("--compare %s: %v", o.compare, err)
		}
		if doc.Compared.Verdict == "slower" {
			doc.Exit = exitExpectation
			a.code = doc.Exit
		}
	}
	if a.jsonOut {
		return report.WriteJSON(a.stdout, doc)
	}
	return report.WriteBench(a.stdout, doc)
}

// round keeps a tenth of a nanosecond.
func round(ns float64) float64 { return math.Round(ns*10) / 10 }

func programToMeasure(obj *loader.Object, name string) (string, error) {
	if name == "" {
		if len(obj.Programs) != 1 {
			return "", usagef("bench: name one program with -p (%s has %s)", obj.Name, programNames(obj))
		}
		return obj.Programs[0].Name, nil
	}
	if _, ok := obj.Program(name); !ok {
		return "", usagef("-p %s: %s has no such program (it has %s)", name, obj.Name, programNames(obj))
	}
	return name, nil
}

// benchFailure is the error of a first run that did not end well.
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
