package verifier

import (
	"encoding/binary"
	"fmt"
	"sort"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/num"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// bug refuses a program for which the kernel would report a fault of its own (verifier_bug).
func (u *subject) bug(format string, args ...any) {
	u.refuse(refusal.VerifierBug, fmt.Sprintf(format, args...))
}

// subprogAt returns the function that contains instruction i.
func (u *subject) subprogAt(i int) int {
	return sort.Search(len(u.subs)-1, func(n int) bool { return u.subs[n].start > i }) - 1
}

// subprogFrom returns the function that starts at instruction i, or -1.
func (u *subject) subprogFrom(i int) int {
	if i < 0 || i >= len(u.insns) {
		return -1
	}
	if n := u.subprogAt(i); n >= 0 && u.subs[n].start == i {
		return n
	}
	return -1
}

func (u *subject) nsubs() int { return len(u.subs) - 1 }

// succ returns the successors of an instruction within its function: the next one first
// (bpf_insn_successors).
func (u *subject) succ(buf []int, i int) []int {
	in := &u.insns[i]
	// An indirect jump goes to any of its targets.
	if j := u.aux[i].jumps; j != nil {
		return j
	}
	buf = buf[:0]
	n := 1
	if isLdImm64(in) {
		n = 2
	}
	if !isJump(in) {
		return append(buf, i+n)
	}
	switch opOf(in) {
	case opExit:
		return buf
	case opJA:
		return append(buf, i+jumpOff(in)+1)
	case opCall:
		return append(buf, i+1)
	}
	return append(buf, i+1, i+int(in.Off)+1)
}

// insnAux is what is known about an instruction (struct bpf_insn_aux_data).
type insnAux struct {
	prune      bool    // states are compared, and may be kept (prune_point)
	jump       bool    // it is noted in the history that it was reached, and from where (jmp_point)
	force      bool    // a state is kept at each visit, for loops to converge (force_checkpoint)
	callback   bool    // it calls a callback before it returns (calls_callback)
	iterNext   bool    // it advances an iterator (is_iter_next)
	target     bool    // a jump leads here, so that no pattern may contain it
	fastcall   bool    // a spill or fill around a call that preserves it (fastcall_pattern)
	fastSpills uint8   // a call: how many spills around it are removed (fastcall_spills_num)
	live       uint16  // registers that may be read from here on (live_regs_before)
	scc        uint32  // the loop that it is in, 0 if in none (scc)
	ptrType    regType // what it accesses, which must be the same on all paths (ptr_type)
	mapp       uint16  // a load of an address: the map
	off        uint32  // and the place in the map's value (map_off)
	lookup     uint16  // map of a bpf_for_each_map_elem call
	btfVar     value   // a load of the address of a kernel variable (btf_var)
	seen       bool    // some path reaches it: it is not dead code (seen)
	jumps      []int   // targets of an indirect jump (jt)
	kfunc      *kfunc
	loopState  uint8 // bpf_loop: whether the call can be inlined (loop_inline_state)
	loopSub    int   // and with which callback
}

// subprog is a function of the program (struct bpf_subprog_info).
type subprog struct {
	start      int    // its first slot
	name       string // by func_info
	processed  int    // instructions on paths that begin here
	fn         btf.ID // of the FUNC
	linkage    uint32
	stackDepth int // bytes, by the deepest access on any path
	postorder  int // where its instructions begin in the order of the analyses

	tailCall    bool // it tail-calls, and so may return from its middle (has_tail_call)
	ldAbs       bool // the same for packet loads (has_ld_abs)
	isCallback  bool // a helper or kfunc calls it (is_cb)
	isAsync     bool // later, on a stack of its own (is_async_cb)
	isException bool // after an exception (is_exception_cb)

	changesPacket bool // it, or what it calls, may change the packet (changes_pkt_data)
	mightSleep    bool // may sleep (might_sleep)
	mightThrow    bool // may throw an exception (might_throw)

	called    bool // a global function: a path calls it, so that it must be verified (called)
	verified  bool // and it was
	argsKnown bool // args are set
	entered   bool // a static function: explored
	// unreliable: a static function was called with other types than its BTF says (func_info_aux).
	unreliable   bool
	privateStack uint8 // (priv_stack_mode)
	fastcallOff  int   // the lowest slot of removed spills (fastcall_stack_off)
	keepFastcall bool  // they stay, since a call among them is not inlined (keep_fastcall_stack)
	args         []funcArg
}

// flags caches the release's rules that are needed often.
type flags struct {
	static, liveRegs, scc, linked, linkedHist, linkedNeg, ids, uninit, uninitGrows, mixed, precise, converge, fork, stateRefs       bool
	half, cleanCur, singular, freeIDs, parentIDs, deadInLoops, linkedLive, constID, subreg, jumpPoints, unpreciseCheckpoints, pairs bool
}

// refusal ends a verification with the kernel's error.
type refused struct {
	errno uapi.Errno
}

// missing ends a verification because there is no rule for something.
type missing struct{ what string }

// stopped ends a verification because its context ended.
type stopped struct{ err error }

// verbose adds a line to the kernel's log.
func (u *subject) verbose(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	u.lines = append(u.lines, s)
	u.log.line(s)
}

// say logs a line that may be the reason for a refusal.
func (u *subject) say(r refusal.ID, args ...any) {
	u.verbose(r.Row().Text, args...)
	u.refusal = r.In(u.lines[len(u.lines)-1])
}

// refuse ends the verification with the line of a refusal, or with the last line before if that has
// no text.
func (u *subject) refuse(r refusal.ID, args ...any) { u.refuseAs(r.Row().Errno, r, args...) }

// argName names argument i, the first of which is 0, as the release does.
func (u *subject) argName(i int) string { return u.argAs("arg#", i+1) }

// argAs names the argument in register n after a word, such as "arg #", or from 7.2 on by register.
// What the word is, and where counting begins, depends on the message.
func (u *subject) argAs(word string, n int) string {
	switch {
	case u.has(since.RegisterWords):
		return "R" + itoa(n)
	case word == "arg #" && !u.has(since.DynptrFromZero):
		return word + itoa(n)
	}
	return word + itoa(n-1)
}

// refuseAs is refuse with an error that depends on the place.
func (u *subject) refuseAs(errno uapi.Errno, r refusal.ID, args ...any) {
	if r.Row().Text != "" {
		u.say(r, args...)
	} else if u.refusal == refusal.None {
		u.refusal = r
	}
	panic(refused{errno})
}

// unknown ends the verification without a verdict.
func (u *subject) unknown(format string, args ...any) { panic(missing{fmt.Sprintf(format, args...)}) }

// took accounts for memory.
func (u *subject) took(n int64) {
	u.used += n
	limit := u.o.Memory
	if limit == 0 {
		limit = defaultMemory
	}
	// The kernel bounds its memory by limits on processed instructions and pending states.
	if u.used > limit {
		panic(missing{"more memory than the limit"})
	}
}

func (u *subject) has(r since.Rule) bool { return u.set.Has(r) }

// message returns the last line with text.
func (u *subject) message() string {
	for i := len(u.lines) - 1; i >= 0; i-- {
		if s := strings.TrimSpace(u.lines[i]); s != "" {
			return s[strings.LastIndexByte(s, '\n')+1:]
		}
	}
	return ""
}

// numRules are the rules for numbers: what releases learned to derive about results.
func numRules(set *since.Set) num.Rules {
	in := set.Has
	n := num.Rules{
		SplitSign: in(since.SplitSign), SplitSign32: in(since.SplitSign32), WrapBoth: in(since.WrapBoth),
		MulSigned: in(since.MulSigned), Div: in(since.DivRange), Neg: in(since.NegRange), Bswap: in(since.BswapRange),
		EqBits: in(since.EqBits), EqHalves: in(since.EqHalves), Lsh32: in(since.ShiftedSigns), TestForgets: in(since.TestedBitsForget), EqRange: in(since.EqRange),
		ConstLeft: in(since.ConstLeft), Arcs: in(since.CircularRanges), OneNumber: in(since.OneNumber),
		WholeRangeBits: in(since.WholeRangeBits), Whole: in(since.BoundsOfBits), LowBits: in(since.LowBits),
		LowBoth: in(since.LowBoth), LowEnds: in(since.LowEnds),
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

func (u *subject) funcInfo() bool { return len(u.p.Funcs) > 0 && u.p.BTF != nil }

// order is the kernel's byte order, or without its types that of the program's.
func (u *subject) order() binary.ByteOrder {
	for _, s := range []*btf.Spec{u.k.BTF, u.p.BTF} {
		if s != nil {
			return s.ByteOrder()
		}
	}
	return binary.LittleEndian
}

func (u *subject) big() bool { return endian.IsBig(u.order()) }

func (u *subject) nsubsOr0() int { return max(0, len(u.subs)-1) }

// Rules that are asked for at each instruction.
func (u *subject) newFlags() flags {
	return flags{
		static: u.has(since.StaticStackLiveness), liveRegs: u.has(since.LiveRegisters), scc: u.has(since.SCCLoops),
		linked: u.has(since.LinkedOffsets), linkedHist: u.has(since.LinkedHistory), linkedNeg: u.has(since.LinkedNegative), ids: u.has(since.ScalarIDs), uninit: u.has(since.UninitStack), uninitGrows: u.has(since.UninitGrows),
		mixed: u.has(since.MixedBounds), precise: u.has(since.BacktrackSubprogs), converge: u.has(since.ConvergingIterators),
		fork: u.has(since.ForkSigns), stateRefs: u.has(since.StateRefs), half: u.has(since.HalfSlots), cleanCur: u.has(since.CleanCurrent),
		singular: u.has(since.SingularIDs), linkedLive: u.has(since.LinkedLive), freeIDs: u.has(since.FreeScalars), parentIDs: u.has(since.ParentIDs), deadInLoops: u.has(since.DeadInLoops), constID: u.has(since.ConstHaveNoID), subreg: u.has(since.SubregSpill),
		jumpPoints: u.has(since.JumpPoints), pairs: u.has(since.IdentityPairs), unpreciseCheckpoints: u.has(since.LazyPrecision),
	}
}
