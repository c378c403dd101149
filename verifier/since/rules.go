package since

// Rule is a rule of the verifier that releases apply differently.
type Rule uint8

// The rules. Each describes the behaviour of newer releases unless it says otherwise.
const (
	// StaticStackLiveness: live stack slots follow from read and write marks per call chain, not from parent states.
	StaticStackLiveness Rule = iota
	// LiveRegisters: registers that no path reads again are not compared.
	LiveRegisters
	// SCCLoops: loops are strongly connected components, and marks are propagated along their back edges.
	SCCLoops
	// StateRefs: references, locks and sections belong to the state, not to its frames.
	StateRefs
	// MixedBounds: 64-bit and 32-bit ranges narrow each other.
	MixedBounds
	// SplitSign: a signed range that includes values on both sides of zero narrows the unsigned range.
	SplitSign
	// SplitSign32: the same for 32 bits.
	SplitSign32
	// WrapBoth: a sum stays a range if both ends overflow.
	WrapBoth
	// MulSigned: products with negative factors are ranges.
	MulSigned
	// MulTnumShift, MulTnumUnion: how bits of products are computed.
	MulTnumShift
	MulTnumUnion
	// NegRange: negation keeps ranges.
	NegRange
	// BswapRange: byte swaps keep known bits.
	BswapRange
	// DivRange: divisions and remainders are ranges.
	DivRange
	// EqBits: values with different known bits are not equal.
	EqBits
	// EqHalves: values whose low halves have disjoint ranges are not equal.
	EqHalves
	// ForkSigns: an AND or OR of -1 or 0 with a constant is explored for both values.
	ForkSigns
	// SubregSpill: spills of 1, 2 and 4 bytes keep what is known of them.
	SubregSpill
	// UninitStack: privileged programs may read stack that was never written.
	UninitStack
	// UninitGrows: they may also do so below the deepest written byte.
	UninitGrows
	// PreciseSpills: stack slots are tracked backward through the instruction that accessed them.
	PreciseSpills
	// ScalarIDs: state comparison includes the identities of scalars.
	ScalarIDs
	// IdentityPairs: states are equal only if identities and references of all frames correspond one to one.
	IdentityPairs
	// LinkedOffsets: scalars that differ by a constant stay linked.
	LinkedOffsets
	// LinkedNegative: the same for negative and 32-bit distances.
	LinkedNegative
	// ConvergingIterators: iterator loops end when a state is covered by an earlier one; imprecise values are widened.
	ConvergingIterators
	// FastCalls: spills around calls that preserve registers do not count as stack.
	FastCalls
	// LazyGlobals: global functions are verified after the program, and only if they are called.
	LazyGlobals
	// MayGoto: may_goto exists.
	MayGoto
	// GlobalEffects: callers know that global functions may change packets, sleep or throw.
	GlobalEffects
	// NestedRCU: RCU sections nest.
	NestedRCU
	// ForceCheckpointHistory: a state is kept after 40 entries of history.
	ForceCheckpointHistory
	// KnownKeyLookup: a lookup in an array with a constant key within bounds needs no null check.
	KnownKeyLookup
	// HalfSlots: the liveness of each half of a stack slot is computed before exploration.
	HalfSlots
	// LongJump: jumps over 32 bits.
	LongJump
	// UTF8Formats: format strings may contain bytes from 0x80 on.
	UTF8Formats
	// CPUv4: sign extension, gotol, unconditional byte swaps, signed division.
	CPUv4
	// LoadAcquire: load-acquire and store-release.
	LoadAcquire
	// Gotox: indirect jumps.
	Gotox
	// PrivateStack: functions of tracing programs have stacks of their own.
	PrivateStack
	// StackByJIT: the stack of a compiled function is rounded to 16 bytes instead of 32.
	StackByJIT
	// StoreConstToContext: constants can be stored to the context.
	StoreConstToContext
	// RefsOrdered: releasing a reference keeps the order of the others.
	RefsOrdered
	// MissLimit64: checkpoints in loops that must converge are kept for 64 misses.
	MissLimit64
	// TwoRegisterRanges: a comparison of two registers narrows both.
	TwoRegisterRanges
	// TailCallInvalidates: a tail call may have changed the packet.
	TailCallInvalidates
	// BacktrackSubprogs: precision is tracked through calls.
	BacktrackSubprogs
	// ConstHaveNoID: only scalars that are not constant get identities.
	ConstHaveNoID
	// AtomicsFull: atomics other than add.
	AtomicsFull
	// JumpPoints: history is recorded at jumps, not at checkpoints.
	JumpPoints
	// LazyPrecision: checkpoints drop precision marks, and the current state is not marked.
	LazyPrecision
	// UntrustedMem: following a pointer to something other than a struct yields memory that may fault.
	UntrustedMem
	// SingularIDs: identities that only one register has are dropped.
	SingularIDs
	// CleanCurrent: dead registers and slots are also removed from the current state.
	CleanCurrent
	// InsnBeforeWalk: the fields of all instructions are checked before exploration.
	InsnBeforeWalk
	// CallbackChains: callbacks are explored as called zero, one or more times.
	CallbackChains
	// CallbackLoops: calls with callbacks count as loops.
	CallbackLoops
	// TailCallReturns: a tail call in a function may return to the function's caller.
	TailCallReturns
	// OffsetInBounds: constant and variable offsets of a pointer form one range.
	OffsetInBounds
	// SameRegister: comparing a register with itself decides the branch.
	SameRegister
	// ConstDynptr: helpers accept a callback's dynptr if they do not release it.
	ConstDynptr
	// GlobalChains: the depth of calls counts from the last global function.
	GlobalChains
	// RuntimeElements: programs of perf events, and programs that may sleep, can use hash maps that allocate their elements.
	RuntimeElements
	// ConstLeft: a constant in the destination register decides a comparison as one in the source does.
	ConstLeft
	// UnknownOperands: products, ORs and XORs with a number that is not constant are ranges.
	UnknownOperands
	// EqRange: comparing for equality with a constant outside the range decides the branch.
	EqRange
	// HelperWrites: map values and keys are checked by whether the helper writes them, not by whether it accepts
	// uninitialised memory.
	HelperWrites
	// LoadPacketReturns: a legacy packet load in a function may end it with result 0.
	LoadPacketReturns
	// StoredConstants: constants stored on the stack stay known.
	StoredConstants
	// NarrowCopies: a 32-bit copy of a number that fits in 32 bits has its identity.
	NarrowCopies
	// InvalidScalars: pointers that become invalid are unknown numbers, not registers without a value.
	InvalidScalars
	// AnyBackEdge: every instruction may lead back to one that precedes it, not only jumps.
	AnyBackEdge
	// EachMap: a call of bpf_for_each_map_elem may get different maps.
	EachMap
	// DynptrSlots: stores into a dynptr end it or are refused, and dynptrs have constant offsets.
	DynptrSlots
	// AsyncStacks: the stack of callbacks that run later is limited as well.
	AsyncStacks
	// NullRegisters: a branch that compares a pointer with a register that is 0 is a null check.
	NullRegisters
	numRules
)

type row struct {
	from Release
	what string
	// stable are updates of older releases that also have the rule.
	stable []update
}

// update is a stable release that has a rule from a patch level on; 0 means the whole line as maintained today, or that
// the patch level is unknown.
type update struct {
	release Release
	patch   int
}

var rows = [numRules]row{
	StaticStackLiveness:    {R(6, 18), "stack slots are live by marks per call chain", nil},
	LiveRegisters:          {R(6, 15), "registers that nothing reads are not compared", nil},
	SCCLoops:               {R(6, 17), "loops are strongly connected components", nil},
	StateRefs:              {R(6, 14), "references and locks belong to states", nil},
	MixedBounds:            {R(6, 8), "64- and 32-bit ranges narrow each other", nil},
	SplitSign:              {R(6, 12), "ranges on both sides of zero narrow unsigned ones", nil},
	SplitSign32:            {R(6, 18), "the same for 32 bits", []update{{R(6, 12), 117}}},
	WrapBoth:               {R(6, 17), "sums whose both ends overflow stay ranges", nil},
	MulSigned:              {R(6, 14), "products of negative numbers are ranges", nil},
	MulTnumShift:           {R(5, 14), "bits of products by shifting and adding", nil},
	MulTnumUnion:           {R(6, 18), "bits of products by unions", nil},
	NegRange:               {R(6, 17), "negation keeps ranges", nil},
	BswapRange:             {R(6, 18), "byte swaps keep bits", nil},
	DivRange:               {R(7, 0), "quotients and remainders are ranges", nil},
	EqBits:                 {R(6, 18), "known bits that differ decide comparisons", nil},
	EqHalves:               {R(6, 8), "low halves decide comparisons of wholes", nil},
	ForkSigns:              {R(6, 18), "and and or of 0 or -1 are explored for both", nil},
	SubregSpill:            {R(5, 16), "small spills keep what is known", []update{{R(5, 10), 255}, {R(5, 15), 215}}},
	UninitStack:            {R(6, 3), "privileged programs read stack that nobody wrote", []update{{R(5, 10), 255}, {R(5, 15), 215}, {R(6, 1), 192}}},
	UninitGrows:            {R(6, 3), "privileged programs read stack below what was written", []update{{R(6, 1), 192}}},
	PreciseSpills:          {R(6, 8), "spills are tracked back by instruction", nil},
	ScalarIDs:              {R(6, 5), "identities of scalars are compared", nil},
	IdentityPairs:          {R(6, 3), "identities and references correspond one to one", nil},
	LinkedOffsets:          {R(6, 12), "scalars with a constant distance stay linked", nil},
	LinkedNegative:         {R(7, 0), "so with negative and 32-bit distances", nil},
	ConvergingIterators:    {R(6, 7), "iterator loops converge", []update{{R(6, 6), 0}}},
	FastCalls:              {R(6, 12), "spills around calls that keep registers vanish", nil},
	LazyGlobals:            {R(6, 8), "global functions are judged when they are called", nil},
	MayGoto:                {R(6, 9), "may_goto", nil},
	GlobalEffects:          {R(6, 13), "effects of global functions are known", []update{{R(6, 12), 117}}},
	NestedRCU:              {R(6, 18), "RCU sections nest", nil},
	ForceCheckpointHistory: {R(6, 12), "long histories force checkpoints", []update{{R(6, 6), 0}}},
	KnownKeyLookup:         {R(6, 14), "lookups with constant keys are not null", nil},
	HalfSlots:              {R(7, 1), "liveness of halves of slots is known before the walk", nil},
	LongJump:               {R(6, 6), "jumps over 32 bits", []update{{R(6, 1), 192}}},
	UTF8Formats:            {R(6, 12), "format strings have bytes from 0x80 on", []update{{R(6, 1), 192}}},
	CPUv4:                  {R(6, 6), "cpu v4", nil},
	LoadAcquire:            {R(6, 15), "load-acquire and store-release", nil},
	Gotox:                  {R(6, 19), "indirect jumps", nil},
	PrivateStack:           {R(6, 13), "stacks of functions of tracing programs", nil},
	StackByJIT:             {R(6, 9), "stacks are rounded to 16", nil},
	StoreConstToContext:    {R(6, 3), "constants can be stored to contexts", nil},
	RefsOrdered:            {R(6, 14), "references are given back in order", nil},
	MissLimit64:            {R(6, 7), "checkpoints of loops are kept longer", []update{{R(6, 6), 0}}},
	TwoRegisterRanges:      {R(6, 8), "comparisons of registers narrow both", nil},
	TailCallInvalidates:    {R(6, 13), "tail calls invalidate packet pointers", []update{{R(6, 12), 117}}},
	BacktrackSubprogs:      {R(6, 5), "precision is tracked through calls", nil},
	ConstHaveNoID:          {R(6, 8), "constants have no identity", nil},
	AtomicsFull:            {R(5, 12), "atomics other than add", nil},
	JumpPoints:             {R(6, 2), "history at jumps", []update{{R(6, 1), 0}}},
	LazyPrecision:          {R(6, 2), "checkpoints forget what had to be exact", []update{{R(5, 10), 0}, {R(5, 15), 0}, {R(6, 1), 0}}},
	UntrustedMem:           {R(6, 17), "walks yield memory that may fault", nil},
	SingularIDs:            {R(7, 0), "identities of a single register are dropped", nil},
	CleanCurrent:           {R(7, 1), "what is dead leaves the current state", nil},
	InsnBeforeWalk:         {R(7, 1), "fields are checked before the walk", nil},
	SameRegister:           {R(7, 0), "comparisons of a register with itself are decided", nil},
	OffsetInBounds:         {R(7, 0), "constants added to pointers are part of their ranges", nil},
	CallbackChains:         {R(6, 7), "callbacks are called zero, one or many times", []update{{R(6, 6), 0}}},
	ConstDynptr:            {R(7, 1), "dynptrs of callbacks are taken where they are not released", nil},
	GlobalChains:           {R(7, 1), "calls count from the last global function on", nil},
	CallbackLoops:          {R(6, 19), "calls that call back are loops", nil},
	TailCallReturns:        {R(6, 18), "tail calls in functions return from them", nil},
	RuntimeElements:        {R(6, 1), "perf events and sleepable programs use maps that allocate elements", nil},
	ConstLeft:              {R(6, 4), "constants in the destination decide comparisons", nil},
	UnknownOperands:        {R(6, 10), "products, or and xor of two unknown numbers are ranges", nil},
	EqRange:                {R(6, 4), "constants outside of ranges are not equal to them", nil},
	LoadPacketReturns:      {R(6, 16), "packet loads in functions return from them", []update{{R(6, 1), 192}, {R(6, 12), 117}}},
	StoredConstants:        {R(6, 2), "constants stored on the stack stay known", []update{{R(5, 10), 255}, {R(5, 15), 215}, {R(6, 1), 192}}},
	NarrowCopies:           {R(6, 4), "32-bit copies of small numbers have their identity", nil},
	InvalidScalars:         {R(6, 1), "pointers that become invalid are numbers", []update{{R(5, 10), 0}, {R(5, 15), 0}}},
	AnyBackEdge:            {R(6, 7), "any instruction may close a loop", []update{{R(6, 6), 0}}},
	EachMap:                {R(6, 10), "bpf_for_each_map_elem gets different maps", nil},
	NullRegisters:          {R(7, 2), "pointers are compared with registers that are 0", nil},
	AsyncStacks:            {R(6, 5), "the stack of callbacks that run later is limited", []update{{R(6, 1), 0}}},
	DynptrSlots:            {R(6, 3), "stores end dynptrs", nil},
	HelperWrites:           {R(6, 13), "whether a helper writes decides what map memory it gets", []update{{R(6, 1), 192}, {R(6, 6), 87}, {R(6, 12), 117}}},
}

// In reports whether a release follows the rule; patch is the third number of its version.
func (r Rule) In(release Release, patch int) bool {
	if release >= rows[r].from {
		return true
	}
	for _, u := range rows[r].stable {
		if u.release == release && patch >= u.patch {
			return true
		}
	}
	return false
}

// String describes the rule in a few words.
func (r Rule) String() string { return rows[r].what }

// From returns the release that introduced a rule.
func From(rule Rule) Release { return rows[rule].from }

// Before returns the last release without the rule, even with all updates.
func Before(rule Rule) Release {
	r := From(rule)
	for {
		switch r {
		case R(7, 0):
			r = R(6, 19)
		case R(6, 0):
			r = R(5, 19)
		default:
			r--
		}
		if p, whole := Updates(rule)[r]; !whole || p > 0 {
			return r
		}
	}
}

// All returns all rules.
func All() []Rule {
	out := make([]Rule, numRules)
	for i := range out {
		out[i] = Rule(i)
	}
	return out
}

// Updates returns the stable releases to which a rule was backported, with the first patch level that has it.
func Updates(rule Rule) map[Release]int {
	out := map[Release]int{}
	for _, u := range rows[rule].stable {
		out[u.release] = u.patch
	}
	return out
}
