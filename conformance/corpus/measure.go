package corpus

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/kernel"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/vm"
)

// Passes is how often the programs of an object run, in file order, on one machine. Objects do not
// promise to define the program that remembers an event before the one that looks it up: a second pass
// meets what the first one left in the maps, as every event but the first does on a live kernel.
const Passes = 2

// Config describes the machines objects are measured on.
type Config struct {
	Seed uint64
	// Types is a cache of type layouts that measurements on one target share; nil for none.
	Types *kernel.Types
	// Optional also runs the programs of sections that begin with "?", which loaders leave out unless asked.
	Optional bool
}

// Program is what became of one program.
type Program struct {
	Name string `json:"name"`
	Hook string `json:"hook"`
	// Status is that of the worst run, in the machine's words.
	Status machine.Status `json:"status"`
	// Why says in a line why the status is not ok.
	Why string `json:"why,omitempty"`
	// Reachable and Executed count instructions: those constant propagation cannot rule out on the
	// target, and those of them that any of the runs executed.
	Reachable int `json:"reachable"`
	Executed  int `json:"executed"`
	// Runs is how often the program was executed.
	Runs int `json:"runs"`
	// Insns is how many instructions all runs executed, Reads how many places of kernel objects they read.
	Insns uint64 `json:"insns"`
	Reads int    `json:"kernel_reads"`
	// Refusal means that the program is there to be refused: its author marked it so (BTF tag of the kernel's selftests).
	Refusal bool `json:"must_be_refused,omitempty"`
}

// Row is one object on one target.
type Row struct {
	// Package is what the object is part of, such as the directory it lies in; rows of a package share tables.
	Package  string    `json:"package"`
	Object   string    `json:"object"`
	Target   string    `json:"target"`
	Programs []Program `json:"programs"`
	// Fields are the kernel fields read, "type.path", sorted.
	Fields []string `json:"fields"`
	// Err is why the object could not be loaded at all, "" when it could.
	Err string `json:"error,omitempty"`
}

// Sound reports whether every program ran to its end or has a hook the target lacks: a status of ok, absent or
// unknown-hook. A program that was not asked to load is none.
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
	case machine.StatusOK, machine.StatusAbsent, machine.StatusUnknownHook, machine.StatusDisabled:
		return true
	case machine.StatusRefused, machine.StatusFault:
		return p.Refusal
	}
	return false
}

// refusalTag is what the declaration tag of programs that a kernel has to refuse ends with (tools/testing/selftests/bpf, __failure):
// "comment:test_expect_failure", with a number between the two from Linux 7.2 on.
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

// Share returns the executed share of the reachable instructions of the programs that ran; ok is false
// when none did.
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

// Measure runs an object's programs on a target. What is wrong with the object is part of the row; the error is that of
// ctx, or of a context that could not be made.
func Measure(ctx context.Context, obj *loader.Object, target *loader.Target, cfg Config) (*Row, error) {
	row := &Row{Object: obj.Name, Target: target.Name, Programs: []Program{}, Fields: []string{}}
	opts := loader.LoadOptions{}
	if cfg.Optional {
		for _, p := range obj.Programs {
			opts.Only = append(opts.Only, p.Name)
		}
	}
	linked, err := obj.Load(target, opts)
	if err != nil {
		row.Err = err.Error()
		return row, nil
	}
	marked := refusals(obj.BTF)
	for _, lp := range linked.Programs {
		p := Program{Name: lp.Name, Hook: lp.Hook, Status: machine.Status(lp.Status.String()), Refusal: marked[lp.FuncType]}
		if lp.Err != nil {
			p.Why = reason(lp.Err)
		}
		row.Programs = append(row.Programs, p)
	}
	m, err := machine.New(linked, machine.Config{Seed: cfg.Seed, Types: cfg.Types})
	if err != nil {
		row.Err = err.Error()
		return row, nil
	}
	defer m.Close()
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

// fault returns the reason of a run that did not end, in a line. Addresses are left out of refusals, so that programs refused for one
// reason have one text.
func fault(f *machine.Fault, status machine.Status) string {
	switch {
	case f.Kind == vm.Poison:
		return oneLine("reaches an instruction whose CO-RE relocation failed: " + f.Hint)
	case status == machine.StatusRefused:
		return oneLine("reads past the arguments of its hook: " + f.Hint)
	}
	return oneLine(f.Fault.Error())
}

// general removes the indices of a path: which elements of an array were read says nothing about the type.
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
