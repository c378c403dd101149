package conformance_test

import (
	"bytes"
	"debug/elf"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// runOn runs a program of an object on the types of Linux 6.12 after set-up.
func runOn(t *testing.T, o *loader.Object, program string, in machine.Input, setUp func(m *machine.Machine)) (*machine.Machine, *machine.Result) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	l := load(t, o, spec)
	require.NoError(t, l.Err)
	m, err := machine.New(l, machine.Config{})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	setUp(m)
	res, err := m.Run(t.Context(), program, in)
	require.NoError(t, err)
	require.Equal(t, machine.StatusOK, res.Status, "%v", res.Fault)
	return m, res
}

// TestLinkedByBpftool runs an object made of two by `bpftool gen object`: of a weak function in
// both one is left, and the CO-RE records of the other, which belong to no function any more, are
// passed over.
func TestLinkedByBpftool(t *testing.T) {
	o := object(t, fixtures+"objects/clang-22/linked.o")
	outside := 0
	for _, sec := range o.Ext.CORE {
		for _, r := range sec.Records {
			inside := false
			for _, f := range o.Functions {
				at := int(r.InsnOff / 8)
				inside = inside || f.Section == sec.Name && at >= f.SectionOff && at < f.SectionOff+len(f.Insns)
			}
			if !inside {
				outside++
			}
		}
	}
	assert.Positive(t, outside, "the dropped function has left a record")
	m, res := runOn(t, o, "prog_a", machine.Input{Context: []byte{41, 15: 0}}, func(m *machine.Machine) {
		require.NoError(t, m.Kernel().Current().Set("tgid", 100))
	})
	words := res.CtxOut
	// in_b(41) + its own static of 10 + the other object's 300 + 1, and the function of the first
	// object, which reads tgid.
	assert.EqualValues(t, 42+10+300+1, o.ByteOrder.Uint64(words))
	assert.EqualValues(t, 201, o.ByteOrder.Uint64(words[8:]))
	shared, ok := m.MapByName("shared")
	require.True(t, ok)
	require.Len(t, shared.Entries(), 1)
	assert.EqualValues(t, 20, shared.Entries()[0].Key[0], "the static of the second object")
}

// TestGCCObject runs what GCC made: its relocations, its CO-RE records, and a part of .BTF.ext
// without records or record size.
func TestGCCObject(t *testing.T) {
	o := object(t, fixtures+"objects/gcc-16/gcc.o")
	m, _ := runOn(t, o, "on_exit", machine.Input{}, func(m *machine.Machine) {
		task := m.Kernel().Current()
		require.NoError(t, task.Set("pid", 7))
		parent, err := task.Pointee("real_parent")
		require.NoError(t, err)
		require.NoError(t, parent.Set("tgid", 12))
	})
	table, ok := m.MapByName("table")
	require.True(t, ok)
	require.Len(t, table.Entries(), 1)
	assert.Equal(t, []byte{7, 0, 0, 0}, table.Entries()[0].Key)
	assert.Equal(t, []byte{12, 0, 0, 0, 0, 0, 0, 0}, table.Entries()[0].Value)
	counter, err := m.ReadVariable("counter")
	require.NoError(t, err)
	assert.Equal(t, []byte{16, 0, 0, 0, 0, 0, 0, 0}, counter, "4 + 12 by a static function")
}

// TestOldExtHeader gives an object the header of .BTF.ext that compilers wrote before CO-RE, which
// is 8 bytes shorter: offsets count from its end.
func TestOldExtHeader(t *testing.T) {
	path := fixtures + "objects/clang-14/subprog.o"
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	f, err := elf.NewFile(bytes.NewReader(data))
	require.NoError(t, err)
	ext := data[f.Section(".BTF.ext").Offset:]
	require.EqualValues(t, 32, f.ByteOrder.Uint32(ext[4:]))
	f.ByteOrder.PutUint32(ext[4:], 24)
	for _, off := range []int{8, 16} { // func_info_off, line_info_off
		f.ByteOrder.PutUint32(ext[off:], f.ByteOrder.Uint32(ext[off:])+8)
	}
	old, err := loader.OpenBytes("subprog.o", data)
	require.NoError(t, err)
	now := object(t, path)
	assert.Equal(t, now.Ext.Funcs, old.Ext.Funcs)
	require.Len(t, old.Ext.Lines, len(now.Ext.Lines))
	for i := range now.Ext.Lines {
		assert.Equal(t, now.Ext.Lines[i].Name, old.Ext.Lines[i].Name)
		assert.Equal(t, now.Ext.Lines[i].All(), old.Ext.Lines[i].All())
	}
	assert.Empty(t, old.Ext.CORE)
	_, res := runOn(t, old, "calls", machine.Input{Context: make([]byte, 64)}, func(*machine.Machine) {})
	_, want := runOn(t, now, "calls", machine.Input{Context: make([]byte, 64)}, func(*machine.Machine) {})
	assert.Equal(t, want.CtxOut, res.CtxOut)
}
