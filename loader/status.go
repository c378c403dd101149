package loader

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/internal/nearest"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// mapTypeInsnArray is the type of jump tables.
const mapTypeInsnArray = uapi.MapTypeInsnArray

// settle determines the status of a linked program. linkErr is the reason why it could not be
// linked, or nil.
func (l *loading) settle(lp *LinkedProgram, linkErr *Error) {
	if member, ok := l.dropped[lp.Name]; ok {
		lp.Status, lp.Err = StatusAbsent, l.progError(lp, l.noMember(member))
		return
	}
	if l.off[lp.Function.Program] {
		lp.Status = StatusDisabled
		return
	}
	status, err := l.checkHook(lp)
	if (status == StatusAbsent || status == StatusUnknownHook) && l.t.BTF != nil && lp.AttachTo != "" && l.t.reduced() {
		status, err.Err = StatusUnknownHook, ErrUnlistedHook
		err.hint("the BTF is not a complete kernel's, so it does not list attach points")
	}
	if status == StatusAbsent {
		lp.Status, lp.Err = status, l.progError(lp, err)
		return
	}
	if reason := l.refusal(lp, linkErr); reason != nil {
		lp.Status, lp.Err = StatusRefused, reason
		return
	}
	lp.Status, lp.Static = status, l.static(lp)
	if err != nil {
		lp.Err = l.progError(lp, err)
	}
}

// noMember returns the error for a struct_ops member "TYPE.member" that the target's structure
// lacks.
func (l *loading) noMember(member string) *Error {
	e := failf(ErrNoHook, "the kernel has no struct_ops member %s", member)
	typ, name, _ := strings.Cut(member, ".")
	_, t, ok := l.t.find(btf.KindStruct, btf.EssentialName(typ), "")
	if !ok {
		return e
	}
	var names []string
	for i := range t.Members {
		names = append(names, t.Members[i].Name)
	}
	if near := nearest.Names(name, names, max(2, len(name)/3)); len(near) > 0 {
		e.hint("it has %s", strings.Join(near, ", "))
	}
	return e
}

func (l *loading) progError(lp *LinkedProgram, e *Error) *Error {
	e.Object, e.Section, e.Program = l.o.Name, lp.Section, lp.Name
	return e
}

// refusal returns the reason why libbpf would not load the program, or the kernel refuse it before
// it verifies it, or nil.
func (l *loading) refusal(lp *LinkedProgram, linkErr *Error) error {
	if err := l.ownCOREError(lp); err != nil {
		return err
	}
	if linkErr != nil {
		return linkErr
	}
	if l.Err != nil {
		return l.Err
	}
	if !lp.Known {
		return l.progError(lp, failf(ErrSection, "%q does not determine a program type", lp.Program.Section)).hint("%s", l.typeHint(lp))
	}
	if l.t.BTF != nil {
		if err := l.checkKnown(lp); err != nil {
			return l.progError(lp, err)
		}
	}
	if err := l.checkRegisters(lp); err != nil {
		return l.progError(lp, err)
	}
	return nil
}

// ownCOREError returns the first hard CO-RE error among the program's own instructions, which is
// more specific than the object's.
func (l *loading) ownCOREError(lp *LinkedProgram) error {
	for i := range lp.Relocs {
		if lp.Relocs[i].Err != nil {
			return lp.Relocs[i].Err
		}
	}
	return nil
}

// checkKnown compares the types of the program and its maps with the target's.
func (l *loading) checkKnown(lp *LinkedProgram) *Error {
	if !l.t.HasProgType(lp.Type) {
		return failf(ErrUnknownToTarget, "program type %s on Linux %s", lp.Type, l.t.VersionString())
	}
	if lp.Attach != 0 && !l.t.HasAttachType(lp.Attach) && !optionalAttach(lp) {
		return failf(ErrUnknownToTarget, "attach type %s on Linux %s", lp.Attach, l.t.VersionString())
	}
	for _, at := range slices.Sorted(maps.Keys(lp.Refs)) {
		m := lp.Refs[at].Map
		for _, m := range []*Map{m, innerOf(m)} {
			if m != nil && !l.t.HasMapType(m.Type) {
				e := failf(ErrUnknownToTarget, "map %s of type %s on Linux %s", m.Name, m.Type, l.t.VersionString())
				e.Insn, e.Source = at, l.sourceAt(lp, at)
				return e
			}
		}
	}
	return nil
}

func innerOf(m *Map) *Map {
	if m == nil {
		return nil
	}
	return m.Inner
}

// optionalAttach reports whether kernels that do not know the attach type load the program, without
// it or whatever it is.
func optionalAttach(lp *LinkedProgram) bool {
	at := progtype.Of(lp.Type).Attached(lp.Attach)
	return lp.SectionFlags.Has(progtype.OptionalAttach) || at != nil && at.Optional
}

func (l *loading) sourceAt(lp *LinkedProgram, pc int) string {
	fn, ok := lp.FuncAt(pc)
	if !ok {
		return ""
	}
	return sourceText(fn.Function, pc-fn.Start)
}

// substitutes are helpers that libbpf replaces with older ones on kernels without them
// (bpf_object__sanitize_prog; the newer ones came with 5.5).
var substitutes = map[int32]int32{
	int32(uapi.FuncProbeReadUser): int32(uapi.FuncProbeRead), int32(uapi.FuncProbeReadKernel): int32(uapi.FuncProbeRead),
	int32(uapi.FuncProbeReadUserStr): int32(uapi.FuncProbeReadStr), int32(uapi.FuncProbeReadKernelStr): int32(uapi.FuncProbeReadStr),
}

// checkInsns checks helper numbers and the structure of instructions. Helpers are checked only in
// code that constant propagation reaches: programs guard newer helpers with enumval_exists, and the
// kernel removes dead code before it checks.
func (l *loading) checkInsns(lp *LinkedProgram) *Error {
	for pc := 0; pc < len(lp.Insns); pc += slotsAt(lp.Insns, pc) {
		in := &lp.Insns[pc]
		if in.Code != codeCall || in.Src != 0 {
			continue
		}
		if _, _, poison := corerelo.ParsePoison(*in); poison || l.t.HasHelper(uapi.FuncID(in.Imm)) {
			continue
		}
		if old, ok := substitutes[in.Imm]; ok {
			in.Imm = old
			continue
		}
		if !lp.Reachable()[pc] {
			continue
		}
		e := l.progError(lp, failf(ErrUnknownToTarget, "helper %s on Linux %s", helperName(in.Imm), l.t.VersionString()))
		e.Insn, e.Source = pc, l.sourceAt(lp, pc)
		return e.hint("guard the call with bpf_core_enum_value_exists(enum bpf_func_id, ...)")
	}
	return l.checkStructure(lp)
}

// helperName returns "bpf_loop (181)", or "number 9999" for a helper that no kernel has.
func helperName(id int32) string {
	if f := uapi.FuncID(id); f.Known() {
		return fmt.Sprintf("%s (%d)", f, id)
	}
	return fmt.Sprintf("number %d", id)
}

// checkHook determines whether the program's hook exists on the target. With StatusUnknownHook the
// error explains what is not known.
func (l *loading) checkHook(lp *LinkedProgram) (Status, *Error) {
	if _, ofProgram := l.opts.AttachProgs[lp.Name]; l.t.BTF == nil || ofProgram {
		return StatusOK, nil
	}
	target := lp.AttachTo
	switch progtype.Of(lp.Type).TargetOf(lp.Attach) {
	case progtype.OpsMember:
		return l.checkStructOps(lp)
	case progtype.Probe:
		return l.checkKprobe(lp, target)
	case progtype.Tracepoint:
		return l.checkTracepoint(lp, target)
	case progtype.RawEvent:
		if progtype.Of(lp.Type).Target == progtype.RawEvent {
			// A raw tracepoint may be loaded without a name, which is then given when it is
			// attached.
			if target == "" {
				return StatusOK, nil
			}
			return l.checkRawTracepoint(lp, target)
		}
		return l.checkTracing(lp, tracepoints, "tracepoint")
	case progtype.LSMHook:
		return l.checkTracing(lp, lsmHooks, "LSM hook")
	case progtype.Iterator:
		return l.checkTracing(lp, iterators, "iterator")
	case progtype.Functions:
		if target == "" {
			return StatusOK, nil
		}
		return l.checkPattern(lp, target)
	case progtype.Function:
		return l.checkTracing(lp, functions, "function")
	case progtype.NoTarget, progtype.OtherProgram:
	}
	return StatusOK, nil
}

// attachTo looks up the BTF type of a hook. what names the kind of hook.
func (l *loading) attachTo(lp *LinkedProgram, names hookNames, target, what string) (Status, *Error) {
	module, name := "", target
	if m, rest, ok := strings.Cut(target, ":"); ok { // "module:function"
		module, name = m, rest
	}
	mod, t, ok := l.t.find(names.kind, names.prefix+name, module)
	if !ok {
		return StatusAbsent, missing(lp, what+" "+target, l.nearestHooks(names, name))
	}
	lp.AttachID, lp.AttachModule = t.ID, mod.Name
	return StatusOK, nil
}

// checkTracing looks up a hook in BTF; the kernel requires it to be there at load time.
func (l *loading) checkTracing(lp *LinkedProgram, names hookNames, what string) (Status, *Error) {
	if lp.AttachTo == "" {
		return StatusAbsent, failf(ErrNoHook, "the section name gives no target").hint("name the %s with --attach %s=NAME", what, lp.Name)
	}
	return l.attachTo(lp, names, lp.AttachTo, what)
}

func (l *loading) checkStructOps(lp *LinkedProgram) (Status, *Error) {
	for _, s := range l.StructOps {
		for _, mem := range s.Map.StructOps.Members {
			if mem.Prog != lp.Name {
				continue
			}
			if s.Absent {
				typ := btf.EssentialName(s.Map.StructOps.TypeName)
				e := failf(ErrNoHook, "the kernel has no struct_ops type %s", typ)
				if near := l.nearestHooks(structOpTypes, typ); len(near) > 0 {
					e.hint("it has %s", strings.Join(near, ", "))
				}
				return StatusAbsent, e
			}
			lp.AttachID, lp.AttachModule = s.KernType, s.Module
			return StatusOK, nil
		}
	}
	return StatusOK, nil
}

// symbolExists looks up a symbol in kallsyms; decided is false if kallsyms is not given.
func (l *loading) symbolExists(name string) (exists, decided bool) {
	if l.t.Kallsyms == nil {
		return false, false
	}
	_, ok := l.t.Kallsyms[name]
	return ok, true
}

func (l *loading) checkKprobe(lp *LinkedProgram, target string) (Status, *Error) {
	near, names := "", probed
	switch flags := lp.SectionFlags; {
	case flags.Has(progtype.User), target == "":
		return StatusOK, nil
	case flags.Has(progtype.SyscallName):
		for _, n := range l.syscallFunctions(target) {
			if id, ok := l.t.BTF.FindID(btf.KindFunc, n); ok {
				lp.AttachID, lp.AttachModule = id, "vmlinux"
				return StatusOK, nil
			}
		}
		near, names = target, l.syscalls()
		target = l.syscallFunctions(target)[0]
	case flags.Has(progtype.Pattern):
		return l.checkPattern(lp, target)
	}
	name, _, _ := strings.Cut(target, "+") // "func+0x10"
	if near == "" {
		near = name
	}
	if mod, fn, ok := l.t.find(btf.KindFunc, name, ""); ok {
		lp.AttachID, lp.AttachModule = fn.ID, mod.Name
		return StatusOK, nil
	}
	exists, decided := l.symbolExists(name)
	switch {
	case exists:
		return StatusOK, nil
	case decided:
		return StatusAbsent, missing(lp, "function "+name+" is not in kallsyms", l.nearestHooks(names, near))
	}
	return StatusUnknownHook, unlisted(lp, "function "+name, notListed+": settle it with --kallsyms or --module-btf", l.nearestHooks(names, near))
}

// checkPattern looks for a function that matches the glob pattern of a multi probe.
func (l *loading) checkPattern(lp *LinkedProgram, pattern string) (Status, *Error) {
	if l.t.matches(pattern) {
		return StatusOK, nil
	}
	what, near := "a function that matches "+pattern, l.nearestMatches(pattern)
	if l.t.Kallsyms != nil {
		return StatusAbsent, missing(lp, what, near)
	}
	return StatusUnknownHook, unlisted(lp, what, notListed+": settle it with --kallsyms or --module-btf", near)
}

// checkTracepoint looks for an event "category/name". System call events have no tracepoints of
// their own.
func (l *loading) checkTracepoint(lp *LinkedProgram, target string) (Status, *Error) {
	category, name, ok := strings.Cut(target, "/")
	if !ok || name == "" {
		return StatusOK, nil
	}
	if category == "syscalls" {
		return l.checkSyscallEvent(lp, name)
	}
	for _, t := range []struct {
		kind btf.Kind
		name string
	}{{btf.KindTypedef, tracePrefix + name}, {btf.KindStruct, "trace_event_raw_" + name}} {
		if _, _, ok := l.t.find(t.kind, t.name, ""); ok {
			return StatusOK, nil
		}
	}
	return l.unlistedTracepoint(lp, "tracepoint "+target, name)
}

// checkRawTracepoint looks for the tracepoint of a raw tracepoint program. The kernel looks for it
// when it attaches the program, not when it loads it (kernel/trace/bpf_trace.c
// bpf_get_raw_tracepoint), and finds those of modules, too; one that is attached nowhere may still
// be tail-called.
func (l *loading) checkRawTracepoint(lp *LinkedProgram, target string) (Status, *Error) {
	if status, _ := l.attachTo(lp, tracepoints, target, ""); status == StatusOK {
		return status, nil
	}
	return l.unlistedTracepoint(lp, "raw tracepoint "+target, target)
}

// unlistedTracepoint decides by kallsyms whether a tracepoint that BTF does not list exists.
func (l *loading) unlistedTracepoint(lp *LinkedProgram, what, name string) (Status, *Error) {
	near := l.nearestHooks(tracepoints, name)
	switch exists, decided := l.symbolExists("__tracepoint_" + name); { // a data symbol, which kallsyms contains with CONFIG_KALLSYMS_ALL
	case exists:
		return StatusOK, nil
	case decided && l.t.hasTracepointSymbols():
		return StatusAbsent, missing(lp, what+" is not in kallsyms", near)
	}
	return StatusUnknownHook, unlisted(lp, what, "BTF lists no module tracepoints: settle it with --module-btf", near)
}

// hasTracepointSymbols reports whether kallsyms lists tracepoints, which are data symbols.
func (t *Target) hasTracepointSymbols() bool {
	_, ok := t.Kallsyms["__tracepoint_sched_switch"]
	return ok
}

// syscallFunctions returns the names that the function of a system call may have.
func (l *loading) syscallFunctions(call string) []string {
	return []string{syscallPrefix[l.t.Arch] + call, "__se_sys_" + call, "__do_sys_" + call, "sys_" + call}
}

// checkSyscallEvent looks for the system call of an event sys_enter_CALL or sys_exit_CALL.
func (l *loading) checkSyscallEvent(lp *LinkedProgram, name string) (Status, *Error) {
	edge := "sys_enter_"
	call, ok := strings.CutPrefix(name, edge)
	if !ok {
		edge = "sys_exit_"
		if call, ok = strings.CutPrefix(name, edge); !ok {
			return StatusAbsent, missing(lp, "tracepoint syscalls/"+name+": its events are sys_enter_CALL and sys_exit_CALL", nil)
		}
	}
	decided := false
	for _, n := range append(l.syscallFunctions(call), "__arm64_sys_"+call) {
		exists, known := l.symbolExists(n)
		if decided = known; exists || l.t.HasFunc(n) {
			return StatusOK, nil
		}
	}
	near := l.nearestHooks(l.syscalls(), call)
	for i := range near {
		near[i] = edge + near[i]
	}
	if decided {
		return StatusAbsent, missing(lp, "no function of system call "+call+" is in kallsyms", near)
	}
	return StatusUnknownHook, unlisted(lp, "a function of system call "+call, "settle it with --kallsyms", near)
}

// syscalls returns the system calls of the target's architecture.
func (l *loading) syscalls() hookNames {
	return hookNames{kind: btf.KindFunc, prefix: syscallPrefix[l.t.Arch]}
}
