package verifier

import (
	"context"
	"fmt"
	"strings"
	"unsafe"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/verifier/num"
	"github.com/bpfrun/bpfrun/verifier/since"
)

// Limits of the kernel.
const (
	maxInsns      = 1000000
	maxPending    = 8192
	maxFrames     = 8
	maxStack      = 512
	maxSubprogs   = 256
	maxUsedMaps   = 64
	maxVarOff     = 1 << 29
	maxVarSize    = 1 << 29
	maxPacketOff  = 0xffff
	maxErrno      = 4095
	maxKfuncs     = 256
	maxHistory    = 40
	defaultMemory = 1 << 30
)

const (
	frameBytes = int(unsafe.Sizeof(frame{}))
	stateBytes = int(unsafe.Sizeof(state{}))
	slotBytes  = int64(unsafe.Sizeof(slot{}))
)

// insnAux is what is known of an instruction.
type insnAux struct {
	prune, jump, force, callback, iterNext, target bool
	fastcall                                       bool
	fastSpills                                     uint8
	live                                           uint16 // registers that may be read from here on
	scc                                            uint32
	ptrType                                        regType
	mapp                                           uint16
	off                                            uint32
	lookup                                         uint16 // map of a call for each element
	btfVar                                         value
	seen                                           bool
	jumps                                          []int // targets of an indirect jump
	kfunc                                          *kfunc
	loopState                                      uint8
	loopSub                                        int
}

// subprog is a function of the program.
type subprog struct {
	start      int
	name       string
	fn         btf.ID
	linkage    uint32
	stackDepth int
	postorder  int

	tailCall, ldAbs, isCallback, isAsync, isException bool
	changesPacket, mightSleep, mightThrow             bool
	called, verified, argsKnown                       bool
	privateStack                                      uint8
	fastcallOff                                       int
	keepFastcall                                      bool
	args                                              []funcArg
}

// env is one verification.
type env struct {
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

	cur      *state
	pending  []pendingState
	explored []*state // by insn ^ callsite
	freeList []*state

	insn, prev    int
	processed     int
	jumps         int
	lastProcessed int
	lastJumps     int
	totalStates   int
	peakStates    int
	exploredCount int
	freeCount     int
	backedges     int
	maxPerInsn    int
	ids           uint32
	histEntry     *hist
	bt            backtrack
	idmap         idMap
	histSlab      []hist
	sccs          []sccInfo
	live          *stackLiveness
	flow          *stackFlow // instead of live
	postorder     []int
	freeFrames    []*frame
	freeStates    []*state
	memory        int64

	prog    progInfo
	lines   []string // what the kernel would have logged since the last instruction
	log     *logger
	seenExc bool
	why     string // a reason that no line of the kernel says
	// calledBack: the call being judged enters a callback, whose frame is set up.
	calledBack bool
	byType     bool // an argument is judged by its type alone
}

// flags are the rules of the release that are asked often.
type flags struct {
	static, liveRegs, scc, linked, linkedNeg, ids, uninit, uninitGrows, mixed, precise, converge, fork, stateRefs bool
	half, cleanCur, singular, constID, subreg, jumpPoints, unpreciseCheckpoints                                   bool
}

type pendingState struct {
	st         *state
	insn, prev int
	logPos     int
}

// refusal ends a verification with the kernel's answer.
type refusal struct {
	errno uapi.Errno
}

// missing ends a verification: there is no rule for something.
type missing struct{ what string }

// stopped ends a verification because its context did.
type stopped struct{ err error }

// verbose logs a line as the kernel does.
func (e *env) verbose(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	e.lines = append(e.lines, s)
	e.log.line(s)
}

// refuse ends the verification. The line may be empty when others were logged before.
func (e *env) refuse(errno uapi.Errno, format string, args ...any) {
	if format != "" {
		e.verbose(format, args...)
	}
	panic(refusal{errno})
}

// unknown ends the verification without an answer.
func (e *env) unknown(format string, args ...any) { panic(missing{fmt.Sprintf(format, args...)}) }

// took counts memory.
func (e *env) took(n int64) {
	e.memory += n
	limit := e.o.Memory
	if limit == 0 {
		limit = defaultMemory
	}
	if e.memory > limit {
		panic(missing{"more memory than the limit"})
	}
}

func (e *env) has(r since.Rule) bool { return r.In(e.rel, e.k.Patch) }

func (e *env) newID() uint32 { e.ids++; return e.ids }

func (e *env) regs() *[11]reg   { return e.cur.regs() }
func (e *env) reg(n int) *reg   { return &e.cur.regs()[n] }
func (e *env) frame() *frame    { return e.cur.frames[e.cur.curFrame] }
func (e *env) curAux() *insnAux { return &e.aux[e.insn] }

// message is the last line that says something.
func (e *env) message() string {
	for i := len(e.lines) - 1; i >= 0; i-- {
		if s := strings.TrimSpace(e.lines[i]); s != "" {
			return s[strings.LastIndexByte(s, '\n')+1:]
		}
	}
	return ""
}

func numRules(k *Kernel) num.Rules {
	in := func(r since.Rule) bool { return r.In(k.Release, k.Patch) }
	n := num.Rules{
		SplitSign: in(since.SplitSign), SplitSign32: in(since.SplitSign32), WrapBoth: in(since.WrapBoth),
		MulSigned: in(since.MulSigned), Div: in(since.DivRange), Neg: in(since.NegRange), Bswap: in(since.BswapRange),
		EqBits: in(since.EqBits), EqHalves: in(since.EqHalves), Lsh32: in(since.MixedBounds),
	}
	if in(since.MixedBounds) {
		n.Deduce = num.DeduceMixed
	}
	if in(since.MulTnumUnion) {
		n.Mul = num.MulUnion
	} else if in(since.MulTnumShift) {
		n.Mul = num.MulShiftAdd
	}
	return n
}
