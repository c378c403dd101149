package helpers

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/held"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// withLocal gives the rig an object's BTF with struct item {u64 n; 32 bytes of a node} and returns
// its id.
func (r *rig) withLocal() uint64 {
	b := btf.NewBuilder(nil)
	u64 := b.Int("unsigned long long", 8, 0)
	id := b.Struct("item", 40, btf.Member{Name: "n", Type: u64}, btf.Member{Name: "node", Type: b.Array(u64, u64, 4), BitOffset: 64})
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(r.t, err)
	r.env.Local = spec
	return uint64(id)
}

const nodeAt = 8

// item allocates an object with a number.
func (r *rig) item(typ, n uint64) uint64 {
	r.t.Helper()
	p := r.kok("bpf_obj_new_impl", typ, 0)
	require.NotZero(r.t, p)
	require.Nil(r.t, r.mem.Store(p, 8, n))
	return p
}

func TestLocalObjects(t *testing.T) {
	r := newRig(t, newest)
	_, f := r.kfunc("bpf_obj_new_impl", 1, 0)
	require.NotNil(t, f)
	assert.Equal(t, vm.NotSimulated, f.Kind, "without BTF")
	typ := r.withLocal()
	p := r.item(typ, 5)
	assert.Len(t, r.env.Run.Held.Things(), 1)
	assert.NotNil(t, r.mem.Store(p+40, 1, 0), "the object has its own bounds")
	q := r.kok("bpf_refcount_acquire_impl", p, 0)
	assert.Equal(t, p, q)
	assert.Len(t, r.env.Run.Held.Things(), 2)
	r.kok("bpf_obj_drop_impl", p, 0)
	assert.EqualValues(t, 5, r.u64(p), "one reference is left")
	r.kok("bpf_obj_drop_impl", p, 0)
	assert.NotNil(t, r.mem.Store(p, 8, 1), "freed")
	assert.Empty(t, r.env.Run.Held.Things())
	_, f = r.kfunc("bpf_obj_drop_impl", p, 0)
	require.NotNil(t, f, "dropped twice")
	_, f = r.kfunc("bpf_obj_new_impl", 999, 0)
	require.NotNil(t, f)
}

func TestLists(t *testing.T) {
	r := newRig(t, newest)
	typ := r.withLocal()
	head := r.space(16)
	assert.Zero(t, r.kok("bpf_list_pop_front", head))
	assert.Zero(t, r.kok("bpf_list_front", head))
	for n := range uint64(3) {
		assert.Zero(t, r.kok("bpf_list_push_back_impl", head, r.item(typ, n)+nodeAt, 0, 0))
	}
	assert.Zero(t, r.kok("bpf_list_push_front_impl", head, r.item(typ, 9)+nodeAt, 0, 0))
	assert.Empty(t, r.env.Run.Held.Things(), "the list holds them")
	assert.EqualValues(t, 9, r.u64(r.kok("bpf_list_front", head)-nodeAt))
	assert.EqualValues(t, 2, r.u64(r.kok("bpf_list_back", head)-nodeAt))
	var order []uint64
	take := func(name string) {
		p := r.kok(name, head)
		require.NotZero(t, p)
		order = append(order, r.u64(p-nodeAt))
		r.kok("bpf_obj_drop_impl", p-nodeAt, 0)
	}
	take("bpf_list_pop_front")
	take("bpf_list_pop_back")
	take("bpf_list_pop_back")
	take("bpf_list_pop_front")
	assert.Equal(t, []uint64{9, 2, 1, 0}, order)
	assert.Zero(t, r.kok("bpf_list_pop_back", head))
	assert.Empty(t, r.env.Run.Held.Things())
	// A shared object that is in a list already: the reference is dropped.
	p := r.item(typ, 1)
	r.kok("bpf_refcount_acquire_impl", p, 0)
	assert.Zero(t, r.kok("bpf_list_push_back_impl", head, p+nodeAt, 0, 0))
	assert.Equal(t, uint64(uint32(neg(uapi.EINVAL))), r.kok("bpf_list_push_back_impl", head, p+nodeAt, 0, 0))
	assert.Empty(t, r.env.Run.Held.Things())
	assert.EqualValues(t, 1, r.u64(p))
	r.env.FreeField(nil, maps.Special{Kind: maps.ListHead}, head)
	assert.NotNil(t, r.mem.Store(p, 8, 1), "the list's objects go with the map element")
	_, f := r.kfunc("bpf_list_push_back_impl", head, r.space(40), 0, 0)
	require.NotNil(t, f)
}

func TestTrees(t *testing.T) {
	r := newRig(t, newest)
	typ := r.withLocal()
	root := r.space(16)
	cb, err := decode.Assemble("r1 = *(u64 *)(r1 - 8); r2 = *(u64 *)(r2 - 8); r0 = 0; if r1 >= r2 goto +1; r0 = 1; exit")
	require.NoError(t, err)
	less := r.lower(cb, nil).FuncAddr(0)
	nodes := map[uint64]uint64{}
	for _, n := range []uint64{5, 1, 9, 3, 7} {
		nodes[n] = r.item(typ, n) + nodeAt
		assert.Zero(t, r.kok("bpf_rbtree_add_impl", root, nodes[n], less, 0, 0))
	}
	assert.Empty(t, r.env.Run.Held.Things())
	assert.Equal(t, nodes[5], r.kok("bpf_rbtree_remove", root, nodes[5]))
	assert.Zero(t, r.kok("bpf_rbtree_remove", root, nodes[5]), "not in the tree")
	r.kok("bpf_obj_drop_impl", nodes[5]-nodeAt, 0)
	var order []uint64
	for {
		p := r.kok("bpf_rbtree_first", root)
		if p == 0 {
			break
		}
		order = append(order, r.u64(p-nodeAt))
		require.Equal(t, p, r.kok("bpf_rbtree_remove", root, p))
		r.kok("bpf_obj_drop_impl", p-nodeAt, 0)
	}
	assert.Equal(t, []uint64{1, 3, 7, 9}, order)
	assert.Empty(t, r.env.Run.Held.Things())
}

// TestLockAtTheStartOfAnObject: the object and its lock have one address, and unlocking gives back
// the lock alone.
func TestLockAtTheStartOfAnObject(t *testing.T) {
	r := newRig(t, newest)
	obj := r.item(r.withLocal(), 0)
	r.ok(uapi.FuncSpinLock, obj)
	assert.True(t, r.env.Run.Held.Locked())
	r.ok(uapi.FuncSpinUnlock, obj)
	assert.False(t, r.env.Run.Held.Locked())
	assert.Equal(t, held.Reference, r.env.Run.Held.Things()[0].Kind)
	_, f := r.call(uapi.FuncSpinUnlock, obj)
	require.NotNil(t, f, "unlocked already")
	r.kok("bpf_obj_drop_impl", obj, 0)
	assert.Empty(t, r.env.Run.Held.Things())
}

// TestNodesOfLocalObjectsAreTheKernels: a program may not store to the lock and the nodes of an
// object it allocated, as to those in map values; the functions that link objects do.
func TestNodesOfLocalObjectsAreTheKernels(t *testing.T) {
	r := newRig(t, newest)
	b := btf.NewBuilder(nil)
	u64, u32 := b.Int("unsigned long long", 8, 0), b.Int("unsigned int", 4, 0)
	node := b.Struct("bpf_list_node", 24, btf.Member{Name: "__opaque", Type: b.Array(u64, u64, 3)})
	rb := b.Struct("bpf_rb_node", 32, btf.Member{Name: "__opaque", Type: b.Array(u64, u64, 4)})
	lock := b.Struct("bpf_spin_lock", 4, btf.Member{Name: "val", Type: u32})
	id := b.Struct("item", 80, btf.Member{Name: "n", Type: u64}, btf.Member{Name: "node", Type: node, BitOffset: 64}, btf.Member{Name: "rb", Type: rb, BitOffset: 32 * 8},
		btf.Member{Name: "lock", Type: lock, BitOffset: 64 * 8}, btf.Member{Name: "m", Type: u64, BitOffset: 72 * 8})
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	r.env.Local = spec
	p := r.kok("bpf_obj_new_impl", uint64(id), 0)
	for _, at := range []uint64{0, 72} {
		assert.Nil(t, r.mem.Store(p+at, 8, 7), "+%d is the program's", at)
	}
	for at, what := range map[uint64]string{8: "bpf_list_node node", 24: "bpf_list_node node", 32: "bpf_rb_node rb", 56: "bpf_rb_node rb", 64: "bpf_spin_lock lock"} {
		f := r.mem.Store(p+at, 4, 7)
		require.NotNil(t, f, "+%d", at)
		assert.Contains(t, f.Error(), what)
		assert.Zero(t, r.u64(p+at), "it may be read")
	}
	head := r.space(16)
	require.Zero(t, r.kok("bpf_list_push_back_impl", head, p+8, 0, 0))
	assert.Equal(t, p+8, r.kok("bpf_list_pop_front", head))
}
