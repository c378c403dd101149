package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/bpfsys"
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/uapi"
)

// TestDummyOpsAreNotRegistered: a kernel has bpf_dummy_ops for test runs alone. With a link it refuses them when the link is created.
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

// TestProgramsAreAssociatedWithStructOps: a program keeps the one struct_ops map that it is associated with.
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
