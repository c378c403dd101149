package machine

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/progtype"
)

// refusedOps are struct_ops types whose programs make sense only within what they implement: a scheduler, a queueing
// discipline. Runs on made-up arguments would only look like answers.
var refusedOps = map[string]string{
	schedExtOps: "sched_ext outside of a schedule", "sched_ext_ops_cid": "sched_ext by cid", qdiscOps: "queueing disciplines without traffic",
}

// schedExtOps is the type of sched_ext schedulers, whose programs a schedule calls (see [Config.Schedules]), qdiscOps that
// of queueing disciplines, whose programs traffic calls (see [Config.Traffic]).
const (
	schedExtOps = "sched_ext_ops"
	qdiscOps    = "Qdisc_ops"
)

// hidFuncs are the functions that programs of HID devices modified before struct hid_bpf_ops (Linux 6.3 to 6.10); hid_bpf_attach_prog
// attached them to a device.
var hidFuncs = []string{"hid_bpf_device_event", "hid_bpf_rdesc_fixup"}

// hookNotSimulated names the part of a program's hook that is not simulated, although its type is.
func hookNotSimulated(lp *loader.LinkedProgram, cfg *Config) (what string, ok bool) {
	if progtype.Of(lp.Type).Target == progtype.OpsMember {
		typ := opsType(lp)
		if name := refusedOps[typ]; name != "" && !(cfg.Schedules && typ == schedExtOps) && !(cfg.Traffic && typ == qdiscOps) {
			return "struct_ops of " + name + " (" + lp.AttachTo + ")", true
		}
		if lp.AttachTo == "" {
			return "a struct_ops program that no struct_ops map uses", true
		}
	}
	if slices.Contains(hidFuncs, lp.AttachTo) {
		return "HID programs that hid_bpf_attach_prog attaches (" + lp.AttachTo + ")", true
	}
	return "", false
}

// matching returns the function that a multi probe runs for: the one with the shortest name among those its pattern
// matches.
func (cs *contexts) matching(pattern string) string {
	best := pattern
	for _, name := range cs.functions(pattern) {
		if best == pattern || len(name) < len(best) || len(name) == len(best) && name < best {
			best = name
		}
	}
	return best
}

// functions returns the kernel's functions that a pattern matches, none if it is no pattern.
func (cs *contexts) functions(pattern string) (names []string) {
	spec := cs.reg.linked.Target.BTF
	if spec == nil || !strings.ContainsAny(pattern, "*?") {
		return nil
	}
	for id := btf.ID(1); int(id) < spec.NumTypes(); id++ {
		if spec.Kind(id) != btf.KindFunc {
			continue
		}
		if name := spec.Name(id); globs(pattern, name) {
			names = append(names, name)
		}
	}
	return names
}

// globs reports whether a pattern with * and ? matches a name (libbpf glob_match).
func globs(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

// NotTracedError means that a program does not trace a function.
type NotTracedError struct {
	Program, Function, Pattern string
	// Some are functions that it does trace; none if its pattern is of user space, or names one.
	Some []string
}

// Error names what the program traces.
func (e *NotTracedError) Error() string {
	switch {
	case e.Pattern == "":
		return fmt.Sprintf("program %s does not trace several functions (kprobe.multi, kprobe.session, fentry.multi, uprobe.multi and the like)", e.Program)
	case len(e.Some) > 0:
		return fmt.Sprintf("program %s traces %s, which does not match %s; it matches %s", e.Program, e.Pattern, e.Function, strings.Join(e.Some, ", "))
	}
	return fmt.Sprintf("program %s traces %s, which does not match %s", e.Program, e.Pattern, e.Function)
}

// HookOf returns the hook of a program that traces many functions, for the run of one of them: a function of the kernel, or for programs that
// trace user space the name of one in their file. The error is a [*NotTracedError].
func (m *Machine) HookOf(program, function string) (*Hook, error) {
	p := m.byName[program]
	if p == nil {
		return nil, fmt.Errorf("%w: %s", ErrNoProgram, program)
	}
	if !p.lp.SectionFlags.Has(progtype.Pattern) {
		return nil, &NotTracedError{Program: program, Function: function}
	}
	file, pattern := "", p.lp.AttachTo
	if i := strings.LastIndexByte(pattern, ':'); i >= 0 && p.lp.SectionFlags.Has(progtype.User) {
		file, pattern = pattern[:i+1], pattern[i+1:]
	}
	known := p.lp.SectionFlags.Has(progtype.User) || m.linked.Target.BTF == nil || m.linked.Target.HasFunc(function)
	if pattern != "" && !globs(pattern, function) || !known {
		e := &NotTracedError{Program: program, Function: function, Pattern: pattern}
		if file == "" {
			e.Some = m.functions(pattern)
			e.Some = e.Some[:min(len(e.Some), 5)]
		}
		return nil, e
	}
	return &Hook{AttachTo: file + function, Section: p.lp.Section}, nil
}

// OfScheduler reports whether a program is an operation of a sched_ext scheduler.
func OfScheduler(lp *loader.LinkedProgram) bool { return opsType(lp) == schedExtOps }

// OfQdisc reports whether a program is an operation of a queueing discipline.
func OfQdisc(lp *loader.LinkedProgram) bool { return opsType(lp) == qdiscOps }

// opsType returns the struct whose member a struct_ops program implements, "" for other programs.
func opsType(lp *loader.LinkedProgram) string {
	if progtype.Of(lp.Type).Target != progtype.OpsMember {
		return ""
	}
	typ, _, _ := strings.Cut(lp.AttachTo, ".")
	return btf.EssentialName(typ)
}
