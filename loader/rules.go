package loader

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// gplCompatible are the licences of programs that may call GPL-only functions
// (include/linux/license.h).
var gplCompatible = []string{"GPL", "GPL v2", "GPL and additional rights", "Dual BSD/GPL", "Dual MIT/GPL", "Dual MPL/GPL"}

// rules checks a program against the kernel's tables: who may call what, under which licence, and
// who may sleep.
type rules struct {
	l  *loading
	lp *LinkedProgram
	// releases are those whose tables apply: the target's, and if the rows were not compared with
	// that one's, the next one's.
	releases []uapi.Release
	caller   proto.Caller
	gpl      bool
	// sleeps means that the program can sleep, or that one of its callbacks can although the
	// program cannot.
	sleeps bool
}

// checkRules returns the reason why the kernel's tables do not allow the program, or nil.
func (l *loading) checkRules(lp *LinkedProgram) *Error {
	row, release := progtype.Of(lp.Type), uapi.ReleaseOf(l.t.Version)
	r := &rules{l: l, lp: lp, releases: []uapi.Release{release}, gpl: slices.Contains(gplCompatible, l.o.License), sleeps: lp.Sleepable}
	if i, read := slices.BinarySearch(proto.Releases, release); release != 0 && !read && i < len(proto.Releases) {
		r.releases = append(r.releases, proto.Releases[i])
	}
	if row.GPL && !r.gpl {
		return failf(ErrNotAllowed, "programs of type %v need a GPL-compatible licence; this one is %s", lp.Type, l.licence()).hint(licenceHint)
	}
	if lp.Sleepable && !row.SleepableIn(lp.Attach).Always && !row.MaySleep(release, lp.Attach) {
		return failf(ErrNotAllowed, "programs of type %v in section %s cannot be sleepable on Linux %s", lp.Type, lp.Program.Section, l.t.VersionString()).
			hint("leave .s out of the section name")
	}
	if e := r.lsm(); e != nil {
		return e
	}
	r.caller = lp.Caller()
	if r.caller.Class() == 0 {
		return nil // an extension: the program it replaces decides
	}
	reach := lp.Reachable()
	for pc, ref := range lp.Refs {
		if ref.Kind == RefKfunc && pc < len(reach) && reach[pc] && laterKfunc(ref.Name) {
			r.sleeps = true
		}
	}
	for pc := 0; pc < len(lp.Insns); pc += slotsAt(lp.Insns, pc) {
		if !reach[pc] {
			continue
		}
		var e *Error
		switch in := lp.Insns[pc]; in.Op() {
		case decode.OpCallHelper:
			e = r.helper(uapi.FuncID(in.Imm))
		case decode.OpCallKfunc:
			if ref, ok := lp.Refs[pc]; ok && ref.Resolved {
				e = r.kfunc(ref.Module, btf.EssentialName(ref.Name))
			}
		}
		if e != nil {
			e.Insn, e.Source = pc, l.sourceAt(lp, pc)
			return e
		}
	}
	return nil
}

// laterKfunc reports whether a kfunc runs a callback where it may sleep, whatever the program may
// do.
func laterKfunc(name string) bool {
	return strings.HasPrefix(name, "bpf_wq_set_callback") || strings.HasPrefix(name, "bpf_task_work_schedule")
}

// Caller describes the program to the tables of helpers and kfuncs.
func (lp *LinkedProgram) Caller() proto.Caller {
	c := proto.Caller{Type: lp.Type, Attach: lp.Attach, Target: lp.AttachTo}
	if lp.linked != nil { // not one that a test made
		c.Arch = lp.linked.Target.Arch
	}
	if progtype.Of(lp.Type).Target == progtype.OpsMember {
		typ, member, _ := strings.Cut(lp.AttachTo, ".")
		c.Target, c.Member = btf.EssentialName(typ), member
	}
	return c
}

const licenceHint = `declare char LICENSE[] SEC("license") = "GPL", or "Dual BSD/GPL"`

func (l *loading) licence() string {
	if l.o.License == "" {
		return "missing"
	}
	return fmt.Sprintf("%q", l.o.License)
}

// helper checks a call of a helper that the target has.
func (r *rules) helper(id uapi.FuncID) *Error {
	h, ok := proto.Lookup(id)
	if !ok {
		return nil
	}
	var p *proto.Proto
	var callers proto.Class
	for _, release := range r.releases {
		callers |= h.Callers(release)
		if p = h.For(release, r.caller); p != nil {
			break
		}
	}
	name := "helper " + helperName(int32(id))
	switch {
	case p == nil && callers == 0:
		return nil // missing from the release's table, but in the target's BTF
	case p == nil:
		return r.forbidden(name, callers)
	case p.Attr&proto.GPLOnly != 0 && !r.gpl:
		return failf(ErrNotAllowed, "%s needs a GPL-compatible licence; this program's is %s", name, r.l.licence()).hint(licenceHint)
	case p.Attr&proto.MightSleep != 0 && !r.sleeps:
		return r.mightSleep(name)
	case p.Only == proto.OneMeaning && !r.any(func(release uapi.Release) bool { return p.Only.Permits(release, r.caller) }):
		return failf(ErrNotAllowed, "%s does not exist on %s, where an address may be the kernel's or the user's", name, r.caller.Arch).
			hint("call %s_kernel or %[1]s_user, or their _str forms", uapi.FuncProbeRead)
	case !r.any(func(release uapi.Release) bool { return p.Only.Permits(release, r.caller) }):
		return failf(ErrNotAllowed, "%s may not be called by programs attached to %s", name, r.lp.AttachTo).
			hint("%s", onlyHint(p.Only))
	case p.Only == proto.DPathTargets && progtype.Of(r.lp.Type).TargetOf(r.lp.Attach) == progtype.Function && !slices.Contains(proto.DPathFunctions, r.lp.AttachTo):
		return failf(ErrNotAllowed, "%s may not be called by programs attached to %s", name, r.lp.AttachTo).
			hint("it is allowed in %s", strings.Join(proto.DPathFunctions, ", "))
	}
	return nil
}

// kfunc checks a call of a kernel function that the target has. Module functions that no table
// lists are not checked by program type.
func (r *rules) kfunc(module, name string) *Error {
	what := "kfunc " + name
	if !r.gpl {
		return failf(ErrNotAllowed, "%s needs a GPL-compatible licence; this program's is %s", what, r.l.licence()).hint(licenceHint)
	}
	k, ok := r.l.t.kfunc(module, name)
	if !ok {
		return nil
	}
	var callers proto.Class
	allowed, grouped, sleepable := false, false, true
	for _, release := range r.releases {
		callers |= k.Callers(release)
		allowed = allowed || k.For(release, r.caller)
		grouped = grouped || k.Grouped(release, r.caller)
		sleepable = sleepable && k.FlagsIn(release)&proto.Sleepable != 0
	}
	switch {
	case callers == 0:
		return nil // missing from the release's table, but in the target's BTF
	case !grouped && callers&r.caller.Class() != 0:
		e := failf(ErrNotAllowed, "%s may not be called by %s programs on Linux %s", what, strings.TrimPrefix(r.lp.Program.Section, "?"), r.l.t.VersionString())
		if members := k.Members(); len(members) > 0 {
			return e.hint("it is allowed in %s", strings.Join(members, ", "))
		}
		if k.Topic == "qdisc" {
			return e.hint("only the kernel calls it")
		}
		return e.hint("it is for schedulers that address CPUs by number in struct sched_ext_ops")
	case !allowed:
		return r.forbidden(what, callers)
	case !k.Only.Permits(r.caller):
		return failf(ErrNotAllowed, "%s may not be called by %s programs", what, strings.TrimPrefix(r.lp.Program.Section, "?")).
			hint("it is allowed in kprobe, uprobe and fsession programs, and in functions of struct Qdisc_ops")
	case sleepable && !r.sleeps:
		return r.mightSleep(what)
	}
	return nil
}

// forbidden returns the error for a call that programs of the type may not make.
func (r *rules) forbidden(what string, callers proto.Class) *Error {
	e := failf(ErrNotAllowed, "%s may not be called by %s programs on Linux %s", what, strings.TrimPrefix(r.lp.Program.Section, "?"), r.l.t.VersionString())
	const most = 8
	names := callers.Names()
	if len(names) > most {
		names = append(names[:most:most], "...")
	}
	if len(names) == 0 {
		return e.hint("no program may call it")
	}
	return e.hint("it is allowed in %s", strings.Join(names, ", "))
}

func (r *rules) mightSleep(what string) *Error {
	return failf(ErrNotAllowed, "%s might sleep, but the program is not sleepable", what).
		hint("use a section name that ends in .s where the hook has one, such as SEC(\"fentry.s/...\"), SEC(\"lsm.s/...\") or SEC(\"syscall\")")
}
