package corpus

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// Passes is how many times the programs of an object run, in file order, on one machine. The
// program that records an event may come after the one that looks it up in the object. The second
// pass finds the map entries of the first, like all but the first event on a live kernel.
const Passes = 2

// Config describes the machines that objects are measured on.
type Config struct {
	Seed uint64
	// Types is a cache of type layouts for measurements that share a target; nil for none.
	Types *object.Types
	// Optional includes programs of sections that begin with "?", which loaders skip by default.
	Optional bool
	// Settings are what user space does with the object; nil for nothing.
	Settings *ObjectSettings
	// Unverified also runs programs that the target's verifier refuses.
	Unverified bool
	// Serve gives the programs of a machine a bpf(2) until drop; nil for none.
	Serve func(linked *loader.Linked, m *machine.Machine) (drop func(), err error)
}

// Program is the result of one program.
type Program struct {
	Name string `json:"name"`
	Hook string `json:"hook"`
	// Status is the machine's status of the worst run.
	Status machine.Status `json:"status"`
	// Why is the reason, in one line, why the status is not ok.
	Why string `json:"why,omitempty"`
	// Reachable counts the instructions that constant propagation does not rule out on the target,
	// Executed those of them that a run executed.
	Reachable int `json:"reachable"`
	Executed  int `json:"executed"`
	// Runs is the number of runs of the program.
	Runs int `json:"runs"`
	// Insns is the number of instructions executed in all runs, Reads the number of locations read
	// in kernel objects.
	Insns uint64 `json:"insns"`
	Reads int    `json:"kernel_reads"`
	// Refusal: the program is meant to be refused, as its author marked it (BTF tag of the kernel's
	// selftests).
	Refusal bool `json:"must_be_refused,omitempty"`
}

// Row is the result of one object on one target.
type Row struct {
	// Package is the package of the object, such as its directory. Rows of a package share tables.
	Package  string    `json:"package"`
	Object   string    `json:"object"`
	Target   string    `json:"target"`
	Programs []Program `json:"programs"`
	// Fields are the kernel fields that were read, "type.path", sorted.
	Fields []string `json:"fields"`
	// Err is why the object could not be loaded, or "".
	Err string `json:"error,omitempty"`
}

// Sound reports whether every program ran to its end or has a hook that the target lacks: status
// ok, absent or unknown-hook. Programs that are not loaded are ignored.
func (r *Row) Sound() bool {
	if r.Err != "" {
		return false
	}
	for i := range r.Programs {
		if !r.Programs[i].sound() {
			return false
		}
	}
	return true
}

func (p *Program) sound() bool {
	switch p.Status {
	case machine.StatusOK, machine.StatusUnknownHook:
		return !p.Refusal
	case machine.StatusAbsent, machine.StatusDisabled:
		return true
	case machine.StatusRefused:
		return p.Refusal
	}
	return false
}

// refusalTag is the suffix of the declaration tag of programs that a kernel has to refuse
// (tools/testing/selftests/bpf, __failure): "comment:test_expect_failure", with a number between
// the two from Linux 7.2 on.
const (
	tagComment = "comment:"
	refusalTag = "test_expect_failure"
)

func isRefusalTag(tag string) bool {
	rest, ok := strings.CutPrefix(tag, tagComment)
	if number, text, numbered := strings.Cut(rest, ":"); numbered && strings.Trim(number, "0123456789") == "" {
		rest = text
	}
	return ok && rest == refusalTag
}

// refusals returns the functions of an object with that tag.
func refusals(spec *btf.Spec) map[btf.ID]bool {
	out := map[btf.ID]bool{}
	if spec == nil {
		return out
	}
	for id := spec.FirstID(); int(id) < spec.NumTypes(); id++ {
		if spec.Kind(id) != btf.KindDeclTag {
			continue
		}
		if t, err := spec.Type(id); err == nil && isRefusalTag(t.Name) {
			out[t.Ref] = true
		}
	}
	return out
}

// Share returns the executed share of the reachable instructions of the programs that ran. ok is
// false if none ran.
func (r *Row) Share() (share float64, ok bool) {
	reachable, executed := 0, 0
	for i := range r.Programs {
		if p := &r.Programs[i]; p.Runs > 0 {
			reachable += p.Reachable
			executed += p.Executed
		}
	}
	if reachable == 0 {
		return 0, false
	}
	return float64(executed) / float64(reachable), true
}

// Measure runs an object's programs on a target. Errors of the object are part of the row; the
// error is that of ctx, or of creating a context.
func Measure(ctx context.Context, obj *loader.Object, target *loader.Target, cfg Config) (*Row, error) {
	row := &Row{Object: obj.Name, Target: target.Name, Programs: []Program{}, Fields: []string{}}
	opts := loader.LoadOptions{}
	if cfg.Optional {
		for _, p := range obj.Programs {
			opts.Only = append(opts.Only, p.Name)
		}
	}
	if cfg.Settings != nil {
		opts.MapSizes = cfg.Settings.MapSizes
	}
	linked, err := obj.Load(target, opts)
	if err != nil {
		return row.refused(obj, err, cfg), nil
	}
	marked := refusals(obj.BTF)
	for _, lp := range linked.Programs {
		p := Program{Name: lp.Name, Hook: lp.Hook, Status: machine.Status(lp.Status.String()), Refusal: marked[lp.FuncType] || cfg.Settings.mustRefuse(lp.Name)}
		if lp.Err != nil {
			p.Why = reason(lp.Err)
		}
		row.Programs = append(row.Programs, p)
	}
	setup := machine.Config{Seed: cfg.Seed, Types: cfg.Types}
	if !cfg.Unverified {
		checker := verifier.NewChecker(linked, verifier.Options{})
		setup.Verify = func(lp *loader.LinkedProgram) loader.Verified { return checker.Verify(ctx, lp) }
	}
	m, err := machine.New(linked, setup)
	if err != nil {
		return row.refused(obj, err, cfg), nil
	}
	defer m.Close()
	if cfg.Serve != nil {
		drop, err := cfg.Serve(linked, m)
		if err != nil {
			return nil, err
		}
		defer drop()
	}
	fields := map[string]bool{}
	for range Passes {
		for i, name := range m.Names() {
			res, err := m.Run(ctx, name, machine.Input{})
			if err != nil {
				return nil, fmt.Errorf("%s on %s: program %s: %w", obj.Name, target.Name, name, err)
			}
			row.Programs[i].add(m, res)
			for j := range res.Reads {
				if a := &res.Reads[j]; a.Path != "" {
					fields[a.Type+"."+general(a.Path)] = true
				}
			}
		}
	}
	for f := range fields {
		row.Fields = append(row.Fields, f)
	}
	slices.Sort(row.Fields)
	return row, nil
}

// refused notes that no program of an object was loaded, which user space may expect.
func (r *Row) refused(obj *loader.Object, err error, cfg Config) *Row {
	if cfg.Settings == nil || !cfg.Settings.Refused["*"] {
		r.Err = err.Error()
		return r
	}
	for _, p := range obj.Programs {
		r.Programs = append(r.Programs, Program{Name: p.Name, Status: machine.StatusRefused, Why: reason(err), Refusal: true})
	}
	return r
}

// add adds a run.
func (p *Program) add(m *machine.Machine, res *machine.Result) {
	if p.Status == machine.StatusOK || p.Status == machine.StatusUnknownHook || p.sound() && res.Fault != nil {
		p.Status = res.Status
	}
	if err := m.ProgramError(p.Name); err != nil && p.Why == "" {
		p.Why = reason(err)
	}
	if f := res.Fault; f != nil && p.Why == "" {
		p.Why = fault(f, p.Status)
	}
	if res.Ran {
		p.Runs++
		p.Insns += res.Insns
		p.Reads += len(res.Reads)
		p.Reachable, p.Executed = res.Coverage.Reachable, res.Coverage.Executed
	}
}

// fault returns, in one line, why a run did not end normally. Refusals are shown without addresses,
// so that programs refused for the same reason have the same text.
func fault(f *machine.Fault, status machine.Status) string {
	switch {
	case f.Kind == vm.Poison:
		return oneLine("reaches an instruction whose CO-RE relocation failed: " + f.Hint)
	case status == machine.StatusRefused:
		return oneLine("reads past the arguments of its hook: " + f.Hint)
	}
	return oneLine(f.Fault.Error())
}

// general removes the indices of a path: the array elements that were read are not relevant for the
// type.
func general(path string) string {
	out := make([]byte, 0, len(path))
	inside := false
	for i := range len(path) {
		switch c := path[i]; {
		case c == '[':
			inside = true
		case c == ']':
			inside = false
		case !inside:
			out = append(out, c)
		}
	}
	return string(out)
}
