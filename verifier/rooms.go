package verifier

import (
	"context"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/verifier/num"
)

// The parts of one verification, each with the state that it alone writes. A part knows only parts declared before it
// (TestRoomsPointDown). Those that work while the program is explored embed the position, and with it the subject.

// subject is what is judged: the program, the kernel's rules, and what is known about instructions, functions, maps and types.
// It keeps the lines the kernel would log, and ends a verification.
type subject struct {
	ctx   context.Context
	k     *Kernel
	p     *Program
	o     Options
	rel   Release
	rules num.Rules
	r     flags

	insns        []decode.Insn
	aux          []insnAux
	subs         []subprog // a last one marks the end
	maps         []*mapInfo
	specs        []*btf.Spec
	exceptionSub int
	arena        *Map
	postorder    []int
	prog         progInfo

	log   *logger
	lines []string // what the kernel would have logged since the last instruction
	why   string   // a reason that no line of the kernel says
	doubt string   // what no file tells and an acceptance depends on
	used  int64    // bytes
}

// position is where the exploration is.
type position struct {
	subject

	cur        *state
	insn, prev int
	ids        uint32 // the last identity of a register that was given out
	processed  int
	jumps      int
}

// attachment finds what the program attaches to, and whether the kernel lets it.
type attachment struct {
	*subject
}

// layout checks the structure before the exploration: functions, jumps, references, types of functions. It finds out what later
// parts ask about instructions: where states are kept, which registers are read again, which values are constant.
type layout struct {
	*subject
}

// limits is the stack of call chains, judged after the exploration.
type limits struct {
	*subject
}

// liveness knows which registers and stack slots may be read again: by marks in states, per call chain, or known before.
type liveness struct {
	*position

	live *stackLiveness
	flow *stackFlow // instead of live
}

// flowAnalysis finds out before the exploration what each function reads and writes of the stack.
type flowAnalysis struct {
	*position
	liveness *liveness
}

// pool has the states: their memory, and those that are still to be explored.
type pool struct {
	*position

	freeFrames []*frame
	freeStates []*state
	pending    []pendingState
}

// precision keeps the history of a path and follows registers back that have to be exact.
type precision struct {
	*position

	bt        backtrack
	histEntry *hist
	histSlab  []hist
}

// resources are references, locks and the sections of RCU, preemption and interrupts.
type resources struct {
	*position
}

// values computes registers: arithmetic, moves, and what may be added to pointers.
type values struct {
	*position
	liveness  *liveness
	pool      *pool
	precision *precision
}

// stack judges accesses to stacks, and the objects that live there.
type stack struct {
	*position
	liveness  *liveness
	pool      *pool
	precision *precision
	resources *resources
	values    *values

	byType bool // an argument is judged by its type alone
}

// kernelMem judges accesses to kernel objects by their types in BTF.
type kernelMem struct {
	*position
	resources *resources
	values    *values
}

// contexts judges accesses to the context.
type contexts struct {
	*position
}

// memory judges loads, stores and atomic operations through pointers of every kind, and memory that calls get.
type memory struct {
	*position
	precision *precision
	resources *resources
	values    *values
	stack     *stack
	kernelMem *kernelMem
	contexts  *contexts
}

// arguments judges what helpers get.
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

// checkpoints are the states kept at instructions. They end paths that an earlier one covers, and loops.
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

// frames enters and leaves functions and callbacks, and judges what they return.
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

	// calledBack: the call being judged enters a callback, whose frame is set up.
	calledBack bool
}

// helpers judges calls of helpers.
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

// kfuncs judges calls of kernel functions.
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

// conditions judges conditional jumps: which way is taken, and what each way says about registers.
type conditions struct {
	*position
	pool        *pool
	precision   *precision
	resources   *resources
	values      *values
	kernelMem   *kernelMem
	checkpoints *checkpoints
}

// explorer is one verification: it walks the program path by path.
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

// connect gives every part the parts it uses.
func (e *explorer) connect() {
	p, s := e.position, &e.position.subject
	e.attachment, e.layout, e.limits = attachment{s}, layout{s}, limits{s}
	e.liveness.position, e.pool.position, e.precision.position = p, p, p
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
