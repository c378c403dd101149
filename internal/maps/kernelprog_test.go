//go:build linux

package maps

import (
	"fmt"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// probe is a program for the running kernel that makes calls on one map and stores results in an
// array.
type probe struct {
	insns   asm.Instructions
	m, out  *ebpf.Map
	results int
}

// storeR6 writes R6 to the next result.
func (p *probe) storeR6() {
	p.insns = append(p.insns,
		asm.StoreImm(asm.RFP, -4, int64(p.results), asm.Word),
		asm.LoadMapPtr(asm.R1, p.out.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, -4),
		asm.StoreMem(asm.RFP, -16, asm.R6, asm.DWord),
		asm.Mov.Reg(asm.R3, asm.RFP), asm.Add.Imm(asm.R3, -16),
		asm.Mov.Imm(asm.R4, 0),
		asm.FnMapUpdateElem.Call(),
	)
	p.results++
}

// clearStack writes the whole stack, so that the verifier lets all of it be read.
func (p *probe) clearStack() {
	p.insns = append(p.insns, asm.Mov.Imm(asm.R6, 0))
	for off := int16(-512); off < 0; off += 8 {
		p.insns = append(p.insns, asm.StoreMem(asm.RFP, off, asm.R6, asm.DWord))
	}
}

func (p *probe) key(k int64) {
	p.insns = append(p.insns,
		asm.StoreImm(asm.RFP, -20, k, asm.Word),
		asm.LoadMapPtr(asm.R1, p.m.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, -20),
	)
}

func (p *probe) update(k, v int64) {
	p.key(k)
	p.insns = append(p.insns,
		asm.Mov.Imm(asm.R5, int32(v)), asm.StoreMem(asm.RFP, -32, asm.R5, asm.DWord),
		asm.Mov.Reg(asm.R3, asm.RFP), asm.Add.Imm(asm.R3, -32),
		asm.Mov.Imm(asm.R4, 0), asm.FnMapUpdateElem.Call())
}

func (p *probe) remove(k int64) {
	p.key(k)
	p.insns = append(p.insns, asm.FnMapDeleteElem.Call())
}

// lookup keeps the pointer in a callee-saved register.
func (p *probe) lookup(k int64, dst asm.Register) {
	p.key(k)
	p.insns = append(p.insns, asm.FnMapLookupElem.Call(), asm.JEq.Imm(asm.R0, 0, "exit"), asm.Mov.Reg(dst, asm.R0))
}

func (p *probe) loadResult(from asm.Register) {
	p.insns = append(p.insns, asm.LoadMem(asm.R6, from, 0, asm.DWord))
	p.storeR6()
}

func (p *probe) run(t *testing.T) []uint64 {
	t.Helper()
	p.insns = append(p.insns, asm.Mov.Imm(asm.R0, 0).WithSymbol("exit"), asm.Return())
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, Instructions: p.insns, License: "GPL"})
	require.NoError(t, err)
	defer prog.Close()
	_, err = prog.Run(&ebpf.RunOptions{Data: make([]byte, 64)})
	require.NoError(t, err)
	out := make([]uint64, p.results)
	for i := range out {
		require.NoError(t, p.out.Lookup(uint32(i), &out[i]))
	}
	return out
}

func newProbe(t *testing.T, spec *ebpf.MapSpec) *probe {
	t.Helper()
	requireBPF(t)
	out, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 64})
	require.NoError(t, err)
	m, err := ebpf.NewMap(spec)
	require.NoError(t, err)
	t.Cleanup(func() { m.Close(); out.Close() })
	return &probe{m: m, out: out}
}

// TestKernelStalePointers compares what a program sees through pointers to replaced and deleted
// elements.
func TestKernelStalePointers(t *testing.T) {
	p := newProbe(t, &ebpf.MapSpec{Type: ebpf.Hash, KeySize: 4, ValueSize: 8, MaxEntries: 8})
	p.update(1, 11)
	p.lookup(1, asm.R7)
	p.update(1, 12)
	p.loadResult(asm.R7) // the replaced element
	p.lookup(1, asm.R8)
	p.loadResult(asm.R8)
	p.remove(1)
	p.loadResult(asm.R8) // the deleted one
	p.update(2, 21)
	p.loadResult(asm.R8) // after another key was added
	p.loadResult(asm.R7)
	p.update(2, 22)
	p.loadResult(asm.R8)
	p.loadResult(asm.R7)
	want := p.run(t)

	env := newEnv(t, 2)
	m := newMap(t, env, Spec{Type: uapi.MapTypeHash, KeySize: 4, ValueSize: 8, MaxEntries: 8})
	var got []uint64
	load := func(a uint64) {
		v, f := env.Mem.Load(a, 8)
		require.Nil(t, f)
		got = append(got, v)
	}
	up := func(k uint32, v uint64) { require.Equal(t, OK, m.Update(0, k32(k), k64(v), 0)) }
	up(1, 11)
	r7, _ := m.Lookup(0, k32(1))
	up(1, 12)
	load(r7)
	r8, _ := m.Lookup(0, k32(1))
	load(r8)
	require.Equal(t, OK, m.Delete(k32(1)))
	load(r8)
	up(2, 21)
	load(r8)
	load(r7)
	up(2, 22)
	load(r8)
	load(r7)
	assert.Equal(t, want, got, "want: the kernel's")
}

// TestKernelRingbufPositions compares capacity and positions of a ring buffer nobody reads.
func TestKernelRingbufPositions(t *testing.T) {
	p := newProbe(t, &ebpf.MapSpec{Type: ebpf.RingBuf, MaxEntries: 4096})
	env := newEnv(t, 2)
	r := newMap(t, env, Spec{Type: uapi.MapTypeRingbuf, MaxEntries: 4096}).(RingBuffer)
	var got []uint64
	output := func(size int, flags uint64) {
		p.insns = append(p.insns, asm.LoadMapPtr(asm.R1, p.m.FD()), asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, -512),
			asm.Mov.Imm(asm.R3, int32(size)), asm.Mov.Imm(asm.R4, int32(flags)), asm.FnRingbufOutput.Call(), asm.Mov.Reg(asm.R6, asm.R0))
		p.storeR6()
		got = append(got, uint64(-int64(r.Output(make([]byte, size), flags))))
	}
	reserve := func(size int, keep bool) {
		fn, after := asm.FnRingbufDiscard, fmt.Sprintf("after%d", len(p.insns))
		if keep {
			fn = asm.FnRingbufSubmit
		}
		p.insns = append(p.insns, asm.LoadMapPtr(asm.R1, p.m.FD()), asm.Mov.Imm(asm.R2, int32(size)), asm.Mov.Imm(asm.R3, 0), asm.FnRingbufReserve.Call(),
			asm.Mov.Imm(asm.R6, 0), asm.JEq.Imm(asm.R0, 0, after), asm.Mov.Imm(asm.R6, 1), asm.Mov.Reg(asm.R1, asm.R0), asm.Mov.Imm(asm.R2, 0),
			fn.Call(), asm.Mov.Reg(asm.R6, asm.R6).WithSymbol(after))
		p.storeR6()
		a, ok := r.Reserve(uint64(size), 0)
		v := uint64(0)
		if ok {
			v = 1
			if keep {
				require.Equal(t, OK, r.Submit(a, 0))
			} else {
				require.Equal(t, OK, r.Discard(a, 0))
			}
		}
		got = append(got, v)
	}
	query := func(what uint64) {
		p.insns = append(p.insns, asm.LoadMapPtr(asm.R1, p.m.FD()), asm.Mov.Imm(asm.R2, int32(what)), asm.FnRingbufQuery.Call(), asm.Mov.Reg(asm.R6, asm.R0))
		p.storeR6()
		got = append(got, r.Query(what))
	}
	p.clearStack()
	reserve(4096-8, true)
	reserve(4096-16, false)
	query(uapi.RbAvailData)
	output(1, 0)
	query(uapi.RbProdPos)
	// Nobody consumes: the discarded record's room stays taken.
	output(480, 0)
	output(0, uapi.RbNoWakeup)
	output(1, 4)
	query(uapi.RbConsPos)
	query(uapi.RbRingSize)
	query(9)
	want := p.run(t)
	assert.Equal(t, want, got, "want: the kernel's")

	p = newProbe(t, &ebpf.MapSpec{Type: ebpf.RingBuf, MaxEntries: 4096})
	r = newMap(t, env, Spec{Type: uapi.MapTypeRingbuf, MaxEntries: 4096}).(RingBuffer)
	got = nil
	p.clearStack()
	for _, n := range []int{480, 13, 500, 512, 0, 8, 512, 512, 512, 512, 512, 300, 200, 100, 8, 8, 0, 0} {
		output(n, 0)
		query(uapi.RbAvailData)
	}
	want = p.run(t)
	assert.Equal(t, want, got, "want: the kernel's")
}
