package plan

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/vm"
)

func analyse(t *testing.T, text string) *Program {
	t.Helper()
	insns, err := decode.Assemble(text)
	require.NoError(t, err)
	img, err := vm.Lower(vm.LowerConfig{Insns: insns, Call: func(int, decode.Insn) (*vm.Func, error) {
		return &vm.Func{Fn: func(*vm.Thread, *[5]uint64) (uint64, *vm.Action) { return 0, nil }}, nil
	}})
	require.NoError(t, err)
	return New(img, nil, nil)
}

// TestFramesBeginAtCacheLines: what a call touches of a frame is one line.
func TestFramesBeginAtCacheLines(t *testing.T) {
	assert.Zero(t, unsafe.Offsetof(State{}.Stack)%64)
	assert.Zero(t, FrameSize%64)
	assert.LessOrEqual(t, unsafe.Offsetof(Frame{}.May), uintptr(64))
}

// TestCounts: on every edge the charge makes up for what the counts of both ends do not say.
func TestCounts(t *testing.T) {
	p := analyse(t, `
	r6 = 10
	if r1 == 0 goto a
	r6 += 1
	r6 += 2
a:	r1 = r6
	call f
	if r0 > 5 goto b
	r7 = 1 ll
	if r7 == r0 goto c
b:	r6 += -1
	if r6 != 0 goto a
c:	exit
f:	r0 = r1
	may_goto g
	r0 += 1
	goto f
g:	exit`)
	for pc := range p.Insns {
		in := &p.Insns[pc]
		next := pc + 1
		switch in.Kind {
		case KindSecond:
			continue
		case KindImm64:
			next++
		case KindBranch, KindJump, KindMayGoto:
			assert.Equal(t, in.Count+1-in.Taken, p.Insns[in.Target].Count, pc)
			assert.Equal(t, int(in.Target) <= pc, in.Has(FlagBack), pc)
		case KindCall, KindExit:
			assert.Equal(t, in.Count+1, in.Taken, pc)
		}
		switch in.Kind {
		case KindJump, KindExit:
		case KindCall:
			assert.Zero(t, p.Insns[next].Count, pc)
			assert.Zero(t, p.Insns[in.Target].Count, pc)
		default:
			assert.Equal(t, in.Count+1-in.Next, p.Insns[next].Count, pc)
		}
		if in.Kind == KindBranch && !in.Has(FlagBack) && pc < 8 {
			assert.Zero(t, in.Taken, "a forward branch charges nothing at %d", pc)
		}
	}
}

// TestChecks: which accesses are tested, and where code may be entered.
func TestChecks(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		check      map[int]Check
		lo, hi     int32 // of slot 0 or of the first CheckRange
		closed     []int // slots that nothing enters
	}{
		{"one base", "r2 = *(u32 *)(r1 + 8)\nr3 = *(u64 *)(r1 + 0)\n*(u8 *)(r1 + 20) = 1\nexit", map[int]Check{0: CheckRange, 1: CheckDone, 2: CheckDone}, 0, 21, []int{1, 2}},
		{"too far apart", "r2 = *(u32 *)(r1 + 0)\nr3 = *(u64 *)(r1 + 60)\nexit", map[int]Check{0: CheckRange, 1: CheckRange}, 0, 4, nil},
		{"base replaced", "r1 = *(u64 *)(r1 + 0)\nr1 = *(u64 *)(r1 + 0)\nexit", map[int]Check{0: CheckRange, 1: CheckRange}, 0, 8, nil},
		{"bases that differ by a constant", "r2 = r1\nr2 += 16\nr3 = *(u64 *)(r1 + 0)\nr4 = *(u64 *)(r2 + 0)\nexit", map[int]Check{2: CheckRange, 3: CheckDone}, 0, 24, []int{1, 2, 3}},
		{"behind a call", "r2 = *(u64 *)(r6 + 0)\ncall 1\nr2 = *(u64 *)(r6 + 0)\nexit", map[int]Check{0: CheckRange, 2: CheckRange}, 0, 8, nil},
		{"stack", "*(u64 *)(r10 - 8) = 1\nr2 = r10\nr2 += -16\n*(u64 *)(r2 + 8) = 1\nexit", map[int]Check{0: CheckNone, 3: CheckNone}, 0, 0, []int{2, 3}},
		{"beside the stack", "r2 = r10\n*(u64 *)(r2 - 4) = 1\nexit", map[int]Check{1: CheckRange}, -4, 4, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := analyse(t, tt.text)
			first := true
			for pc := range p.Insns {
				in := &p.Insns[pc]
				if want, ok := tt.check[pc]; ok {
					assert.Equal(t, want, in.Check, "slot %d", pc)
				}
				if in.Check == CheckRange && first {
					first = false
					assert.Equal(t, [2]int32{tt.lo, tt.hi}, [2]int32{in.Lo, in.Hi})
				}
				assert.Equal(t, !slices.Contains(tt.closed, pc), in.Has(FlagEntry), "entry at %d", pc)
			}
		})
	}
}

// TestRotations and results nobody sees.
func TestRotations(t *testing.T) {
	p := analyse(t, "r2 = r1\nr2 >>= 51\nr1 <<= 13\nr1 |= r2\nr2 = 5\nexit")
	assert.True(t, p.Insns[2].Has(FlagRotate))
	for _, pc := range []int{0, 1, 3} {
		assert.True(t, p.Insns[pc].Has(FlagDead), pc)
	}
	for pc := range p.Insns {
		assert.Equal(t, pc < 1 || pc > 3, p.Insns[pc].Has(FlagEntry), "entry at %d: behind the copy registers may be changed", pc)
	}
	p = analyse(t, "r2 = r1\nr2 >>= 51\nr1 <<= 12\nr1 |= r2\nr2 = 5\nexit")
	for pc := range p.Insns {
		assert.False(t, p.Insns[pc].Has(FlagRotate|FlagDead), pc)
	}
	p = analyse(t, "r2 = r1\nr2 >>= 51\nr1 <<= 13\nr3 = *(u8 *)(r1 + 0)\nr1 |= r2\nexit") // somebody may look in between
	assert.False(t, p.Insns[2].Has(FlagRotate))
}

// TestExtensions: shifts by 32 there and back are one operation, with the copy in front.
func TestExtensions(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		ops        []decode.Op // of the first slots
		dead       []int
	}{
		{"zeros", "r1 <<= 32\nr1 >>= 32\nexit", []decode.Op{decode.OpMov32Reg}, []int{1}},
		{"signs", "r1 <<= 32\nr1 s>>= 32\nexit", []decode.Op{decode.OpMovSX32To64}, []int{1}},
		{"of a copy", "r2 = r1\nr2 <<= 32\nr2 >>= 32\nexit", []decode.Op{decode.OpMov32Reg}, []int{1, 2}},
		{"of a copy with sign", "r2 = r1\nr2 <<= 32\nr2 s>>= 32\nexit", []decode.Op{decode.OpMovSX32To64}, []int{1, 2}},
		{"twice", "r1 <<= 32\nr1 >>= 32\nr1 <<= 32\nr1 s>>= 32\nexit", []decode.Op{decode.OpMov32Reg, decode.OpMov64Reg, decode.OpMovSX32To64}, []int{1, 3}},
		{"of the frame pointer", "r2 = r10\nr2 <<= 32\nr2 >>= 32\nexit", []decode.Op{decode.OpMov64Reg, decode.OpMov32Reg}, []int{2}},
		{"by less", "r1 <<= 31\nr1 >>= 31\nexit", []decode.Op{decode.OpLsh64Imm, decode.OpRsh64Imm}, nil},
		{"back by less", "r1 <<= 32\nr1 >>= 31\nexit", []decode.Op{decode.OpLsh64Imm, decode.OpRsh64Imm}, nil},
		{"another back", "r1 <<= 32\nr2 >>= 32\nexit", []decode.Op{decode.OpLsh64Imm, decode.OpRsh64Imm}, nil},
		{"a jump leads between", "r1 <<= 32\nl: r1 >>= 32\nif r1 > 5 goto l\nexit", []decode.Op{decode.OpLsh64Imm, decode.OpRsh64Imm}, nil},
		{"a jump leads behind the copy", "r2 = r1\nl: r2 <<= 32\nr2 >>= 32\nif r1 > 5 goto l\nexit", []decode.Op{decode.OpMov64Reg, decode.OpMov32Reg}, []int{2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := analyse(t, tt.text)
			for pc, op := range tt.ops {
				assert.Equal(t, op, p.Insns[pc].Op, "slot %d", pc)
			}
			for pc := range p.Insns {
				dead := slices.Contains(tt.dead, pc)
				assert.Equal(t, dead, p.Insns[pc].Has(FlagDead), "slot %d", pc)
				assert.False(t, dead && p.Insns[pc].Has(FlagEntry), "entry at %d", pc)
			}
		})
	}
}
