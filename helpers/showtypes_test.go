package helpers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// btfPtr makes a struct btf_ptr.
func (r *rig) btfPtr(addr uint64, id uint32) uint64 {
	p := r.space(16)
	r.put(p, addr)
	r.put(p+8, uint64(id))
	return p
}

func (r *rig) put(addr, v uint64) {
	r.t.Helper()
	if f := r.mem.Store(addr, 8, v); f != nil {
		r.t.Fatal(f)
	}
}

func TestShowByType(t *testing.T) {
	r := newRig(t, newest)
	spec := r.kernel.BTF()
	typ, ok := spec.Find(btf.KindStruct, "timespec64")
	require.True(t, ok)
	value := r.alloc(append([]byte{5, 0, 0, 0, 0, 0, 0, 0}, make([]byte, 8)...))
	p, out := r.btfPtr(value, uint32(typ.ID)), r.space(64)
	const compact = uint64(btf.ShowCompact)
	want := "(struct timespec64){.tv_sec = (time64_t)5,}"
	assert.EqualValues(t, len(want), r.ok(uapi.FuncSnprintfBtf, out, 64, p, 16, compact))
	assert.Equal(t, want, cString(r.bytes(out, 64)))

	t.Run("what does not fit counts", func(t *testing.T) {
		assert.EqualValues(t, len(want), r.ok(uapi.FuncSnprintfBtf, out, 7, p, 16, compact))
		assert.Equal(t, "(struc", cString(r.bytes(out, 64)))
		assert.EqualValues(t, len(want), r.ok(uapi.FuncSnprintfBtf, out, 1, p, 16, compact))
		assert.Empty(t, cString(r.bytes(out, 64)))
	})
	t.Run("arguments", func(t *testing.T) {
		assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncSnprintfBtf, out, 64, p, 16, 16), "flags")
		assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncSnprintfBtf, out, 64, p, 8, 0), "size")
		assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncSnprintfBtf, out, 64, r.btfPtr(value, 0), 16, 0), "void")
		assert.Equal(t, neg(uapi.ENOENT), r.ok(uapi.FuncSnprintfBtf, out, 64, r.btfPtr(value, 1<<31), 16, 0), "no type")
		assert.Equal(t, neg(uapi.ERANGE), r.ok(uapi.FuncSnprintfBtf, out, 64, r.btfPtr(0, uint32(typ.ID)), 16, 0), "NULL")
		assert.Equal(t, neg(uapi.EFAULT), r.ok(uapi.FuncSnprintfBtf, out, 64, r.btfPtr(0xffffc00000000000, uint32(typ.ID)), 16, 0), "nothing there")
		assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncSeqPrintfBtf, 0, p, 16, 16))
	})
	t.Run("an object of the kernel", func(t *testing.T) {
		task, ok := spec.Find(btf.KindStruct, "task_struct")
		require.True(t, ok)
		o := r.kernel.Current()
		big := r.space(1 << 20)
		n := r.ok(uapi.FuncSnprintfBtf, big, 1<<20, r.btfPtr(o.Addr(), uint32(task.ID)), 16, 0)
		text := cString(r.bytes(big, 1<<20))
		assert.EqualValues(t, len(text), n)
		assert.True(t, strings.HasPrefix(text, "(struct task_struct){\n"), text[:100])
		assert.True(t, strings.HasSuffix(text, "\n}\n"))
		assert.Contains(t, text, ".comm = (char[])[\n")
		assert.Equal(t, n, r.ok(uapi.FuncSnprintfBtf, big, 1<<20, r.btfPtr(o.Addr(), uint32(task.ID)), 16, 0), "the same again")
	})
	t.Run("behind the end of an object", func(t *testing.T) {
		assert.NotZero(t, r.ok(uapi.FuncSnprintfBtf, out, 64, r.btfPtr(value+8, uint32(typ.ID)), 16, 0), "the bytes there vary")
		r.env.probe.Strict = true
		defer func() { r.env.probe.Strict = false }()
		_, f := r.call(uapi.FuncSnprintfBtf, out, 64, r.btfPtr(value+8, uint32(typ.ID)), 16, 0)
		require.NotNil(t, f)
		assert.Equal(t, mem.OutOfBounds, f.Mem.Kind)
	})
	t.Run("an iterator's output", func(t *testing.T) {
		r.env.Run.Text = nil
		assert.Zero(t, r.ok(uapi.FuncSeqPrintfBtf, 0, p, 16, compact))
		assert.Equal(t, want, string(r.env.Run.Text))
		r.env.Run.SeqFull = true
		assert.Zero(t, r.ok(uapi.FuncSeqPrintfBtf, 0, p, 16, compact), "what does not fit is not an error")
		assert.Equal(t, want, string(r.env.Run.Text))
	})
}
