package verifier

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// ErrProgram means that the program or the kernel passed to Verify is incomplete.
var ErrProgram = errors.New("verifier: no verdict is possible")

// WhyNot explains why the kernel, called name, has no verdicts: its rules are not known. It returns
// "" if they are.
func (k *Kernel) WhyNot(name string) string {
	switch {
	case k.Release == 0:
		return fmt.Sprintf("the release of %s is unknown: set it with --kernel-version", name)
	case k.Vendor != "":
		return fmt.Sprintf("%s is from %s, whose kernels have rules of later releases than Linux %s; --kernel-version names the release whose rules to use", name, k.Vendor, k.Release)
	case !since.Verified(k.Release):
		return fmt.Sprintf("bpfrun has verifier rules from Linux %s on, but %s is %s", since.Oldest, name, k.Release)
	}
	return ""
}

// Verify returns the verdict of kernel k on program p. The error is ErrProgram for an incomplete
// program or kernel, or that of ctx; what the kernel would refuse is in the verdict. Verify
// modifies neither k nor p and may be called concurrently.
func Verify(ctx context.Context, k *Kernel, p *Program, o Options) (*Verdict, error) {
	if k == nil || p == nil || len(p.Insns) == 0 || k.Release == 0 {
		return nil, ErrProgram
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if why := k.WhyNot("the kernel"); why != "" {
		return &Verdict{Insn: -1, Missing: why}, nil
	}
	if len(p.OrTargets) > 0 {
		return verifyAny(ctx, k, p, o)
	}
	e := newExplorer(ctx, k, p, o)
	v := &Verdict{Insn: -1}
	var err error
	func() {
		defer func() {
			switch x := recover().(type) {
			case nil:
				v.Unlocked = e.unlocked
				if v.Outcome, v.Reached = Accepted, e.reached(); e.doubt != "" {
					v.Outcome, v.Missing = Unknown, e.doubt
				}
			case refused:
				v.Outcome, v.Errno, v.Message = Refused, x.errno, e.message()
				v.Refusal = e.refusal
				v.Reason = e.refusal.Row().Why
				if e.why != "" {
					v.Reason = e.why
				}
				e.describe(v)
			case missing:
				v.Outcome, v.Missing = Unknown, x.what
				e.describe(v)
			case stopped:
				err = x.err
			default:
				panic(x)
			}
		}()
		e.check()
	}()
	if err != nil {
		return nil, err
	}
	e.stats(v)
	if o.Costs != nil {
		o.Costs.end()
	}
	e.log.end(v, e)
	if o.Costs == nil {
		e.leave()
	}
	return v, nil
}

func newExplorer(ctx context.Context, k *Kernel, p *Program, o Options) *explorer {
	// The rules are looked up by release once: what was backported is in the set of a later update.
	set := k.Rules
	if set == nil {
		set = since.Version{Release: k.Release, Patch: k.Patch}.Rules()
	}
	e := &explorer{position: &position{subject: subject{
		ctx: ctx, k: k, p: p, o: o, rel: k.Release, set: set, rules: numRules(set), insns: p.Insns, aux: takeAux(len(p.Insns)), log: newLogger(o),
	}}}
	e.r = e.newFlags()
	e.connect()
	if o.Costs != nil {
		o.Costs.begin(e)
	}
	return e
}

// describe records where exploration was.
func (e *explorer) describe(v *Verdict) {
	if e.cur == nil {
		return
	}
	v.Insn = e.insn
	v.Source = e.lineAt(e.insn)
	v.Regs = contentText(e.position, e.cur, e.cur.curFrame)
	v.Path = e.path()
}

// reached returns the instructions that were explored.
func (e *explorer) reached() []bool {
	out := make([]bool, len(e.aux))
	for i := range e.aux {
		out[i] = e.aux[i].seen
	}
	return out
}

// path returns the branches that led to the current instruction. The history has the jumps; between
// them instructions follow each other.
func (e *explorer) path() []Branch {
	var jumps []*hist
	for s := e.cur; s != nil; s = s.parent {
		for h := s.hist; h != nil; h = h.prev {
			jumps = append(jumps, h)
		}
	}
	var out []Branch
	at := e.subs[e.cur.frames[0].sub].start
	through := func(end int) {
		for ; at < end && at < len(e.insns); at++ {
			if isConditional(&e.insns[at]) {
				out = append(out, Branch{Insn: at})
			}
		}
	}
	for _, h := range slices.Backward(jumps) {
		from := int(h.prevIdx)
		through(from)
		at = int(h.idx)
		if from >= 0 && from < len(e.insns) && isConditional(&e.insns[from]) {
			out = append(out, Branch{Insn: from, Taken: at != from+1})
		}
	}
	through(e.insn)
	return out
}

func (e *explorer) stats(v *Verdict) {
	v.ProcessedInsns, v.TotalStates, v.PeakStates, v.MaxStatesPerInsn = e.processed, e.checkpoints.totalStates, e.checkpoints.peakStates, e.checkpoints.maxPerInsn
	v.StackDepth = e.stackDepths(v.Outcome == Accepted)
	v.Reliable, v.Untyped, v.CtxSize, v.Bound = e.reliable(), e.untyped(), e.ctxSize, e.bound
	if e.exceptionSub != 0 {
		v.ExceptionCallback = e.subs[e.exceptionSub].start
	}
}

// check does what the kernel does between BPF_PROG_LOAD and the JIT, in the same order.
func (e *explorer) check() {
	if row := progtype.Of(e.p.Type); !e.rel.Has(row.Since) {
		// bpf_prog_load checks the type before there is a log.
		e.why = fmt.Sprintf("Linux %s does not know program type %s, which came with %s", e.rel, e.p.Type, row.Since)
		e.refuse(refusal.UnknownProgramType)
	}
	e.attachment.setupProg()
	// bpf_prog_load compares the length before it copies the program.
	if len(e.insns) > maxInsns {
		e.refuse(refusal.ProgramTooLong)
	}
	// The exception callback, which is a function, is found by its type: types come first.
	e.layout.checkFuncRecords()
	// add_subprog_and_kfunc, check_subprogs and check_btf_info: from here on functions are known by
	// number, with the names and linkage that their types give them.
	e.layout.findSubprogs()
	e.log.functions(e.subs)
	e.layout.checkSubprogs()
	e.layout.checkFuncInfo()
	// The checks are all made in any case, but the first that fails is the one that is reported.
	before := !e.has(since.AttachAfterCFG)
	if before {
		e.attachment.checkAttach()
	}
	// resolve_pseudo_ldimm64 (check_and_resolve_insns later): from here on the maps are known,
	// which decide about helpers and targets of jumps.
	e.layout.resolve()
	// check_cfg: without unreachable code every instruction is verified, on some path.
	e.layout.checkCFG()
	if e.r.liveRegs {
		e.layout.computePostorder()
	}
	if e.r.static && !e.r.half {
		e.liveness.live = newStackLiveness()
	}
	if !before {
		e.attachment.checkAttach()
	}
	var known *constFlow
	var order []int
	if e.r.half {
		// What constants decide is decided before liveness, as dead code reads nothing.
		known = e.layout.computeConstRegs()
		e.layout.pruneDeadBranches(known)
		order = e.flowAnalysis.topological()
		e.log.order(e.subs, order)
	}
	if e.r.scc {
		// compute_scc: loops by the edges between instructions, whatever a path through them does.
		e.checkpoints.sccs = make([]sccInfo, e.layout.computeSCC())
	}
	if e.r.half {
		// What functions do with the stack is known before any is explored.
		e.flowAnalysis.computeStackFlow(known, order)
	}
	if e.r.liveRegs {
		e.layout.computeLiveRegs()
		e.log.liveRegisters(e.position)
	}
	if e.has(since.FastCalls) {
		// mark_fastcall_patterns: a store to one of these slots by another instruction undoes it.
		e.layout.markFastcalls()
	}
	// do_check_main and do_check_subprogs: the exploration itself.
	e.checkpoints.explored = make([]*state, len(e.insns))
	e.walkFuncs()
	e.cur = nil
	// remove_fastcall_spills_fills, before the depth of the stack is added up.
	e.layout.dropFastcallStack()
	// Only now is known how deep the stack of each function gets.
	e.limits.checkStackDepth()
}

// walkFuncs explores the program and its global functions. These were all verified, and first; later
// releases verify those that are reached, and so begin with the program.
func (e *explorer) walkFuncs() {
	if e.has(since.LazyGlobals) {
		e.walkFunc(0)
		e.walkGlobals()
	} else {
		for i := 1; i < e.nsubs(); i++ {
			if e.subs[i].linkage == funcGlobal && e.funcInfo() {
				e.walkFunc(i)
				e.log.safeFunc(e.position, i)
			}
		}
		e.walkFunc(0)
	}
}

// walkGlobals verifies the global functions that are called (do_check_subprogs). One that nothing
// calls need not be safe: a library may have functions for other kernels.
func (e *explorer) walkGlobals() {
	if !e.funcInfo() {
		return
	}
	if e.exceptionSub != 0 {
		// The kernel calls it.
		e.subs[e.exceptionSub].called = true
	}
	// A function may call others that were not reached before.
	for again := true; again; {
		again = false
		for i := 1; i < e.nsubs(); i++ {
			s := &e.subs[i]
			if s.linkage != funcGlobal || !s.called || s.verified {
				continue
			}
			e.walkFunc(i)
			e.log.safeFunc(e.position, i)
			s.verified = true
			again = true
		}
	}
}

// walkFunc explores the program, or a global function with any arguments that its prototype allows
// (do_check_common).
func (e *explorer) walkFunc(sub int) {
	e.reset()
	s := e.pool.newState()
	e.cur = s
	s.branches = 1
	s.sleepable = e.p.Sleepable && e.has(since.SleepableStates)
	s.frames[0] = e.pool.newFrame()
	e.pool.initFrame(s.frames[0], mainFunc, 0, sub)
	s.first, s.last = e.subs[sub].start, -1
	e.insn = e.subs[sub].start
	if e.o.Costs != nil {
		e.o.Costs.root(e.insn)
	}
	e.log.begin()
	regs := s.regs()
	// An extension is called like the function that it replaces.
	if sub > 0 || e.p.Type == uapi.ProgTypeExt {
		e.log.printf("Validating %s() func#%d...\n", e.subs[sub].name, sub)
		if !e.funcInfo() {
			e.refuse(refusal.FunctionWithoutTypes)
		}
		e.layout.prepareArgs(sub)
		if e.subs[sub].isException {
			// The callback gets what was thrown.
			s.frames[0].inException = true
			if a := e.subs[sub].args; len(a) != 1 || a[0].kind != argScalar {
				e.refuse(refusal.ExceptionCbOnlySupportsSingleInteger)
			}
		}
		for i, a := range e.subs[sub].args {
			e.startArg(&regs[i+1], a)
		}
	} else {
		e.firstFunc()
		// The program's own argument is its context, whatever its type in BTF.
		regs[1].pointer(ptrCtx)
	}
	if sub == 0 {
		e.resources.startRefs()
	}
	if e.o.follow != nil {
		e.o.follow.active = sub == 0
	}
	e.walkAll()
	e.log.passed()
}

// startArg sets a register to what an argument of a global function may be: the least that callers
// must pass (do_check_common).
func (e *explorer) startArg(r *reg, a funcArg) {
	switch a.kind {
	case argCtx:
		r.pointer(ptrCtx)
	case argScalar, argArena:
		// An arena pointer arrives as a number, which the function casts.
		r.unknown()
	case argDynptr:
		// A local dynptr stands for all: the function may not rely on what another one holds.
		markDynReg(r, dynTypeLocal, true, e.newID())
	case argMem:
		r.pointer(ptrMem | a.typ)
		r.mem = a.mem
		// A null check needs an id to find the copies by.
		if a.typ&maybeNull != 0 || a.typ&ptrUntrusted == 0 && !e.has(since.UntrustedTag) {
			r.id = e.newID()
		}
	case argBTF:
		r.pointer(ptrBTF | a.typ)
		r.spec, r.tid = e.kernelSpec(), uint32(a.tid)
		r.id = e.newID()
	}
}

// reset drops the states of an earlier exploration.
func (e *explorer) reset() {
	e.checkpoints.forget()
	e.pool.pending = e.pool.pending[:0]
	e.precision.forget()
	if e.cur != nil {
		e.pool.freeState(e.cur)
		e.cur = nil
	}
	if e.liveness.live != nil {
		e.liveness.live.forget()
	}
}
