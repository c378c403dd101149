package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/loader"
)

// machineFlags configure the simulated machine.
type machineFlags struct {
	seed       uint64
	seedGiven  bool
	clockGiven bool
	clock      string
	cpu, cpus  int
	maxInsns   uint64
	engine     string
	strict     bool
	noVerify   bool
	ignore     []string

	differ differences // found by --engine both
}

func (m *machineFlags) add(fs *pflag.FlagSet) {
	fs.Uint64Var(&m.seed, "seed", 1, "seed `N` for all simulated values; overrides the seed of scenario files")
	fs.StringVar(&m.clock, "clock", "1h", "`TIME` since boot when a run starts")
	fs.IntVar(&m.cpu, "cpu", 0, "number `N` of the CPU the programs run on")
	fs.IntVar(&m.cpus, "cpus", 2, "number `N` of CPUs")
	fs.Uint64Var(&m.maxInsns, "max-insns", 100_000_000, "at most `N` instructions in one run")
	fs.StringVar(&m.engine, "engine", "auto", "execution engine `NAME`: interp, jit (native code), both (run both and compare), auto (native code for --repeat, --pcap and bench)")
	fs.BoolVar(&m.strict, "strict", false, "treat warnings (never-set fields, may-break relocations) as failures")
	listVar(fs, &m.ignore, "ignore", "", "silence findings of `KIND[:PROGRAM]` (leak, packet:ingress); repeatable")
	fs.BoolVar(&m.noVerify, "no-verify", false, "run programs even if the verifier of the kernel's release would refuse them")
}

// config returns the configuration of the machine. If pays is true, the engine auto is native code.
func (m *machineFlags) config(pays bool) (machine.Config, error) {
	engine, err := m.engineFor(pays)
	if err != nil {
		return machine.Config{}, err
	}
	switch {
	case m.cpus < 1 || m.cpus > machine.MaxCPUs:
		return machine.Config{}, usagef("--cpus %d: want 1 to %d", m.cpus, machine.MaxCPUs)
	case m.cpu < 0 || m.cpu >= m.cpus:
		return machine.Config{}, usagef("--cpu %d: want 0 to %d (--cpus %d)", m.cpu, m.cpus-1, m.cpus)
	case m.maxInsns < 1:
		return machine.Config{}, usagef("--max-insns 0: want at least 1")
	}
	boot, err := time.ParseDuration(m.clock)
	if err != nil || boot <= 0 {
		return machine.Config{}, usagef("--clock %q: want a duration such as 1h or 90s", m.clock)
	}
	ignore, err := m.ignored()
	if err != nil {
		return machine.Config{}, err
	}
	return machine.Config{Ignore: ignore, Seed: m.seed, CPUs: m.cpus, Boot: boot, MaxInsns: m.maxInsns, Strict: m.strict, Engine: engine, OnDifference: m.differ.add}, nil
}

// ignored reads --ignore.
func (m *machineFlags) ignored() ([]finding.Ignore, error) {
	var out []finding.Ignore
	for _, text := range m.ignore {
		i, err := finding.ParseIgnore(text)
		if err != nil {
			return nil, usageError{fmt.Errorf("--ignore: %w", err)}
		}
		out = append(out, i)
	}
	return out, nil
}

// checkIgnored checks that --ignore names programs of the objects.
func (m *machineFlags) checkIgnored(objects ...*loader.Object) error {
	list, err := m.ignored()
	for _, i := range list {
		names := make([]string, len(objects))
		for n, o := range objects {
			if _, ok := o.Program(i.Program); ok || i.Program == "" {
				names = nil
				break
			}
			names[n] = programNames(o)
		}
		if names != nil {
			return usagef("--ignore %s:%s: no such program (available: %s)", i.Kind, i.Program, strings.Join(names, ", "))
		}
	}
	return err
}

// scenarioOptions returns the flags as options of scenarios.
func (m *machineFlags) scenarioOptions(objects *objectFlags, cover *coverage) (scenario.Options, error) {
	cfg, err := m.config(false)
	if err != nil {
		return scenario.Options{}, err
	}
	load, err := objects.loadOptions()
	if err != nil {
		return scenario.Options{}, err
	}
	cfg.Cover = cover.sink()
	return scenario.Options{Config: cfg, Load: load, SeedWins: m.seedGiven}, nil
}
