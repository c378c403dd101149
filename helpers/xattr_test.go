package helpers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/model"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestXattrs: what each release lets programs read and change, and the results of the file system.
func TestXattrs(t *testing.T) {
	r := newRig(t, linux72)
	file, err := r.kernel.NewFile("file", model.FileSpec{Path: "/bin/true"})
	require.NoError(t, err)
	dentry, err := file.Pointee("f_path.dentry")
	require.NoError(t, err)
	require.True(t, r.kernel.SetXattr(model.XattrKey{Path: "/bin/true", Name: "user.a"}, "hello"))
	data, d, none := r.space(5000), r.space(16), r.space(16)
	of := func(n uint64) uint64 {
		require.Zero(t, r.ok(uapi.FuncDynptrFromMem, data, n, 0, d))
		return d
	}
	get := func(fn string, o uint64, name string, n uint64) uint64 { return r.kok(fn, o, r.str(name), of(n)) }
	set := func(name string, n, flags uint64) uint64 {
		return r.kok("bpf_set_dentry_xattr", dentry.Addr(), r.str(name), of(n), flags)
	}
	const own = "security.bpf.x"
	assert.EqualValues(t, 5, get("bpf_get_file_xattr", file.Addr(), "user.a", 5))
	assert.Equal(t, "hello", string(r.bytes(data, 5)))
	assert.EqualValues(t, 5, get("bpf_get_dentry_xattr", dentry.Addr(), "user.a", 0), "its length")
	assert.Equal(t, short(uapi.ERANGE), get("bpf_get_dentry_xattr", dentry.Addr(), "user.a", 4))
	assert.Equal(t, short(uapi.ENODATA), get("bpf_get_dentry_xattr", dentry.Addr(), "user.b", 8))
	assert.Equal(t, short(uapi.EPERM), get("bpf_get_dentry_xattr", dentry.Addr(), "trusted.a", 8))
	assert.Equal(t, short(uapi.EINVAL), r.kok("bpf_get_dentry_xattr", dentry.Addr(), r.str("trusted.a"), none), "the dynptr comes first")
	assert.Equal(t, short(uapi.ENODATA), get("bpf_get_dentry_xattr", dentry.Addr(), own, 8))

	assert.Equal(t, short(uapi.EPERM), set("user.a", 5, 0), "programs change their own alone")
	assert.Equal(t, short(uapi.EINVAL), r.kok("bpf_set_dentry_xattr", dentry.Addr(), r.str(own), none, 0))
	assert.Equal(t, short(uapi.ENODATA), set(own, 5, xattrReplace))
	assert.Zero(t, set(own, 0, xattrCreate), "an empty one")
	assert.Zero(t, get("bpf_get_dentry_xattr", dentry.Addr(), own, 8))
	assert.Equal(t, short(uapi.EEXIST), set(own, 5, xattrCreate))
	assert.Zero(t, set(own, 5, xattrReplace))
	assert.EqualValues(t, 5, get("bpf_get_file_xattr", file.Addr(), own, 8))
	assert.Equal(t, short(uapi.ENOSPC), set(own, 4097, 0))
	assert.EqualValues(t, 5, get("bpf_get_file_xattr", file.Addr(), own, 8), "as it was")
	assert.Equal(t, short(uapi.EPERM), r.kok("bpf_remove_dentry_xattr", dentry.Addr(), r.str("user.a")))
	assert.Zero(t, r.kok("bpf_remove_dentry_xattr", dentry.Addr(), r.str(own)))
	assert.Equal(t, short(uapi.ENODATA), r.kok("bpf_remove_dentry_xattr", dentry.Addr(), r.str(own)))
	for _, fn := range []string{"bpf_get_file_xattr", "bpf_get_dentry_xattr", "bpf_set_dentry_xattr", "bpf_remove_dentry_xattr", "bpf_cgroup_read_xattr"} {
		_, f := r.kfunc(fn, data, r.str("user.a"), of(4))
		assert.NotNil(t, f, "%s of memory", fn)
	}
	cgroup := r.kernel.CgroupByID(r.kernel.CgroupID())
	assert.Equal(t, short(uapi.ENODATA), get("bpf_cgroup_read_xattr", cgroup.Addr(), "user.a", 8))
	assert.Equal(t, short(uapi.EPERM), get("bpf_cgroup_read_xattr", cgroup.Addr(), strings.ToUpper("user.a"), 8))
	assert.Equal(t, short(uapi.EINVAL), r.kok("bpf_cgroup_read_xattr", cgroup.Addr(), r.str("user.a"), none))
}

// TestXattrsBefore615: names of programs come with 6.15; before, the name is judged before the
// dynptr.
func TestXattrsBefore615(t *testing.T) {
	r := newRig(t, uapi.VersionCode(6, 12))
	dentry, err := r.kernel.NewDentry("d", "/bin/true")
	require.NoError(t, err)
	require.True(t, r.kernel.SetXattr(model.XattrKey{Path: "/bin/true", Name: "security.bpf.x"}, "hello"))
	assert.Equal(t, short(uapi.EPERM), r.kok("bpf_get_dentry_xattr", dentry.Addr(), r.str("security.bpf.x"), r.space(16)))
	assert.Equal(t, short(uapi.EINVAL), r.kok("bpf_get_dentry_xattr", dentry.Addr(), r.str("user.x"), r.space(16)))
}
