package verifier

import (
	"context"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/num"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// The parts of a verification, each with state that only it writes. A part uses only parts declared
// before it (TestRoomsPointDown). Those that work during exploration embed the position, and with
// it the subject.

// subject is what is verified: the program, the kernel's rules, and what is known about
// instructions, functions, maps and types. It also collects the lines that the kernel would log,
// and ends a verification.
type subject struct {
	ctx     context.Context
	k       *Kernel
	p       *Program
	o       Options
	rel     Release
	set     *since.Set
	refusal refusal.ID // that of the last line which may be a reason
	rules   num.Rules
	r       flags

	insns        []decode.Insn
	aux          []insnAux
	subs         []subprog // a last one marks the end
	maps         []*mapInfo
	specs        []*btf.Spec
	exceptionSub int
	defaultThrow bool // an exception is thrown that the kernel's own callback handles
	arena        *Map
	postorder    []int
	prog         progInfo

	log   *logger
	lines []string // lines logged since the last instruction
	why   string   // a reason that the kernel's log does not contain
	doubt string   // something unknown that acceptance depends on
	used  int64    // bytes

	unlocked bool // a helper was called that kernels lack if they are locked down
	ctxSize  int  // how many bytes of the context the program may access
	bound    bool // a result is one that only its attach type may have
}

// position is the current position of the exploration.
type position struct {
	subject

	cur        *state
	insn, prev int
	ids        uint32 // last register identity that was assigned
	processed  int
	jumps      int
}

// attachment finds the program's attach target and checks whether the kernel allows it.
type attachment struct {
	*subject
}

// layout checks the program's structure before exploration: functions, jumps, references, function
// types. It also computes what later parts need to know about instructions: where states are kept,
// which registers are live, which values are constant.
type layout struct {
	*subject
}

// limits checks the stack of call chains after exploration.
type limits struct {
	*subject

	deepest int // the most stack that a chain of calls needs
}

// liveness knows which registers and stack slots may be read again: by marks in states, per call
// chain, or computed in advance.
type liveness struct {
	*position

	live *stackLiveness
	flow *stackFlow // instead of live

	longest int // the most checkpoints that one read marked
}

// flowAnalysis computes, before exploration, what each function reads and writes on the stack.
type flowAnalysis struct {
	*position
	liveness *liveness
}

// pool holds the states: their memory, and the queue of states still to be explored.
type pool struct {
	*position

	freeFrames []*frame
	freeStates []*state
	freeSlots  []*slot
	pending    []pendingState

	frames again[frame]
	states again[state]
	slots  again[slot]
}

// precision keeps the history of a path and follows back registers that must be precise.
type precision struct {
	*position

	bt        backtrack
	histEntry *hist
	histSlab  []hist
	hists     again[hist]
}

// resources tracks references, locks and RCU, preemption and interrupt sections.
type resources struct {
	*position
}

// values computes registers: arithmetic, moves, and pointer arithmetic.
type values struct {
	*position
	liveness  *liveness
	pool      *pool
	precision *precision
}

// stack checks stack accesses and the objects that live on the stack.
type stack struct {
	*position
	liveness  *liveness
	pool      *pool
	precision *precision
	resources *resources
	values    *values

	byType bool // an argument is checked only by its type
}

// kernelMem checks accesses to kernel objects by their BTF types.
type kernelMem struct {
	*position
	resources *resources
	values    *values
}

// contexts checks accesses to the context.
type contexts struct {
	*position
}

// memory checks loads, stores and atomic operations through pointers of every kind, and memory
// passed to calls.
type memory struct {
	*position
	precision *precision
	resources *resources
	values    *values
	stack     *stack
	kernelMem *kernelMem
	contexts  *contexts
}

// arguments checks the arguments of helpers.
type arguments struct {
	*position
	liveness  *liveness
	precision *precision
	resources *resources
	values    *values
	stack     *stack
	kernelMem *kernelMem
	contexts  *contexts
	memory    *memory
}

// checkpoints holds the states kept at instructions. They end paths that an earlier state covers,
// and loops.
type checkpoints struct {
	*position
	liveness  *liveness
	pool      *pool
	precision *precision

	explored      []*state // by insn ^ callsite
	freeList      []*state // evicted, still referred to
	sccs          []sccInfo
	idmap         idMap
	lastProcessed int
	lastJumps     int
	totalStates   int
	peakStates    int
	exploredCount int
	freeCount     int
	backedges     int
	maxPerInsn    int
}

// frames enters and leaves functions and callbacks, and checks what they return.
type frames struct {
	*position
	layout      *layout
	liveness    *liveness
	pool        *pool
	precision   *precision
	resources   *resources
	values      *values
	kernelMem   *kernelMem
	memory      *memory
	arguments   *arguments
	checkpoints *checkpoints

	// calledBack: the current call enters a callback, whose frame is set up.
	calledBack bool
}

// helpers checks calls of helpers.
type helpers struct {
	*position
	liveness  *liveness
	pool      *pool
	precision *precision
	resources *resources
	values    *values
	memory    *memory
	arguments *arguments
	frames    *frames
}

// kfuncs checks calls of kernel functions.
type kfuncs struct {
	*position
	liveness    *liveness
	pool        *pool
	precision   *precision
	resources   *resources
	values      *values
	stack       *stack
	kernelMem   *kernelMem
	contexts    *contexts
	memory      *memory
	arguments   *arguments
	checkpoints *checkpoints
	frames      *frames
}

// conditions checks conditional jumps: which branches are possible, and what each implies about
// registers.
type conditions struct {
	*position
	pool        *pool
	precision   *precision
	resources   *resources
	values      *values
	kernelMem   *kernelMem
	checkpoints *checkpoints
}

// explorer runs one verification: it explores the program path by path.
type explorer struct {
	*position
	attachment   attachment
	layout       layout
	limits       limits
	liveness     liveness
	flowAnalysis flowAnalysis
	pool         pool
	precision    precision
	resources    resources
	values       values
	stack        stack
	kernelMem    kernelMem
	contexts     contexts
	memory       memory
	arguments    arguments
	checkpoints  checkpoints
	frames       frames
	helpers      helpers
	kfuncs       kfuncs
	conditions   conditions
}

// connect gives each part references to the parts it uses.
func (e *explorer) connect() {
	p, s := e.position, &e.position.subject
	e.attachment, e.layout, e.limits = attachment{s}, layout{s}, limits{subject: s}
	e.liveness.position, e.pool.position, e.precision.position = p, p, p
	e.pool.frames.kept, e.pool.states.kept, e.pool.slots.kept, e.precision.hists.kept = &keptFrames, &keptStates, &keptSlots, &keptHistory
	e.resources.position, e.contexts.position = p, p
	e.flowAnalysis = flowAnalysis{p, &e.liveness}
	e.values = values{p, &e.liveness, &e.pool, &e.precision}
	e.stack = stack{position: p, liveness: &e.liveness, pool: &e.pool, precision: &e.precision, resources: &e.resources, values: &e.values}
	e.kernelMem = kernelMem{p, &e.resources, &e.values}
	e.memory = memory{p, &e.precision, &e.resources, &e.values, &e.stack, &e.kernelMem, &e.contexts}
	e.arguments = arguments{p, &e.liveness, &e.precision, &e.resources, &e.values, &e.stack, &e.kernelMem, &e.contexts, &e.memory}
	e.checkpoints.position, e.checkpoints.liveness, e.checkpoints.pool, e.checkpoints.precision = p, &e.liveness, &e.pool, &e.precision
	e.frames = frames{
		position: p, layout: &e.layout, liveness: &e.liveness, pool: &e.pool, precision: &e.precision, resources: &e.resources, values: &e.values,
		kernelMem: &e.kernelMem, memory: &e.memory, arguments: &e.arguments, checkpoints: &e.checkpoints,
	}
	e.helpers = helpers{p, &e.liveness, &e.pool, &e.precision, &e.resources, &e.values, &e.memory, &e.arguments, &e.frames}
	e.kfuncs = kfuncs{
		p, &e.liveness, &e.pool, &e.precision, &e.resources, &e.values, &e.stack, &e.kernelMem, &e.contexts, &e.memory, &e.arguments,
		&e.checkpoints, &e.frames,
	}
	e.conditions = conditions{p, &e.pool, &e.precision, &e.resources, &e.values, &e.kernelMem, &e.checkpoints}
}
