package machine_test

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// edit loads an object and changes the instructions of a program's function for which is says so;
// one has to be among them.
func edit(t *testing.T, object, prog, function string, change func(in *decode.Insn) bool) *machine.Machine {
	t.Helper()
	l := load(t, "../../testdata/objects/clang-14/"+object, target(t, embedded.Name))
	lp, ok := l.Program(prog)
	require.True(t, ok)
	for _, f := range lp.Funcs {
		if f.Name != function {
			continue
		}
		for pc := f.Start; pc < f.Start+f.Len; pc++ {
			if change(&lp.Insns[pc]) {
				return compose(t, l, machine.Config{})
			}
		}
	}
	require.Fail(t, "no such instruction", "%s of %s", function, prog)
	return nil
}

// number reads a variable of 64 bits.
func number(t *testing.T, m *machine.Machine, name string) uint64 {
	t.Helper()
	b, err := m.ReadVariable(name)
	require.NoError(t, err)
	return binary.LittleEndian.Uint64(b)
}

// TestCallbacksOfTimersReturnZero: the verifier wants 0 of an asynchronous callback
// (kernel/bpf/verifier.c check_return_code).
func TestCallbacksOfTimersReturnZero(t *testing.T) {
	m := edit(t, "deferred.o", "start_note", "note", func(in *decode.Insn) bool {
		if in.Op() == decode.OpMov64Imm && in.Dst == 0 || in.Op() == decode.OpMov32Imm && in.Dst == 0 {
			in.Imm = 1
			return true
		}
		return false
	})
	res, err := m.Run(context.Background(), "start_note", machine.Input{Settle: time.Millisecond})
	require.NoError(t, err)
	require.NotNil(t, res.Fault)
	assert.Equal(t, vm.BadReturn, res.Fault.Kind)
	assert.ErrorContains(t, res.Fault, "callback returned 1, it may return only 0")
}

// TestHelpersUnderALock: while a program holds a spin lock it may call little but bpf_spin_unlock.
func TestHelpersUnderALock(t *testing.T) {
	m := edit(t, "abandoned.o", "ok_takes_lock", "ok_takes_lock", func(in *decode.Insn) bool {
		if in.Op() == decode.OpAdd64Imm && in.Imm == 1 || in.Op() == decode.OpAdd32Imm && in.Imm == 1 { // count++
			*in = decode.OpCallHelper.Encode(0, 0, 0, int32(uapi.FuncKtimeGetNs))
			return true
		}
		return false
	})
	res := run(t, m, "ok_takes_lock")
	require.Equal(t, machine.StatusFault, res.Status)
	assert.Equal(t, vm.BadArgument, res.Fault.Kind)
	assert.ErrorContains(t, res.Fault, "bpf_ktime_get_ns is called while the program holds a spin lock")
}

// TestLoadsBesideKernelObjects: memory before an object reads as 0, with a warning; memory after it
// is looked up.
func TestLoadsBesideKernelObjects(t *testing.T) {
	at := func(off int16) *machine.Machine {
		return edit(t, "loads.o", "ok_tp_btf", "ok_tp_btf", func(in *decode.Insn) bool {
			if in.Op() != decode.OpLdxW && in.Op() != decode.OpLdxSW {
				return false
			}
			in.Off = off
			return true
		})
	}
	for _, off := range []int16{-4, -8, -64, -72} {
		m := at(off)
		res := run(t, m, "ok_tp_btf")
		require.Equal(t, machine.StatusOK, res.Status, "%v", res.Fault)
		assert.Zero(t, number(t, m, "seen"), off)
		require.NotEmpty(t, res.Warnings, off)
		assert.Contains(t, res.Warnings[0], "a kernel may read 0, or whatever is there")
	}
	m := at(32000)
	res := run(t, m, "ok_tp_btf")
	require.Equal(t, machine.StatusOK, res.Status, "%v", res.Fault)
	require.NotEmpty(t, res.Warnings)
	assert.NotContains(t, res.Warnings[0], "a kernel may read 0, or whatever is there")
}

// TestGlobalsEndWhereTheyEnd: a variable takes as many bytes as it has, or fewer.
func TestGlobalsEndWhereTheyEnd(t *testing.T) {
	m := compose(t, load(t, "../../testdata/objects/clang-14/deferred.o", target(t, embedded.Name)), machine.Config{})
	require.NoError(t, m.WriteVariable("fired", []byte{1, 2, 3, 4, 5, 6, 7, 8}))
	require.NoError(t, m.WriteVariable("fired", []byte{9}))
	assert.EqualValues(t, uint64(0x0807060504030209), number(t, m, "fired"))
	for _, n := range []int{9, 16, 17} {
		assert.ErrorContains(t, m.WriteVariable("fired", make([]byte, n)), "global fired has 8 bytes", n)
	}
	assert.EqualValues(t, uint64(0x0807060504030209), number(t, m, "fired"))
}

// TestWhichTypeARecordHas: of structs that fit equally well the one with the most telling name, if
// only one has it.
func TestWhichTypeARecordHas(t *testing.T) {
	for _, tt := range []struct {
		names []string
		want  string
	}{
		{[]string{"thing"}, "thing"},
		{[]string{"a_record", "an_event"}, "an_event"},
		{[]string{"a_record", "an_event", "another_event"}, ""},
		{[]string{"a_record", "an_event", "another_event", "third_event"}, ""},
		{[]string{"some_info", "a_record", "thing"}, "a_record"},
		{[]string{"thing", "stuff"}, ""},
	} {
		b := btf.NewBuilder(nil)
		u64 := b.Int("unsigned long", 8, 0)
		for _, name := range tt.names {
			b.Struct(name, 16, btf.Member{Name: "a_" + name, Type: u64}, btf.Member{Name: "b_" + name, Type: u64, BitOffset: 64})
		}
		spec, err := b.Spec(binary.LittleEndian)
		require.NoError(t, err)
		def := &loader.Map{Name: "rb", Type: uapi.MapTypeRingbuf, MaxEntries: 4096, Autocreate: true, Index: -1}
		insns, err := decode.Assemble(`*(u64 *)(r10 - 16) = 1
			*(u64 *)(r10 - 8) = 2
			r1 = 0 ll
			r2 = r10
			r2 += -16
			r3 = 16
			r4 = 0
			call 130
			r0 = 0
			exit`)
		require.NoError(t, err)
		insns[2].Src = decode.PseudoMapFD
		raw := loader.Raw{Name: "send", Type: uapi.ProgTypeSocketFilter, License: "GPL", Section: "socket", Insns: insns,
			Refs: map[int]loader.Ref{2: {Kind: loader.RefMap, Map: def, Resolved: true}}, Maps: []*loader.Map{def}}
		lp := raw.Link(loader.NewTarget("linux-6.12.1", nil))
		types := machine.NewEventTypes(func() *btf.Spec { return spec }, nil, nil, []*loader.LinkedProgram{lp})
		got := ""
		if id := types.Find("rb", 16); id != 0 {
			got = types.Spec().Name(id)
		}
		assert.Equal(t, tt.want, got, tt.names)
	}
}
