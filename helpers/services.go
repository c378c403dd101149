package helpers

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/guest"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Services of the kernel that answer from its configuration or from what user space loaded into it: keys, cryptography, extended
// attributes, measured files, cgroup v1. The simulated kernel has none of these set up, and answers as a kernel without them.
var serviceHelpers = []row{
	{ID: uapi.FuncSysClose, Do: sysClose, Note: "the program has no descriptors: -EBADF"},
	{ID: uapi.FuncBtfFindByNameKind, Do: btfFindByNameKind, Note: "in the target's vmlinux"},
	{ID: uapi.FuncImaInodeHash, Do: answer(uapi.EOPNOTSUPP), Note: "no file is measured: -EOPNOTSUPP"},
	{ID: uapi.FuncImaFileHash, Do: answer(uapi.EOPNOTSUPP), Note: "no file is measured: -EOPNOTSUPP"},
	{ID: uapi.FuncBprmOptsSet, Do: bprmOptsSet},
}

var serviceKfuncs = []kfuncRow{
	{Name: "bpf_map_sum_elem_count", Wide: true, Args: []proto.Arg{argMap}, Do: mapSumElemCount},
	{Name: "bpf_task_get_cgroup1", Wide: true, Args: []proto.Arg{argObject, argAny}, Do: none, Note: "there are no hierarchies of cgroup v1: NULL"},
	{Name: "bpf_lookup_user_key", Wide: true, Args: []proto.Arg{argAny, argAny}, Do: none, Note: "there are no keys: NULL"},
	{Name: "bpf_lookup_system_key", Wide: true, Args: []proto.Arg{argAny}, Do: none, Note: "there are no keys: NULL"},
	{Name: "bpf_key_put", Args: []proto.Arg{argObject}, Do: releaseObject},
	{Name: "bpf_crypto_ctx_create", Wide: true, Args: []proto.Arg{argMem, argSize, argInt}, Do: cryptoCreate, Note: "no algorithm is loaded: NULL and -EOPNOTSUPP"},
	{Name: "bpf_crypto_ctx_acquire", Wide: true, Args: []proto.Arg{argObject}, Do: acquire},
	{Name: "bpf_crypto_ctx_release", Args: []proto.Arg{argObject}, Do: releaseObject},
	{Name: "bpf_get_file_xattr", Args: []proto.Arg{argObject, argPtr, argDynptr}, Do: answer(uapi.ENODATA), Note: "files have no attributes: -ENODATA"},
	{Name: "bpf_get_dentry_xattr", Args: []proto.Arg{argObject, argPtr, argDynptr}, Do: answer(uapi.ENODATA), Note: "files have no attributes: -ENODATA"},
	{Name: "bpf_cgroup_read_xattr", Args: []proto.Arg{argObject, argPtr, argDynptr}, Do: answer(uapi.ENODATA), Note: "cgroups have no attributes: -ENODATA"},
	{Name: "bpf_get_fsverity_digest", Args: []proto.Arg{argObject, argDynptr}, Do: answer(uapi.ENODATA), Note: "no file has a digest: -ENODATA"},
	{Name: "bpf_probe_read_kernel_dynptr", Args: []proto.Arg{argDynptr, argAny, argAny, argPtr}, Do: dynptrProbe((*guest.Prober).Kernel)},
	{Name: "bpf_probe_read_user_dynptr", Args: []proto.Arg{argDynptr, argAny, argAny, argPtr}, Do: dynptrProbe((*guest.Prober).User)},
	{Name: "bpf_copy_from_user_dynptr", Args: []proto.Arg{argDynptr, argAny, argAny, argPtr}, Do: dynptrProbe((*guest.Prober).User)},
}

// answer always gives that errno.
func answer(errno uapi.Errno) Impl {
	return func(c *Call) (uint64, *vm.Action) { return errnoRet(errno), nil }
}

// none always gives NULL.
func none(c *Call) (uint64, *vm.Action) { return 0, nil }

func sysClose(c *Call) (uint64, *vm.Action) {
	return errnoRet(uapi.EBADF), nil
}

// btfFindByNameKind returns the id of a type of vmlinux. The upper half would be the descriptor of a module's types.
func btfFindByNameKind(c *Call) (uint64, *vm.Action) {
	n := c.Args[1] & 0xffffffff
	if c.Args[3] != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	name := c.In(0)
	if n <= 1 || name[n-1] != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	if id, ok := c.Kernel.BTF().FindID(btf.Kind(c.Args[2]&0xff), cString(name)); ok {
		return uint64(id), nil
	}
	return errnoRet(uapi.ENOENT), nil
}

// bprmOptsSet sets or clears secureexec, the one option there is.
func bprmOptsSet(c *Call) (uint64, *vm.Action) {
	const secureexec = 1
	o := c.Kernel.ObjectAt(c.Args[0])
	if o == nil {
		return 0, badArg("bpf_bprm_opts_set of %#x, which is no linux_binprm", c.Args[0])
	}
	if c.Args[1]&^uint64(secureexec) != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	if err := o.SetUint("secureexec", c.Args[1]); err != nil {
		return 0, notSimulated("bpf_bprm_opts_set: " + err.Error())
	}
	return 0, nil
}

// mapSumElemCount counts the elements of hash tables, which alone keep count.
func mapSumElemCount(c *Call) (uint64, *vm.Action) {
	m := c.ref.m
	if !m.Spec().Type.Has(uapi.MapCounted) {
		return 0, nil
	}
	return uint64(countElements(m)), nil
}

func countElements(m maps.Map) (n int) {
	key, errno := m.NextKey(nil)
	for ; errno == 0; n++ {
		key, errno = m.NextKey(key)
	}
	return n
}

func cryptoCreate(c *Call) (uint64, *vm.Action) {
	return 0, c.guest.WriteU32(c.Args[2], uint32(errnoRet(uapi.EOPNOTSUPP)))
}

// dynptrProbe copies memory that may not be there into a dynptr; what could not be read is zero.
func dynptrProbe(s guest.Space) Impl {
	return onDynptr(func(c *Call, d dynptr) (uint64, *vm.Action) {
		off, n := c.Args[1]&0xffffffff, c.Args[2]&0xffffffff
		switch {
		case d.data == 0 || !d.inside(off, n):
			return errnoRet(uapi.E2BIG), nil
		case d.rdonly:
			return errnoRet(uapi.EINVAL), nil
		}
		data := make([]byte, n)
		errno, f := s(&c.probe, c.Args[3], data)
		if f != nil {
			return 0, f
		}
		if errno != 0 {
			clear(data)
		}
		return errnoRet(errno), c.dynptrStore(d, off, data)
	})
}
