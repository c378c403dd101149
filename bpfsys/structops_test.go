package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

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
