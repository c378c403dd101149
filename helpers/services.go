package helpers

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Services of the kernel that answer from its configuration or from what user space loaded into it: keys, cryptography, extended
// attributes, measured files, cgroup v1. The simulated kernel has none of these set up, and answers as a kernel without them.
var serviceHelpers = []Helper{
	{ID: uapi.FuncSysClose, Topic: "syscalls", Args: []Arg{ArgAny}, Fn: sysClose, Note: "the program has no descriptors: -EBADF"},
	{ID: uapi.FuncBtfFindByNameKind, Topic: "syscalls", Args: []Arg{ArgString, ArgSize, ArgAny, ArgAny}, Fn: btfFindByNameKind, Note: "in the target's vmlinux"},
	{ID: uapi.FuncImaInodeHash, Topic: "files", Args: []Arg{ArgObject, ArgOut, ArgSize}, Fn: answer(uapi.EOPNOTSUPP), Note: "no file is measured: -EOPNOTSUPP"},
	{ID: uapi.FuncImaFileHash, Topic: "files", Args: []Arg{ArgObject, ArgOut, ArgSize}, Fn: answer(uapi.EOPNOTSUPP), Note: "no file is measured: -EOPNOTSUPP"},
	{ID: uapi.FuncBprmOptsSet, Topic: "task", Args: []Arg{ArgObject, ArgAny}, Fn: bprmOptsSet},
}

var serviceKfuncs = []Kfunc{
	{Name: "bpf_map_sum_elem_count", Wide: true, Topic: "maps", Args: []Arg{ArgMap}, Fn: mapSumElemCount},
	{Name: "bpf_task_get_cgroup1", Wide: true, Topic: "cgroups", Args: []Arg{ArgObject, ArgAny}, Fn: none, Note: "there are no hierarchies of cgroup v1: NULL"},
	{Name: "bpf_lookup_user_key", Wide: true, Topic: "keys", Args: []Arg{ArgAny, ArgAny}, Fn: none, Note: "there are no keys: NULL"},
	{Name: "bpf_lookup_system_key", Wide: true, Topic: "keys", Args: []Arg{ArgAny}, Fn: none, Note: "there are no keys: NULL"},
	{Name: "bpf_key_put", Topic: "keys", Args: []Arg{ArgObject}, Fn: releaseObject},
	{Name: "bpf_crypto_ctx_create", Wide: true, Topic: "cryptography", Args: []Arg{ArgMem, ArgSize, ArgInt}, Fn: cryptoCreate, Note: "no algorithm is loaded: NULL and -EOPNOTSUPP"},
	{Name: "bpf_crypto_ctx_acquire", Wide: true, Topic: "cryptography", Args: []Arg{ArgObject}, Fn: acquire},
	{Name: "bpf_crypto_ctx_release", Topic: "cryptography", Args: []Arg{ArgObject}, Fn: releaseObject},
	{Name: "bpf_get_file_xattr", Topic: "files", Args: []Arg{ArgObject, ArgPtr, ArgDynptr}, Fn: answer(uapi.ENODATA), Note: "files have no attributes: -ENODATA"},
	{Name: "bpf_get_dentry_xattr", Topic: "files", Args: []Arg{ArgObject, ArgPtr, ArgDynptr}, Fn: answer(uapi.ENODATA), Note: "files have no attributes: -ENODATA"},
	{Name: "bpf_cgroup_read_xattr", Topic: "cgroups", Args: []Arg{ArgObject, ArgPtr, ArgDynptr}, Fn: answer(uapi.ENODATA), Note: "cgroups have no attributes: -ENODATA"},
	{Name: "bpf_get_fsverity_digest", Topic: "files", Args: []Arg{ArgObject, ArgDynptr}, Fn: answer(uapi.ENODATA), Note: "no file has a digest: -ENODATA"},
	{Name: "bpf_probe_read_kernel_dynptr", Topic: "dynptrs", Args: []Arg{ArgDynptr, ArgAny, ArgAny, ArgPtr}, Fn: dynptrProbe(kernelSpace)},
	{Name: "bpf_probe_read_user_dynptr", Topic: "dynptrs", Args: []Arg{ArgDynptr, ArgAny, ArgAny, ArgPtr}, Fn: dynptrProbe(userSpace)},
	{Name: "bpf_copy_from_user_dynptr", Topic: "dynptrs", Args: []Arg{ArgDynptr, ArgAny, ArgAny, ArgPtr}, Fn: dynptrProbe(userSpace)},
}

// answer always gives that errno.
func answer(errno uapi.Errno) vm.HelperFunc {
	return func(*vm.Thread, *[5]uint64) (uint64, *vm.Action) { return errnoRet(errno), nil }
}

// none always gives NULL.
func none(*vm.Thread, *[5]uint64) (uint64, *vm.Action) { return 0, nil }

func sysClose(*vm.Thread, *[5]uint64) (uint64, *vm.Action) {
	return errnoRet(uapi.EBADF), nil
}

// btfFindByNameKind returns the id of a type of vmlinux. The upper half would be the descriptor of a module's types.
func btfFindByNameKind(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	n := a[1] & 0xffffffff
	if a[3] != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	name, f := e.read(a[0], n)
	if f != nil {
		return 0, f
	}
	if n <= 1 || name[n-1] != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	if id, ok := e.Kernel.BTF().FindID(btf.Kind(a[2]&0xff), cString(name)); ok {
		return uint64(id), nil
	}
	return errnoRet(uapi.ENOENT), nil
}

// bprmOptsSet sets or clears secureexec, the one option there is.
func bprmOptsSet(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	const secureexec = 1
	o := envOf(t).Kernel.ObjectAt(a[0])
	if o == nil {
		return 0, badArg("bpf_bprm_opts_set of %#x, which is no linux_binprm", a[0])
	}
	if a[1]&^uint64(secureexec) != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	if err := o.SetUint("secureexec", a[1]); err != nil {
		return 0, notSimulated("bpf_bprm_opts_set: " + err.Error())
	}
	return 0, nil
}

// mapSumElemCount counts the elements of hash tables, which alone keep count.
func mapSumElemCount(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	m, f := envOf(t).mapAt(a[0])
	if f != nil {
		return 0, f
	}
	switch m.Spec().Type {
	case uapi.MapTypeHash, uapi.MapTypePercpuHash, uapi.MapTypeLRUHash, uapi.MapTypeLRUPercpuHash, uapi.MapTypeHashOfMaps:
		return uint64(countElements(m)), nil
	}
	return 0, nil
}

func countElements(m maps.Map) (n int) {
	key, errno := m.NextKey(nil)
	for ; errno == 0; n++ {
		key, errno = m.NextKey(key)
	}
	return n
}

func cryptoCreate(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	return 0, envOf(t).writeU32(a[2], uint32(errnoRet(uapi.EOPNOTSUPP)))
}

// dynptrProbe copies memory that may not be there into a dynptr; what could not be read is zero.
func dynptrProbe(s space) vm.HelperFunc {
	return func(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
		e := envOf(t)
		d, f := e.dynptrAt(a[0])
		if f != nil {
			return 0, f
		}
		off, n := a[1]&0xffffffff, a[2]&0xffffffff
		switch {
		case d.data == 0 || !d.inside(off, n):
			return errnoRet(uapi.E2BIG), nil
		case d.rdonly:
			return errnoRet(uapi.EINVAL), nil
		}
		data := make([]byte, n)
		errno, f := s(e, a[3], data)
		if f != nil {
			return 0, f
		}
		if errno != 0 {
			clear(data)
		}
		return errnoRet(errno), e.dynptrStore(d, off, data)
	}
}
