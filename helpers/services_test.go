package helpers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

func TestServicesThatAreNotSetUp(t *testing.T) {
	r := newRig(t, newest)
	r.context(sys, hook.ContextSpec{})
	buf := r.space(16)
	for name, want := range map[string]uapi.Errno{
		"bpf_get_fsverity_digest": uapi.ENODATA,
	} {
		assert.Equal(t, uint64(uint32(neg(want))), r.kok(name, 0, 0, 0), name)
	}
	for _, name := range []string{"bpf_task_get_cgroup1", "bpf_lookup_user_key"} {
		assert.Zero(t, r.kok(name, 1, 0), name)
	}
	for _, name := range []string{"bpf_key_put", "bpf_crypto_ctx_acquire"} {
		_, f := r.kfunc(name, 8)
		assert.NotNil(t, f, "%s: nobody got a reference", name)
	}
	for _, id := range []uapi.FuncID{uapi.FuncImaInodeHash, uapi.FuncImaFileHash} {
		assert.Equal(t, neg(uapi.EOPNOTSUPP), r.ok(id, 0, buf, 16))
	}
	assert.Equal(t, neg(uapi.EBADF), r.ok(uapi.FuncSysClose, 5))
}

func TestFindTypes(t *testing.T) {
	r := newRig(t, newest)
	const structKind = 4
	assert.EqualValues(t, mustFind(t, r, "task_struct"), r.ok(uapi.FuncBtfFindByNameKind, r.str("task_struct"), 12, structKind, 0))
	assert.Equal(t, neg(uapi.ENOENT), r.ok(uapi.FuncBtfFindByNameKind, r.str("no_such"), 8, structKind, 0))
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncBtfFindByNameKind, r.str("task_struct"), 4, structKind, 0), "not terminated")
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncBtfFindByNameKind, r.str("task_struct"), 12, structKind, 1), "flags")
}

func TestBprmOptions(t *testing.T) {
	r := newRig(t, newest)
	o, err := r.kernel.NewObjectNamed("bprm", "linux_binprm")
	require.NoError(t, err)
	assert.Zero(t, r.ok(uapi.FuncBprmOptsSet, o.Addr(), 1))
	v, err := o.Uint("secureexec")
	require.NoError(t, err)
	assert.EqualValues(t, 1, v)
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncBprmOptsSet, o.Addr(), 2))
	_, f := r.call(uapi.FuncBprmOptsSet, 0, 1)
	assert.NotNil(t, f)
}

func TestElementCount(t *testing.T) {
	r := newRig(t, newest)
	for _, typ := range []uapi.MapType{uapi.MapTypeHash, uapi.MapTypeArray} {
		m := r.newMap(maps.Spec{Type: typ, KeySize: 4, ValueSize: 8, MaxEntries: 4})
		require.Zero(t, m.Update(0, []byte{1, 0, 0, 0}, make([]byte, 8), 0))
		want := map[uapi.MapType]uint64{uapi.MapTypeHash: 1}[typ]
		assert.Equal(t, want, r.kok("bpf_map_sum_elem_count", m.Addr()), "arrays keep no count")
	}
}

func TestProbeIntoDynptr(t *testing.T) {
	r := newRig(t, newest)
	data, d, from := r.space(16), r.space(16), r.str("kernel text")
	require.Zero(t, r.ok(uapi.FuncDynptrFromMem, data, 16, 0, d))
	assert.Zero(t, r.kok("bpf_probe_read_kernel_dynptr", d, 2, 6, from))
	assert.Equal(t, "kernel", string(r.bytes(data+2, 6)))
	assert.Equal(t, uint64(uint32(neg(uapi.E2BIG))), r.kok("bpf_probe_read_kernel_dynptr", d, 12, 6, from))
	assert.NotZero(t, r.kok("bpf_probe_read_user_dynptr", d, 2, 6, 0x10))
	assert.Equal(t, "kernel", string(r.bytes(data+2, 6)), "as it was")
	assert.NotZero(t, r.kok("bpf_copy_from_user_dynptr", d, 2, 6, 0x10))
	assert.Equal(t, make([]byte, 6), r.bytes(data+2, 6), "what cannot be read is zero")
}

func TestSystemKeys(t *testing.T) {
	r := newestRig(t)
	assert.Zero(t, r.kok("bpf_lookup_system_key", 3))
	key := r.kok("bpf_lookup_system_key", 2)
	require.NotZero(t, key)
	data, sig := r.space(16), r.space(16)
	verify := func(signature []byte) (uint64, error) {
		require.Zero(t, r.ok(uapi.FuncDynptrFromMem, r.alloc([]byte("text")), 4, 0, data))
		require.Zero(t, r.ok(uapi.FuncDynptrFromMem, r.alloc(signature), uint64(len(signature)), 0, sig))
		ret, f := r.kfunc("bpf_verify_pkcs7_signature", data, sig, key)
		if f != nil {
			return 0, f
		}
		return ret, nil
	}
	ret, err := verify([]byte("no signature"))
	require.NoError(t, err)
	assert.Equal(t, uint64(uint32(neg(uapi.EBADMSG))), ret)
	_, err = verify([]byte{0x30, 2, 5, 0})
	assert.ErrorContains(t, err, "bpf_verify_pkcs7_signature")
	r.kok("bpf_key_put", key)
	_, f := r.kfunc("bpf_verify_pkcs7_signature", data, sig, data)
	assert.NotNil(t, f, "of no key")
	_, f = r.kfunc("bpf_key_put", key)
	assert.NotNil(t, f, "put twice")
}
