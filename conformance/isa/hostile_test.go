package isa

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/conformance/isa/generate"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
	"github.com/bpfrun/bpfrun/vm"
)

const hostileLimit = 200_000

func assemble(t testing.TB, text string) []decode.Insn {
	t.Helper()
	insns, err := decode.Assemble(text)
	require.NoError(t, err, text)
	return insns
}

// hostile are programs that pass the structural checks and do what the kernel's verifier would
// never allow.
var hostile = []struct {
	name, text string
	fault      string
	pc         int
	says       string // part of the fault's text
}{
	{"store to address 0", "r1 = 0; *(u64 *)(r1 + 0) = 1; exit", "memory", 1, "null pointer"},
	{"store to a low address", "r1 = 96; *(u8 *)(r1 + 0) = 1; exit", "memory", 1, "null pointer plus 96"},
	{"load from the end of the address space", "r1 = -1; r0 = *(u64 *)(r1 + 0); exit", "memory", 1, ""},
	{"wild pointer", "r1 = 0x4141414141414141 ll; *(u32 *)(r1 + 0) = 7; exit", "memory", 2, "0x4141414141414141"},
	{"non-canonical pointer next to the arena", "r1 = 0xffff887fffffffff ll; r0 = *(u64 *)(r1 + 0); exit", "memory", 2, ""},
	{"address wraps around", "r1 = -8; r0 = *(u64 *)(r1 + 16); exit", "memory", 1, "null pointer"},

	{"above r10 by a byte", "r2 = r10; *(u8 *)(r2 + 0) = 1; exit", "memory", 1, "past the end of stack"},
	{"above r10 straddling", "r2 = r10; *(u64 *)(r2 - 7) = 1; exit", "memory", 1, "stack"},
	{"below the stack by a byte", "r2 = r10; r2 += -513; r0 = *(u8 *)(r2 + 0); exit", "memory", 2, "stack"},
	{"below the stack straddling", "r2 = r10; r2 += -513; r0 = *(u16 *)(r2 + 0); exit", "memory", 2, "stack"},
	{"the return address that is not there", "r2 = r10; r0 = *(u64 *)(r2 + 8); exit", "memory", 1, "stack"},

	{"map value past the end by a byte", "r1 = map_value(0, 0); r0 = *(u8 *)(r1 + 256); exit", "memory", 2, "past the end of map value"},
	{"map value before its start by a byte", "r1 = map_value(0, 0); *(u8 *)(r1 - 1) = 1; exit", "memory", 2, "before"},
	{"map value straddling its end", "r1 = map_value(0, 0); *(u64 *)(r1 + 249) = 1; exit", "memory", 2, "map value"},
	{"map value straddling its start", "r1 = map_value(0, 0); r0 = *(u64 *)(r1 - 1); exit", "memory", 2, "map value"},
	{"atomic past the map value", "r1 = map_value(0, 0); r2 = 1; lock *(u64 *)(r1 + 256) += r2; exit", "memory", 3, "map value"},
	{"cmpxchg past the map value", "r1 = map_value(0, 0); r0 = 0; r2 = 1; r0 = cmpxchg_64(r1 + 256, r0, r2); exit", "memory", 4, "map value"},
	{"misaligned atomic", "r1 = map_value(0, 0); r2 = 1; lock *(u32 *)(r1 + 2) += r2; exit", "memory", 3, ""},
	{"context past the end", "r0 = *(u8 *)(r1 + 192); exit", "memory", 0, "context"},
	{"context before its start", "*(u16 *)(r1 - 2) = 1; exit", "memory", 0, "context"},
	{"into a map object", "r1 = map_fd(0); r0 = *(u64 *)(r1 + 0); exit", "memory", 2, "map"},
	{"store into a map object", "r1 = map_fd(0); *(u64 *)(r1 + 8) = 1; exit", "memory", 2, "map"},
	{"store to program text", "r1 = func(+3); *(u64 *)(r1 + 0) = 0; exit; exit", "memory", 2, ""},
	{"lookup in no map", "r1 = 5; r2 = r10; r2 += -8; call 1; exit", "bad-argument", 3, "not a map"},
	{"lookup with a wild key", "r1 = map_fd(0); r2 = 99; call 1; exit", "memory", 3, "null pointer"},
	{"null from a lookup", "*(u32 *)(r10 - 4) = 1; r1 = map_fd(0); r2 = r10; r2 += -4; call 1; r0 = *(u64 *)(r0 + 0); exit", "memory", 6, "null pointer"},

	{"endless loop", "r0 = 0; goto -2", "budget", 0, ""},
	{"endless loop of one instruction", "goto -1", "budget", 0, ""},
	{"endless loop with a store", "r1 = map_value(0, 0); *(u64 *)(r1 + 0) = 1; goto -2", "budget", -1, ""},
	{"endless callbacks", "r1 = 8388608; r2 = func(+5); r3 = 0; r4 = 0; call 181; exit; r0 = 0; exit", "budget", -1, ""},
	{"recursion of a callback", "r1 = 1; r2 = func(-2); r3 = 0; r4 = 0; call 181; r0 = 0; exit", "call-depth", -1, "frame 9"},
	{"callback to nowhere", "r1 = 1; r2 = 4096; r3 = 0; r4 = 0; call 181; exit", "bad-target", 4, ""},
	{"callback into the second slot", "r1 = 1; r2 = func(+6); r3 = 0; r4 = 0; r2 += 8; call 181; exit; r3 = 1 ll; r0 = 0; exit", "bad-target", -1, ""},
}

// TestHostilePrograms: every one ends in a typed fault at the right place, in every mode, and the
// reference says the same.
func TestHostilePrograms(t *testing.T) {
	v := newFuzzVoices(t)
	for _, it := range v.interp {
		it.Limit = hostileLimit
	}
	for _, tt := range hostile {
		t.Run(tt.name, func(t *testing.T) {
			p := &Program{Name: tt.name, Insns: assemble(t, strings.ReplaceAll(tt.text, "; ", "\n"))}
			require.NoError(t, decode.Check(p.Insns, decode.CheckConfig{Lenient: true}), tt.text)
			for _, it := range v.interp {
				require.NoError(t, it.Load(p))
				o := it.Run(&Value{})
				assert.Equal(t, tt.fault, o.Fault, "%s: %s", it.Name(), o.Text)
				if tt.pc >= 0 && tt.fault != "budget" {
					assert.Equal(t, tt.pc, o.PC, "%s: %s", it.Name(), o.Text)
				}
				assert.Contains(t, o.Text, tt.says, it.Name())
			}
			require.NoError(t, v.reference.Load(p))
			o := v.reference.Run(&Value{})
			assert.Equal(t, tt.fault, o.Fault, "reference: %s", o.Text)
		})
	}
}

// TestRecursionWithoutCheck: the structural checks refuse recursion, and the machine stops it all
// the same.
func TestRecursionWithoutCheck(t *testing.T) {
	p := &Program{Name: "recursion", Insns: recursion}
	require.ErrorIs(t, decode.Check(p.Insns, decode.CheckConfig{}), decode.ErrCallDepth)
	v := newFuzzVoices(t)
	for _, it := range v.interp {
		require.NoError(t, it.Load(p))
		o := it.Run(&Value{})
		assert.Equal(t, "call-depth", o.Fault, it.Name())
	}
}

// TestObjectEnds tries every size at every offset around the ends of a value of every size up to 24
// bytes: an access is a fault exactly if one of its bytes lies outside.
func TestObjectEnds(t *testing.T) {
	m, err := mem.New(mem.Config{Size: 4 << 20})
	require.NoError(t, err)
	defer m.Close()
	loads := map[int]decode.Op{1: decode.OpLdxB, 2: decode.OpLdxH, 4: decode.OpLdxW, 8: decode.OpLdxDW}
	stores := map[int]decode.Op{1: decode.OpStxB, 2: decode.OpStxH, 4: decode.OpStxW, 8: decode.OpStxDW}
	for length := 1; length <= 24; length++ {
		r, err := m.Alloc(uint64(length), mem.Region{Kind: mem.MapValue, Name: "v"})
		require.NoError(t, err)
		for _, size := range []int{1, 2, 4, 8} {
			for off := -10; off <= length+10; off++ {
				inside := off >= 0 && off+size <= length
				for _, op := range []decode.Op{loads[size], stores[size]} {
					for _, fuse := range []bool{false, true} {
						img, err := vm.Lower(vm.LowerConfig{Fuse: fuse, Insns: []decode.Insn{
							op.Encode(1, 1, int16(off), 0), decode.OpMov64Imm.Encode(0, 0, 0, 0), decode.OpExit.Encode(0, 0, 0, 0),
						}})
						require.NoError(t, err)
						th := vm.NewThread(m, vm.ThreadConfig{})
						th.Start(img, r.Base)
						stop := th.Run(10)
						if inside != (stop == vm.Done) {
							t.Fatalf("%v at %+d of %d bytes (fuse %v): %v %v", op, off, length, fuse, stop, th.Fault())
						}
						if !inside {
							assert.Equal(t, vm.Memory, th.Fault().Kind)
							assert.Equal(t, 0, th.Fault().PC)
						}
					}
				}
			}
		}
		m.Free(r)
		_, f := m.Load(r.Base, 1)
		require.NotNil(t, f)
		assert.Equal(t, mem.UseAfterFree, f.Kind)
	}
}

// TestSelfTailCall: a program that tail calls itself continues after the call after 33 times.
func TestSelfTailCall(t *testing.T) {
	m, err := mem.New(mem.Config{Size: 4 << 20})
	require.NoError(t, err)
	defer m.Close()
	var img *vm.Image
	tail := &vm.Func{Name: "bpf_tail_call", ID: 12, Fn: func(t *vm.Thread, _ *[5]uint64) (uint64, *vm.Action) { return 7, t.TailCall(img) }}
	img, err = vm.Lower(vm.LowerConfig{
		Insns: assemble(t, "r6 += 1\ncall 12\nexit"),
		Call:  func(int, decode.Insn) (*vm.Func, error) { return tail, nil },
	})
	require.NoError(t, err)
	th := vm.NewThread(m, vm.ThreadConfig{})
	th.Start(img)
	require.Equal(t, vm.Done, th.Run(hostileLimit))
	assert.EqualValues(t, 7, th.Ret())
	assert.Equal(t, 33, th.TailCalls())
	assert.EqualValues(t, 34, th.Reg(6))
}

// TestHugePrograms: a million instructions are checked, lowered and run; more are refused.
func TestHugePrograms(t *testing.T) {
	insns := make([]decode.Insn, 0, decode.MaxInsns+1)
	insns = append(insns, decode.OpMov64Imm.Encode(0, 0, 0, 0))
	for len(insns) < decode.MaxInsns-1 {
		insns = append(insns, decode.OpAdd64Imm.Encode(0, 0, 0, 1))
	}
	insns = append(insns, decode.OpExit.Encode(0, 0, 0, 0))
	require.NoError(t, decode.Check(insns, decode.CheckConfig{}))
	v := newFuzzVoices(t)
	voices := v.interp
	if !testsize.Long() { // the interpreter, and native code with all it can do
		voices = []*Interpreter{voices[0], voices[len(voices)-1]}
	}
	for _, it := range voices {
		it.Limit = 2 * decode.MaxInsns
		require.NoError(t, it.Load(&Program{Name: "huge", Insns: insns}))
		o := it.Run(&Value{})
		assert.Empty(t, o.Fault, it.Name())
		assert.EqualValues(t, decode.MaxInsns-2, o.Ret, it.Name())
		assert.EqualValues(t, decode.MaxInsns, it.Insns(), it.Name())
		it.Limit = 1000
		o = it.Run(&Value{})
		assert.Equal(t, "budget", o.Fault, it.Name())
		assert.EqualValues(t, 1000, it.Insns(), it.Name())
	}
	assert.ErrorIs(t, decode.Check(append(insns, insns[0]), decode.CheckConfig{}), decode.ErrTooLong)
}

// TestBranchesOverFarDistances: gotol crosses what goto cannot.
func TestBranchesOverFarDistances(t *testing.T) {
	const n = 200_000
	insns := []decode.Insn{decode.OpMov64Imm.Encode(0, 0, 0, 1), decode.OpJeq64Imm.Encode(0, 0, 1, 0), decode.OpJa32.Encode(0, 0, 0, n)}
	for range n {
		insns = append(insns, decode.OpMov64Imm.Encode(0, 0, 0, 2))
	}
	insns = append(insns, decode.OpExit.Encode(0, 0, 0, 0))
	require.NoError(t, decode.Check(insns, decode.CheckConfig{}))
	v := newFuzzVoices(t)
	v.check(t, &Program{Name: "far", Insns: insns}, &Value{})
}

// TestManyMachines runs valid and hostile programs on many machines at once; it is for the race
// detector.
func TestManyMachines(t *testing.T) {
	gen := generate.New(21, generate.Config{Runs: 1})
	var wg sync.WaitGroup
	errs := make(chan error, 16)
	for w := range 16 {
		wg.Go(func() { errs <- oneMachine(gen, uint64(w)) })
	}
	wg.Wait()
	for range 16 {
		require.NoError(t, <-errs)
	}
}

func oneMachine(gen *generate.Generator, w uint64) error {
	v, err := newVoices(nil, nil)
	if err != nil {
		return err
	}
	defer v.close()
	for i := range uint64(100) {
		c := gen.Case(w*1000 + i)
		if i%3 == 0 {
			mutate(c)
			if !fuzzable(c.Insns) {
				continue
			}
		}
		p := &Program{Name: c.Name(), Insns: c.Insns, Packet: c.Packet}
		in := Value(c.Inputs[0])
		if err := v.reference.Load(p); err != nil {
			return err
		}
		want := v.reference.Run(&in)
		it := v.interp[i%uint64(len(v.interp))]
		if err := it.Load(p); err != nil {
			return err
		}
		got := it.Run(&in)
		if d := Diff(&want, &got); d != "" {
			return fmt.Errorf("%s: %s", p.Name, d)
		}
	}
	return nil
}
