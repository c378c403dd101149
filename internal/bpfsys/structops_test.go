package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// TestDummyOpsAreNotRegistered: a kernel has bpf_dummy_ops for test runs alone. With a link it
// refuses them when the link is created.
func TestDummyOpsAreNotRegistered(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	id := k.typeID(btf.KindStruct, "bpf_struct_ops_bpf_dummy_ops")
	size := int(k.kernel.MustType(btf.ID(id)).Size)
	store := func(flags int) (int, uapi.Errno) {
		m := k.must(k.createMap(uapi.MapTypeStructOps, 4, size, 1, flags, field{60, id}))
		return m, k.elem(uapi.CmdMapUpdateElem, int64(m), k.room(4), k.room(size), 0)
	}
	_, e := store(0)
	assert.Equal(t, uapi.EOPNOTSUPP, e)
	m, e := store(uapi.MapLink)
	assert.Zero(t, e)
	_, r := k.try(uapi.CmdLinkCreate, field{0, m}, field{4, 0}, field{8, int(uapi.AttachStructOps)}, field{12, 0})
	assert.Equal(t, uapi.EOPNOTSUPP, r.errno)
}

// TestProgramsAreAssociatedWithStructOps: a program keeps the one struct_ops map that it is
// associated with.
func TestProgramsAreAssociatedWithStructOps(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	ops, _ := k.opsMap()
	other, _ := k.opsMap()
	prog := k.must(k.load(uapi.ProgTypeSyscall, exitZero, field{44, 16}))
	member, r := k.program(uapi.ProgTypeStructOps, 0)
	k.must(member, r.errno)
	for _, tt := range []struct {
		name             string
		ops, prog, flags int
		want             uapi.Errno
	}{
		{"flags", ops, prog, 1, uapi.EINVAL},
		{"no program", ops, 9999, 0, uapi.EBADF},
		{"a map in the program's place", ops, ops, 0, uapi.EINVAL},
		{"a program of a struct_ops", ops, int(member), 0, uapi.EINVAL},
		{"no map", 9999, prog, 0, uapi.EBADF},
		{"another map", k.hash(), prog, 0, uapi.EINVAL},
		{"a struct_ops", ops, prog, 0, 0},
		{"the same once more", ops, prog, 0, 0},
		{"a second one", other, prog, 0, uapi.EBUSY},
	} {
		_, r := k.try(uapi.CmdProgAssocStructOps, field{0, tt.ops}, field{4, tt.prog}, field{8, tt.flags})
		assert.Equal(t, tt.want, r.errno, tt.name)
		assert.Empty(t, r.notes, tt.name)
	}
	maps := func() int { return len(k.s.Objects(bpfsys.KindMap)) }
	before := maps()
	k.close(int64(ops))
	assert.Equal(t, before, maps(), "the program keeps the map")
	k.close(int64(prog))
	assert.Equal(t, before-1, maps(), "the map ends with the program")
}

// TestDummyOpsRunAsTests: a test run passes its words as arguments, and a copy of the caller's
// state as the first.
func TestDummyOpsRunAsTests(t *testing.T) {
	spec := newestKernel(t)
	state := []decode.Insn{ // returns the state's number plus the rest of the arguments that it loads, and stores 90
		{Code: 0x79, Dst: 6, Src: 1},                                     // r6 = state
		{Code: 0xb7, Imm: 7}, {Code: 0x55, Dst: 6, Off: 1}, {Code: 0x95}, // 7 without one
		{Code: 0x61, Src: 6}, {Code: 0xb7, Dst: 2, Imm: 90}, {Code: 0x63, Dst: 6, Src: 2},
	}
	one := append(append([]decode.Insn{}, state...), decode.Insn{Code: 0x95})
	two := append(append([]decode.Insn{}, state...), decode.Insn{Code: 0x79, Dst: 2, Src: 1, Off: 32}, decode.Insn{Code: 0x77, Dst: 2, Imm: 32}, decode.Insn{Code: 0x0f, Src: 2}, decode.Insn{Code: 0x95})
	const test1, test2, sleepable = 0, 1, 2
	const released = 7<<16 | 2<<8
	here, nowhere := []uint64{1}, []uint64{8} // the state's address is filled in
	type outcome struct {
		errno       uapi.Errno
		ret, stored uint32
	}
	for _, tt := range []struct {
		name    string
		version uint32
		member  int
		insns   []decode.Insn
		args    []uint64
		size    int
		want    outcome
	}{
		{"a state", released, test1, one, here, 8, outcome{0, 0xbeef, 90}},
		{"none, where it may be missing", released, test1, one, []uint64{0}, 8, outcome{0, 7, 0xbeef}},
		{"none, where it may not", released, sleepable, returning(3), []uint64{0}, 8, outcome{uapi.EINVAL, 0, 0xbeef}},
		{"none, before that was checked", 6<<16 | 9<<8, sleepable, returning(3), []uint64{0}, 8, outcome{0, 3, 0xbeef}},
		{"five arguments", released, test2, two, []uint64{1, 2, 3, 4, 5 << 32}, 40, outcome{0, 0xbeef + 5, 90}},
		{"numbers may be 0", released, test2, two, []uint64{1, 0, 0, 0, 0}, 40, outcome{0, 0xbeef, 90}},
		{"no arguments", released, test1, one, nil, 0, outcome{uapi.EINVAL, 0, 0xbeef}},
		{"too few", released, test2, two, here, 8, outcome{uapi.EINVAL, 0, 0xbeef}},
		{"too many", released, test1, one, []uint64{1, 2}, 16, outcome{uapi.EINVAL, 0, 0xbeef}},
		{"a state that cannot be read", released, test1, one, nowhere, 8, outcome{uapi.EFAULT, 0, 0xbeef}},
		{"Linux 5.15", 5<<16 | 15<<8, test1, one, here, 8, outcome{uapi.ENOTSUPP, 0, 0xbeef}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := &caller{newTaskOn(t, loader.NewTarget(tt.name, spec, loader.WithVersion(tt.version))), spec}
			p := k.must(k.load(uapi.ProgTypeStructOps, tt.insns, field{68, tt.member}, field{108, k.typeID(btf.KindStruct, "bpf_dummy_ops")}, field{112, 0}))
			st, args := k.put(le.AppendUint32(nil, 0xbeef)), []byte{}
			for i, v := range tt.args {
				if i == 0 && v == 1 {
					v = st
				}
				args = le.AppendUint64(args, v)
			}
			fields := []field{{0, p}, {4, 0}, {76, 0}}
			if tt.size > 0 {
				fields = append(fields, field{40, tt.size}, field{48, k.put(args)})
			}
			_, e, out := k.call(uint32(uapi.CmdProgTestRun), fields...)
			got := outcome{errno: e, stored: le.Uint32(k.at(st, 4))}
			if e == 0 {
				got.ret = le.Uint32(out[4:])
			}
			assert.Equal(t, tt.want, got, k.notes)
		})
	}
	k := newCaller(t, spec)
	other, r := k.program(uapi.ProgTypeStructOps, 0)
	_, r = k.try(uapi.CmdProgTestRun, field{0, k.must(other, r.errno)}, field{40, 8}, field{48, k.room(8)})
	assert.Equal(t, uapi.EOPNOTSUPP, r.errno, "a function of another struct")
}
