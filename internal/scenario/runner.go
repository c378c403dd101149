package scenario

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys"
	"github.com/bpfrun/bpfrun/loader"
)

// Options configures runs where the file does not.
type Options struct {
	// Config configures the machine, except for Mode, Random and Verify, which follow from the file
	// and from Verify. The file takes precedence. Strict also turns reads of unset fields into
	// failures. Runners on one target may share Types.
	machine.Config
	Load loader.LoadOptions
	// SeedWins makes Seed override the file's seed. SeedStep is added to the seed in either case.
	SeedWins bool
	SeedStep uint64
	// Verify returns the machine's Verify function for a linked object. If it is nil, no program is
	// verified.
	Verify func(*loader.Linked) func(*loader.LinkedProgram) loader.Verified
	// Trace receives the instructions of runs of a single program; nil runs at full speed.
	Trace machine.Tracer
	// Reach makes [Skeleton] write the runs that get furthest with changed inputs, in place of
	// default runs.
	Reach bool
	// NameArgs makes [Skeleton] name the kernel objects behind all arguments of the hooks, also
	// those that the runs do not read.
	NameArgs bool
}

// Runner is a file that was checked against an object and a target and is ready to run. It has a
// machine of its own and is not safe for concurrent use. Close it after use.
type Runner struct {
	file  *File
	opt   Options
	m     *machine.Machine
	b     *builder
	base  *machine.Snapshot
	input map[*Run]*prepared
	// parts are the runs, one for each function, of those that are of several.
	parts map[*Run][]*Run
	hooks map[sameHook]*hook // while runs are prepared
	inv   invariants
}

// prepared is the input of a run.
type prepared struct {
	in     machine.Input
	fields map[string]uint64 // for a user ABI context
	// unknown are the keys of arguments that do not exist.
	unknown []*grammar.Node
	// cannot explains why the program cannot run on this target. If it is set, the arguments are
	// unchecked.
	cannot error
}

// Open links an object for a target with the file's options, creates and sets up a machine, and
// checks every name and value of the file. Mistakes in the file, including those that [Parse]
// found, are an [*Error] or [Errors]; any other error means that the object cannot be loaded.
func Open(f *File, obj *loader.Object, target *loader.Target, opt Options) (*Runner, error) {
	var wrong grammar.Mistakes
	load, err := f.loadOptions(obj, opt.Load)
	wrong.Add(err)
	wrong.Add(f.innerMaps(obj, &load))
	wrong.Add(f.hooks(obj, &load))
	wrong.Add(f.attachProgs(obj, &load))
	known := *f // do not check runs of unknown programs further
	known.Runs = nil
	for _, r := range f.Runs {
		if r.Simulated != nil && !wrong.Add(r.Simulated.choose(r, obj)) || !wrong.Add(r.inChain(obj)) {
			continue
		}
		if r.Race != nil && !wrong.Add(r.Race.choose(obj)) {
			continue
		}
		if r.Race != nil {
			for _, a := range r.Race.Actors {
				if a.Run != nil {
					load.Also = append(load.Also, a.Run.Prog)
				}
			}
		}
		load.Also = append(load.Also, r.Chain...)
		if _, ok := obj.Program(r.Prog); ok {
			known.Runs = append(known.Runs, r)
			load.Also = append(load.Also, r.Prog) // naming an optional program chooses it
		} else if r.ProgNode != nil {
			wrong.Add(r.ProgNode.Unknown("program", r.Prog, programNames(obj)))
		}
	}
	r, err := known.open(obj, target, load, opt)
	wrong.Add(err)
	if len(wrong.List)+len(f.found) > 0 {
		wrong.Other = nil // the failed load may be a consequence of the mistakes
	}
	besides(&wrong, f)
	if err := wrong.Final(); err != nil {
		if r != nil {
			r.Close()
		}
		return nil, err
	}
	r.file = f
	return r, nil
}

// open creates a runner for a file without unknown programs.
func (f *File) open(obj *loader.Object, target *loader.Target, load loader.LoadOptions, opt Options) (*Runner, error) {
	linked, err := obj.Load(f.target(target), subsys.Options(obj, target, load))
	if err != nil {
		return nil, err
	}
	cfg := f.config(opt)
	if opt.Verify != nil && !f.Unverified {
		cfg.Verify = opt.Verify(linked)
	}
	m, err := machine.New(linked, cfg)
	if err != nil {
		return nil, err
	}
	r := &Runner{file: f, opt: opt, m: m, input: map[*Run]*prepared{}, parts: map[*Run][]*Run{}}
	if err := r.setUp(); err != nil {
		m.Close()
		return nil, err
	}
	return r, nil
}

// Close releases the machine's memory.
func (r *Runner) Close() { r.m.Close() }

// Machine returns the machine. Its state is that after the last run.
func (r *Runner) Machine() *machine.Machine { return r.m }

func programNames(obj *loader.Object) []string {
	names := make([]string, len(obj.Programs))
	for i, p := range obj.Programs {
		names[i] = p.Name
	}
	return names
}

func (f *File) config(opt Options) machine.Config {
	cfg := opt.Config
	cfg.Mode, cfg.Random = object.ModeScenario, f.Kernel.Random
	if f.Kernel.Defaults {
		cfg.Mode = object.ModeDefault
	}
	cfg.Xattrs = f.Kernel.Xattrs
	cfg.Tracked = true // one scenario in a thousand must not fail because of where it stands
	cfg.Simulates = f.simulates()
	if cfg.Boot != 0 { // otherwise the machine's value would override the file's
		cfg.Clock.Boot, cfg.Boot = uint64(cfg.Boot), 0
	}
	if f.Kernel.CPUs != 0 {
		cfg.CPUs = f.Kernel.CPUs
	} else if n := f.cpus(); n > max(cfg.CPUs, 2) {
		cfg.CPUs = n
	}
	if f.Kernel.Seed != nil && !opt.SeedWins {
		cfg.Seed = *f.Kernel.Seed
	}
	cfg.Seed += opt.SeedStep
	c := f.Kernel.Clock
	for _, set := range []struct{ to, from *uint64 }{{&cfg.Clock.Boot, &c.Boot}, {&cfg.Clock.Mono, &c.Mono}, {&cfg.Clock.Real, &c.Real}, {&cfg.Clock.Step, &c.Step}, {&cfg.Clock.HZ, &c.HZ}} {
		if *set.from != 0 {
			*set.to = *set.from
		}
	}
	cfg.Clock.Frozen = cfg.Clock.Frozen || c.Frozen
	return cfg
}

// target returns the target with the file's kernel configuration.
func (f *File) target(t *loader.Target) *loader.Target {
	if len(f.Kernel.Kconfig) == 0 {
		return t
	}
	kconfig := maps.Clone(t.Kconfig)
	if kconfig == nil {
		kconfig = map[string]string{}
	}
	maps.Copy(kconfig, f.Kernel.Kconfig)
	opts := []loader.TargetOption{loader.WithModules(t.Modules...), loader.WithKconfig(kconfig)}
	if t.KconfigWhole {
		opts = append(opts, loader.WithWholeKconfig(kconfig))
	}
	if t.Version != 0 {
		opts = append(opts, loader.WithVersion(t.Version))
	}
	if t.Kallsyms != nil {
		opts = append(opts, loader.WithKallsyms(t.Kallsyms))
	}
	return loader.NewTarget(t.Name, t.BTF, opts...)
}

// loadOptions returns the options with the file's global variables, which the loader sets before
// loading, as a tool would.
func (f *File) loadOptions(obj *loader.Object, o loader.LoadOptions) (loader.LoadOptions, error) {
	if len(f.Globals) == 0 {
		return o, nil
	}
	set := maps.Clone(o.Globals)
	if set == nil {
		set = map[string]string{}
	}
	var wrong grammar.Mistakes
	for _, p := range f.Globals {
		own := map[string]string{} // discarded on a mistake, which would prevent the object from being linked
		_, v, ok := loader.FindVariable(obj.Maps, p.Key.Text, (*loader.Map).Settable)
		switch {
		case !ok:
			wrong.Add(p.Key.Unknown("global variable", p.Key.Text, loader.VariableNames(obj.Maps, (*loader.Map).Settable)))
		case obj.BTF == nil || v.Type == 0:
			wrong.Add(p.Key.Errorf("global variable %s has no type", p.Key.Text))
		case wrong.Add(globalText(obj.BTF, v.Type, p.Key.Text, p.Value, own)):
			if wrong.Add(check(obj.BTF, v, p.Value)) {
				maps.Copy(set, own)
			}
		}
	}
	o.Globals = set
	return o, wrong.Final()
}

// check encodes a variable's value only to find mistakes.
func check(spec *btf.Spec, v loader.Var, n *grammar.Node) error {
	var none *values
	return none.encode(spec, btf.Field{Type: v.Type}, n, make([]byte, v.Size))
}

// globalText converts a value to the loader's options: one string for each leaf, by path.
func globalText(spec *btf.Spec, id btf.ID, path string, n *grammar.Node, out map[string]string) error {
	switch {
	case isRef(n):
		return n.Errorf("%s: global variables are set before loading, when objects have no address yet", path)
	case n.Kind == grammar.Mapping && n.Tag == "":
		for _, p := range n.Pairs {
			f, ok, err := fieldOf(spec, id, p.Key)
			if err != nil {
				return err
			}
			if ok {
				if err := globalText(spec, f.Type, joinPath(path, f.Path), p.Value, out); err != nil {
					return err
				}
			}
		}
		return nil
	case n.Kind == grammar.Sequence && n.Tag == "":
		elem := spec.SkipMods(id).Ref
		for i, item := range n.Items {
			if err := globalText(spec, elem, fmt.Sprintf("%s[%d]", path, i), item, out); err != nil {
				return err
			}
		}
		return nil
	}
	x, err := plainValue(n)
	if err != nil {
		return err
	}
	switch x := x.(type) {
	case nil:
		out[path] = "null"
	case []byte:
		parts := make([]string, len(x))
		for i, c := range x {
			parts[i] = strconv.Itoa(int(c))
		}
		out[path] = "[" + strings.Join(parts, ", ") + "]"
	case string:
		if t := spec.SkipMods(id); t.Kind == btf.KindArray {
			out[path] = strconv.Quote(x)
			break
		}
		out[path] = x
	default:
		out[path] = fmt.Sprint(x)
	}
	return nil
}

// setUp creates the state before the runs, prepares the runs, and checks the whole file.
func (r *Runner) setUp() error {
	r.b = newBuilder(r.m.Kernel(), r.file)
	var wrong grammar.Mistakes
	if err := r.b.all(); err != nil {
		wrong.Add(r.wrapAny(err))
	}
	wrong.Add(r.b.openSockets())
	wrong.Add(r.setNetwork())
	wrong.Add(r.setKsyms())
	for _, p := range r.file.Maps {
		t, err := r.table(p.Key)
		if wrong.Add(err) {
			wrong.Add(t.set(p.Value))
		}
	}
	wrong.Add(r.prepare())
	wrong.Add(r.setInvariants())
	wrong.Add(r.setIgnored())
	wrong.Add(r.checkVaried())
	r.base = r.m.Snapshot()
	wrong.Add(r.checkAll())
	return wrong.Final()
}

// wrapAny gives an error without a position that of the objects.
func (r *Runner) wrapAny(err error) error {
	var e *grammar.Error
	if errors.As(err, &e) || len(r.file.Objects) == 0 {
		return err
	}
	return r.file.Objects[0].Key.Wrap("objects", err)
}

// setKsyms sets the values of kernel variables; for a per-CPU variable, on every CPU.
func (r *Runner) setKsyms() error {
	k := r.m.Kernel()
	var wrong grammar.Mistakes
	for _, p := range r.file.Kernel.Ksyms {
		var copies []*object.Object
		if o := k.PercpuObject(p.Key.Text, 0); o != nil {
			for cpu := range k.CPUs() {
				copies = append(copies, k.PercpuObject(p.Key.Text, cpu))
			}
		} else if o := k.Variable(p.Key.Text); o != nil {
			copies = append(copies, o)
		}
		if len(copies) == 0 {
			wrong.Add(p.Key.Unknown("kernel variable", p.Key.Text, kernelVariables(k.BTF())))
			continue
		}
		for _, o := range copies {
			if p.Value.Kind == grammar.Mapping && p.Value.Tag == "" {
				wrong.Add(r.b.set(o, "", p.Value, nil))
				continue
			}
			x, err := r.b.forKernel(p.Key.Text, p.Value)
			if !wrong.Add(err) {
				break // the other CPUs' copies fail in the same way
			}
			if err := o.Set("", x); err != nil {
				wrong.Add(p.Value.Wrap("", err))
				break
			}
		}
	}
	return wrong.Err()
}

func kernelVariables(spec *btf.Spec) []string {
	if spec == nil {
		return nil
	}
	var names []string
	for id := btf.ID(1); int(id) < spec.NumTypes(); id++ {
		if spec.Kind(id) == btf.KindVar {
			names = append(names, spec.Name(id))
		}
	}
	return names
}
