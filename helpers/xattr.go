package helpers

import (
	"strings"

	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/kernel/model"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/vm"
)

const xattrNote = "those of the scenario (`kernel: xattrs`) and those that programs set, by path; permissions of the inode are not judged"

// Extended attributes of files (fs/bpf_fs_kfuncs.c).
var xattrKfuncs = []kfuncRow{
	{Name: "bpf_get_file_xattr", Args: []proto.Arg{argObject, argPtr, argDynptr}, Do: getXattr("f_path.dentry"), Note: xattrNote},
	{Name: "bpf_get_dentry_xattr", Args: []proto.Arg{argObject, argPtr, argDynptr}, Do: getXattr(""), Note: xattrNote},
	{Name: "bpf_set_dentry_xattr", Args: []proto.Arg{argObject, argPtr, argDynptr, argAny}, Do: setXattr, Note: xattrNote},
	{Name: "bpf_remove_dentry_xattr", Args: []proto.Arg{argObject, argPtr}, Do: removeXattr, Note: xattrNote},
	{Name: "bpf_cgroup_read_xattr", Args: []proto.Arg{argObject, argPtr, argDynptr}, Do: cgroupXattr, Note: "cgroups have no attributes: -ENODATA"},
}

// Names that programs may read, and those that they alone may change.
const (
	userXattr = "user."
	bpfXattr  = "security.bpf."
)

// Flags of setxattr(2).
const (
	xattrCreate  = 1
	xattrReplace = 2
)

// xattrOf returns the attribute that the arguments name: of a dentry, or of that in a field of the
// object. ok is false if the dentry is of no file.
func (c *Call) xattrOf(field string) (k model.XattrKey, ok bool, act *vm.Action) {
	name, act := c.constString(c.Args[1])
	if act != nil {
		return k, false, act
	}
	o := c.Kernel.ObjectAt(c.Args[0])
	if o != nil && field != "" {
		o, _ = o.Pointee(field)
	}
	if o == nil || o.TypeName() != "dentry" {
		return k, false, badArg("%#x is no file or dentry", c.Args[0])
	}
	inode, err := o.Pointee("d_inode")
	return model.XattrKey{Path: pathOf(o), Name: name}, err == nil && inode != nil, nil
}

// getXattr returns the length of the value, which it stores in the dynptr; an empty dynptr asks for
// the length alone.
func getXattr(field string) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		k, ok, f := c.xattrOf(field)
		if f != nil {
			return 0, f
		}
		readable := strings.HasPrefix(k.Name, userXattr) || c.has(since.ProgramXattrs) && strings.HasPrefix(k.Name, bpfXattr)
		if ok && !readable && !c.has(since.ProgramXattrs) {
			return errnoRet(uapi.EPERM), nil
		}
		d, addr, f := c.xattrBuffer(true)
		switch {
		case f != nil:
			return 0, f
		case !ok || addr == 0:
			return errnoRet(uapi.EINVAL), nil
		case !readable:
			return errnoRet(uapi.EPERM), nil
		}
		value, ok := c.Kernel.Xattr(k)
		switch {
		case !ok:
			return errnoRet(uapi.ENODATA), nil
		case d.size == 0:
			return uint64(len(value)), nil
		case len(value) > int(d.size):
			return errnoRet(uapi.ERANGE), nil
		}
		return uint64(len(value)), c.guest.Write(addr, []byte(value))
	}
}

// xattrBuffer returns the dynptr of a value, and where its bytes are: 0 if they have no address.
func (c *Call) xattrBuffer(write bool) (dynptr, uint64, *vm.Action) {
	d, f := c.dynptrAt(c.Args[2])
	if f != nil || write && d.rdonly {
		return d, 0, f
	}
	addr, f := c.dynptrPointer(d, 0, uint64(d.size))
	return d, addr, f
}

func setXattr(c *Call) (uint64, *vm.Action) {
	k, ok, f := c.xattrOf("")
	if f != nil {
		return 0, f
	}
	d, addr, f := c.xattrBuffer(false)
	switch {
	case f != nil:
		return 0, f
	case !ok || addr == 0:
		return errnoRet(uapi.EINVAL), nil
	case !strings.HasPrefix(k.Name, bpfXattr):
		return errnoRet(uapi.EPERM), nil
	}
	_, has := c.Kernel.Xattr(k)
	switch flags := c.Args[3]; {
	case has && flags&xattrCreate != 0:
		return errnoRet(uapi.EEXIST), nil
	case !has && flags&xattrReplace != 0:
		return errnoRet(uapi.ENODATA), nil
	}
	value, f := c.guest.Read(addr, uint64(d.size))
	if f != nil {
		return 0, f
	}
	if !c.Kernel.SetXattr(k, string(value)) {
		return errnoRet(uapi.ENOSPC), nil
	}
	return 0, nil
}

// removeXattr allows programs to change only attributes in their own name space
// (bpf_xattr_write_permission).
func removeXattr(c *Call) (uint64, *vm.Action) {
	k, ok, f := c.xattrOf("")
	switch {
	case f != nil:
		return 0, f
	case !ok:
		return errnoRet(uapi.EINVAL), nil
	case !strings.HasPrefix(k.Name, bpfXattr):
		return errnoRet(uapi.EPERM), nil
	}
	if _, has := c.Kernel.Xattr(k); !has {
		return errnoRet(uapi.ENODATA), nil
	}
	c.Kernel.RemoveXattr(k)
	return 0, nil
}

// cgroupXattr reads attributes of users alone.
func cgroupXattr(c *Call) (uint64, *vm.Action) {
	name, f := c.constString(c.Args[1])
	if f != nil {
		return 0, f
	}
	if o := c.Kernel.ObjectAt(c.Args[0]); o == nil || o.TypeName() != "cgroup" {
		return 0, badArg("%#x is no cgroup", c.Args[0])
	}
	if !strings.HasPrefix(name, userXattr) {
		return errnoRet(uapi.EPERM), nil
	}
	_, addr, f := c.xattrBuffer(true)
	if f == nil && addr == 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	return errnoRet(uapi.ENODATA), f
}
