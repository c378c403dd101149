package decode

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func assemble(t *testing.T, text string) []Insn {
	insns, err := Assemble(text)
	require.NoError(t, err, text)
	return insns
}

func TestCheck(t *testing.T) {
	k := KernelVersion
	for _, c := range []struct {
		name string
		text string
		cfg  CheckConfig
		want error
		at   int
	}{
		{name: "empty", text: "", want: ErrEmpty},
		{name: "exit", text: "r0 = 0; exit"},
		{name: "opcode", text: ".insn 0xff, 0, 0, 0, 0; exit", want: ErrOpcode},
		{name: "reserved src", text: ".insn 0x07, 1, 2, 0, 0; exit", want: ErrReserved},
		{name: "reserved off of exit", text: ".insn 0x95, 0, 0, 1, 0", want: ErrReserved},
		{name: "division variant", text: "r1 = 1; .insn 0x37, 1, 0, 2, 1; exit", want: ErrReserved, at: 1},
		{name: "negative division variant", text: ".insn 0x37, 1, 0, -1, 1; exit", want: ErrReserved},
		{name: "move variant", text: ".insn 0xbf, 1, 2, 7, 0; exit", want: ErrReserved},
		{name: "32-bit move of 32", text: ".insn 0xbc, 1, 2, 32, 0; exit", want: ErrReserved},
		{name: "byte order width", text: ".insn 0xdc, 1, 0, 0, 8; exit", want: ErrReserved},
		{name: "call kind", text: ".insn 0x85, 0, 3, 0, 1; exit", want: ErrReserved},
		{name: "register", text: ".insn 0x07, 11, 0, 0, 1; exit", want: ErrRegister},
		{name: "register src", text: ".insn 0x0f, 1, 15, 0, 0; exit", want: ErrRegister},
		{name: "write r10", text: "r10 = 1; exit", want: ErrFramePointer},
		{name: "fetch into r10", text: "r10 = atomic_fetch_add((u64 *)(r1 + 0), r10); exit", want: ErrFramePointer},
		{name: "cmpxchg of r10", text: "r0 = cmpxchg_64(r1 + 0, r0, r10); exit"},
		{name: "imm64 truncated", text: "r0 = 0; .insn 0x18, 1, 0, 0, 0", want: ErrLdImm64, at: 1},
		{name: "imm64 second slot", text: ".insn 0x18, 1, 0, 0, 0; .insn 0, 1, 0, 0, 0; exit", want: ErrLdImm64},
		{name: "imm64 kind", text: ".insn 0x18, 1, 7, 0, 0; .insn 0, 0, 0, 0, 0; exit", want: ErrLdImm64},
		{name: "map fd with high half", text: "r1 = map_fd(1, 1); exit", want: ErrLdImm64},
		{name: "atomic", text: ".insn 0xdb, 1, 2, 0, 0x20; exit", want: ErrAtomic},
		{name: "atomic xchg without fetch", text: ".insn 0xdb, 1, 2, 0, 0xe0; exit", want: ErrAtomic},
		{name: "atomic size", text: ".insn 0xd3, 1, 2, 0, 0; exit", want: ErrAtomicSize},
		{name: "address space", text: "r1 = addr_space_cast(r2, 0, 2); exit", want: ErrAddrSpace},
		{name: "shift", text: "r1 <<= 64; exit", want: ErrShift},
		{name: "shift 32", text: "w1 s>>= 32; exit", want: ErrShift},
		{name: "shift negative", text: "r1 >>= -1; exit", want: ErrShift},
		{name: "shift lenient", text: "r1 <<= 64; exit", cfg: CheckConfig{Lenient: true}},
		{name: "shift that the walk may not reach", text: "r1 <<= 64; exit", cfg: CheckConfig{Walked: true, Kernel: k(7, 2, 0)}},
		{name: "division that the walk may not reach", text: "w1 %= 0; exit", cfg: CheckConfig{Walked: true, Kernel: k(7, 2, 0)}},
		{name: "stack that the walk may not reach", text: "r1 = *(u64 *)(r10 - 520); exit", cfg: CheckConfig{Walked: true, Kernel: k(7, 2, 0)}},
		{name: "stack of a chain that the walk may not reach", text: "*(u64 *)(r10 - 512) = r1; call f; exit; f: *(u64 *)(r10 - 8) = r1; exit", cfg: CheckConfig{Walked: true}},
		{name: "write of r10 that the walk may not reach", text: "r10 = 1; exit", cfg: CheckConfig{Walked: true, Kernel: k(6, 12, 0)}},
		{name: "register that the walk may not reach", text: ".insn 0x07, 11, 0, 0, 1; exit", cfg: CheckConfig{Walked: true, Kernel: k(6, 1, 0)}, want: ErrRegister},
		{name: "division", text: "w1 s%= 0; exit", want: ErrDivByZero},
		{name: "jump out", text: "goto +5; exit", want: ErrJump},
		{name: "jump before", text: "if r1 == 0 goto -2; exit", want: ErrJump},
		{name: "jump to the end", text: "if r1 == 0 goto +1; exit", want: ErrJump},
		{name: "jump into another function", text: "call f; if r0 == 0 goto +1; exit; f: exit", want: ErrJump, at: 1},
		{name: "jump into imm64", text: "if r1 == 0 goto +1; r1 = 5 ll; exit", want: ErrJumpIntoImm64, at: 1},
		{name: "back edge", text: "l: r1 += 1; if r1 != 0 goto l; exit"},
		{name: "fall through", text: "r0 = 0", want: ErrFallThrough},
		{name: "fall through imm64", text: "r0 = 0 ll", want: ErrFallThrough},
		{name: "conditional end", text: "l: exit; if r0 == 0 goto l", want: ErrFallThrough, at: 1},
		{name: "fall into function", text: "call f; f: exit", want: ErrFallThrough},
		{name: "ends in goto", text: "goto e; l: exit; e: goto l"},
		{name: "ends in gotol", text: "goto e; l: exit; e: gotol l"},
		{name: "unreachable", text: "exit; r0 = 1; exit", want: ErrUnreachable, at: 1},
		{name: "unreachable function", text: "exit; goto +0; exit", want: ErrUnreachable, at: 1},
		{name: "entry", text: "exit; r0 = 1; exit", cfg: CheckConfig{Entries: []int{1}}},
		{name: "callback", text: "r2 = func(f); exit; f: exit"},
		{name: "callback outside", text: "r2 = func(+9); exit", want: ErrCallTarget},
		{name: "call outside", text: "call pc-2; exit", want: ErrCallTarget},
		{name: "call into imm64", text: "call pc+1; r1 = 5 ll; exit", want: ErrFallThrough, at: 1},
		{name: "recursion", text: "call pc-1; exit", want: ErrCallDepth},
		{name: "mutual recursion", text: "call f; exit; f: call g; exit; g: call f; exit", want: ErrCallDepth, at: 4},
		{name: "helper unknown", text: "call 9; exit", cfg: CheckConfig{Helper: func(int32) bool { return false }}, want: ErrUnknownFunc},
		{name: "kfunc unknown", text: "call kfunc#9; exit", cfg: CheckConfig{Kfunc: func(Insn) bool { return false }}, want: ErrUnknownFunc},
		{name: "functions not judged", text: "call 195896080; call kfunc#9, 3; exit"},
		{name: "callx", text: "callx r2; exit", want: ErrOpcode},
		{name: "callx lenient", text: "callx r2; exit", cfg: CheckConfig{Lenient: true}},
		{name: "gotox anywhere", text: "gotox r1; r0 = 0; exit"},
		{name: "gotox targets", text: "gotox r1; r0 = 0; exit", cfg: CheckConfig{JumpTargets: []int{1}}},
		{name: "gotox other targets", text: "gotox r1; r0 = 0; exit", cfg: CheckConfig{JumpTargets: []int{2}}, want: ErrUnreachable, at: 1},
		{name: "stack below", text: "*(u64 *)(r10 - 520) = r1; exit", want: ErrStackAccess},
		{name: "stack above", text: "r1 = *(u8 *)(r10 + 0); exit", want: ErrStackAccess},
		{name: "stack misaligned", text: "*(u64 *)(r10 - 12) = 0; exit", want: ErrStackAccess},
		{name: "stack full", text: "*(u64 *)(r10 - 512) = 0; exit"},
		{name: "stack of a chain", text: "*(u64 *)(r10 - 256) = 0; call f; exit; f: *(u64 *)(r10 - 264) = 0; exit", want: ErrStackDepth, at: 1},
		{name: "stack of a chain fits", text: "*(u64 *)(r10 - 256) = 0; call f; exit; f: *(u64 *)(r10 - 256) = 0; exit"},
		{name: "private stack", text: "*(u64 *)(r10 - 256) = 0; call f; exit; f: *(u64 *)(r10 - 264) = 0; exit", cfg: CheckConfig{PrivateStack: true}},
		{name: "rounding before 6.9", text: "*(u64 *)(r10 - 488) = 0; call f; exit; f: exit", cfg: CheckConfig{Kernel: k(6, 1, 0)}, want: ErrStackDepth, at: 1},
		{name: "rounding since 6.9", text: "*(u64 *)(r10 - 488) = 0; call f; exit; f: exit", cfg: CheckConfig{Kernel: k(6, 12, 0)}},
		{name: "tail call deep", text: "*(u64 *)(r10 - 256) = 0; call f; exit; f: call 12; exit", want: ErrTailCallStack, at: 1},
		{name: "tail call shallow", text: "*(u64 *)(r10 - 240) = 0; call f; exit; f: call 12; exit"},
		{name: "gotol on 5.10", text: "gotol +0; exit", cfg: CheckConfig{Kernel: k(5, 10, 0)}, want: ErrNewerKernel},
		{name: "sdiv on 6.1", text: "r1 s/= r2; exit", cfg: CheckConfig{Kernel: k(6, 1, 0)}, want: ErrNewerKernel},
		{name: "sdiv on 6.12", text: "r1 s/= r2; exit", cfg: CheckConfig{Kernel: k(6, 12, 0)}},
		{name: "add on 5.10", text: "lock *(u64 *)(r1 + 0) += r2; exit", cfg: CheckConfig{Kernel: k(5, 10, 0)}},
		{name: "fetch on 5.10", text: "r2 = atomic_fetch_add((u64 *)(r1 + 0), r2); exit", cfg: CheckConfig{Kernel: k(5, 10, 0)}, want: ErrNewerKernel},
		{name: "fetch on 6.1", text: "r2 = atomic_fetch_add((u64 *)(r1 + 0), r2); exit", cfg: CheckConfig{Kernel: k(6, 1, 0)}},
		{name: "acquire on 6.12", text: "r2 = load_acquire((u64 *)(r1 + 0)); exit", cfg: CheckConfig{Kernel: k(6, 12, 0)}, want: ErrNewerKernel},
		{name: "acquire on 6.18", text: "r2 = load_acquire((u64 *)(r1 + 0)); exit", cfg: CheckConfig{Kernel: k(6, 18, 0)}},
		{name: "may_goto on 6.6", text: "may_goto +0; exit", cfg: CheckConfig{Kernel: k(6, 6, 0)}, want: ErrNewerKernel},
		{name: "gotox on 6.18", text: "gotox r1", cfg: CheckConfig{Kernel: k(6, 18, 0)}, want: ErrNewerKernel},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Check(assemble(t, c.text), c.cfg)
			if c.want == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, c.want)
			var check *CheckError
			require.ErrorAs(t, err, &check)
			assert.Equal(t, c.at, check.Insn, err.Error())
			assert.Contains(t, err.Error(), c.want.Error())
		})
	}
}

// TestCallDepth: eight frames pass, nine do not, whatever order the functions stand in.
func TestCallDepth(t *testing.T) {
	chain := func(n int) string {
		return strings.Repeat("call pc+1\nexit\n", n) + "r0 = 3\nexit\n"
	}
	assert.NoError(t, Check(assemble(t, chain(7)), CheckConfig{}))
	assert.ErrorIs(t, Check(assemble(t, chain(8)), CheckConfig{}), ErrCallDepth)
	// Calls of every later function from every function have exponentially many paths.
	var wide strings.Builder
	for i := range MaxFrames {
		wide.WriteString(label("f", i) + ": ")
		for j := i + 1; j < MaxFrames; j++ {
			wide.WriteString("call " + label("f", j) + "\n")
		}
		wide.WriteString("exit\n")
	}
	assert.NoError(t, Check(assemble(t, wide.String()), CheckConfig{}))
}

func label(prefix string, n int) string { return prefix + strconv.Itoa(n) }

func TestTooLong(t *testing.T) {
	assert.ErrorIs(t, Check(make([]Insn, MaxInsns+1), CheckConfig{}), ErrTooLong)
	most := checker{program: program{insns: make([]Insn, MaxInsns)}}
	assert.Nil(t, most.size())
	var calls, functions strings.Builder
	for i := range MaxSubprograms {
		calls.WriteString("call " + label("f", i) + "\n")
		functions.WriteString(label("f", i) + ": exit\n")
	}
	assert.ErrorIs(t, Check(assemble(t, calls.String()+"exit\n"+functions.String()), CheckConfig{}), ErrSubprograms)
}

func TestFlow(t *testing.T) {
	insns := assemble(t, `
		r1 = 1 ll
		if r1 > 5 goto out
		call f
		r2 = func(g)
	out:	exit
	f:	goto fe
	fe:	exit
	g:	may_goto ge
	ge:	exit`)
	assert.Equal(t, []int{0, 7, 9}, Subprograms(insns))
	assert.Equal(t, []int{0, 7, 8, 9}, Subprograms(insns, 8, 8, -1, 99))
	assert.Equal(t, 0, SubprogramAt([]int{0, 7, 9}, 6))
	assert.Equal(t, 1, SubprogramAt([]int{0, 7, 9}, 7))
	assert.Equal(t, 2, SubprogramAt([]int{0, 7, 9}, 10))
	var leaders []int
	for i, l := range Leaders(insns) {
		if l {
			leaders = append(leaders, i)
		}
	}
	assert.Equal(t, []int{0, 3, 4, 6, 7, 8, 9, 10}, leaders)
	var unreached []int
	for i, r := range Reachable(insns) {
		if !r {
			unreached = append(unreached, i)
		}
	}
	assert.Equal(t, []int{1, 5}, unreached) // second slots
	assert.Equal(t, []int{6, 3}, Successors(nil, insns, 2))
	assert.Equal(t, []int{2}, Successors(nil, insns, 0))
	assert.Equal(t, []int{4}, Successors(nil, insns, 3))
	assert.Empty(t, Successors(nil, insns, 6))
	assert.Equal(t, []int{8}, Successors(nil, insns, 7))
	assert.Nil(t, Subprograms(nil))
}
