package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/guest"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Copies from memory that may not be mapped into dynptrs (kernel/trace/bpf_trace.c
// __bpf_dynptr_copy, __bpf_dynptr_copy_str).
var dynptrCopyKfuncs = []kfuncRow{
	{Name: "bpf_probe_read_kernel_dynptr", Args: dynptrSource, Do: dynptrProbe((*guest.Prober).Kernel, false)},
	{Name: "bpf_probe_read_user_dynptr", Args: dynptrSource, Do: dynptrProbe((*guest.Prober).UserNofault, false)},
	{Name: "bpf_copy_from_user_dynptr", Args: dynptrSource, Do: dynptrProbe((*guest.Prober).User, true)},
	{Name: "bpf_copy_from_user_task_dynptr", Args: dynptrTaskSource, Do: ofTask(dynptrProbe((*guest.Prober).User, false)), Note: sharedUser},
	{Name: "bpf_probe_read_kernel_str_dynptr", Args: dynptrSource, Do: emptiedStr((*guest.Prober).Kernel)},
	{Name: "bpf_probe_read_user_str_dynptr", Args: dynptrSource, Do: dynptrProbeStr((*guest.Prober).User)},
	{Name: "bpf_copy_from_user_str_dynptr", Args: dynptrSource, Do: sleepableStr},
	{Name: "bpf_copy_from_user_task_str_dynptr", Args: dynptrTaskSource, Do: ofTask(emptiedStr((*guest.Prober).User)), Note: sharedUser},
}

// sleepableStr copies nothing where there is room for the NUL alone (strncpy_from_user).
func sleepableStr(c *Call) (uint64, *vm.Action) {
	d, f := c.dynptrAt(c.Args[0])
	off, n := c.Args[1]&0xffffffff, c.Args[2]&0xffffffff
	if f == nil && n == 1 && d.copyRange(off, n) == 0 {
		return 1, c.dynptrStore(d, off, []byte{0})
	}
	return dynptrProbeStr((*guest.Prober).User)(c)
}

// emptiedStr leaves an empty string if memory is not mapped (mm/maccess.c
// strncpy_from_kernel_nofault, mm/memory.c copy_remote_vm_str).
func emptiedStr(s guest.Space) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		ret, act := dynptrProbeStr(s)(c)
		if act != nil || ret != errnoRet(uapi.EFAULT) {
			return ret, act
		}
		d, f := c.dynptrAt(c.Args[0])
		if f != nil {
			return 0, f
		}
		return ret, c.dynptrStore(d, c.Args[1]&0xffffffff, []byte{0})
	}
}

const sharedUser = "every task shares the simulated user memory"

var (
	dynptrSource     = []proto.Arg{argDynptr, argAny, argAny, argPtr}
	dynptrTaskSource = []proto.Arg{argDynptr, argAny, argAny, argPtr, argObject}
)

// ofTask requires a task in the fifth argument.
func ofTask(do Impl) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		if _, f := c.taskAt(c.Args[4]); f != nil {
			return 0, f
		}
		return do(c)
	}
}

// copyRange checks the range of a dynptr that memory is copied to.
func (d dynptr) copyRange(off, n uint64) uapi.Errno {
	switch {
	case d.data == 0 || !d.inside(off, n):
		return uapi.E2BIG
	case d.rdonly:
		return uapi.EINVAL
	}
	return 0
}

// dynptrProbe copies memory into a dynptr, which stays as it is if that fails; with zeroes it
// becomes zero (copy_from_user).
func dynptrProbe(s guest.Space, zeroes bool) Impl {
	return onDynptr(func(c *Call, d dynptr) (uint64, *vm.Action) {
		off, n := c.Args[1]&0xffffffff, c.Args[2]&0xffffffff
		if errno := d.copyRange(off, n); errno != 0 {
			return errnoRet(errno), nil
		}
		data := make([]byte, n)
		errno, f := s(&c.probe, c.Args[3], data)
		if f != nil {
			return 0, f
		}
		if errno != 0 && !zeroes {
			return errnoRet(errno), nil
		}
		if errno != 0 {
			clear(data)
		}
		return errnoRet(errno), c.dynptrStore(d, off, data)
	})
}

// dynptrProbeStr copies a string with its NUL and returns its length in bytes. The string is
// truncated to the range, and still gets a NUL.
func dynptrProbeStr(s guest.Space) Impl {
	return onDynptr(func(c *Call, d dynptr) (uint64, *vm.Action) {
		off, n := c.Args[1]&0xffffffff, c.Args[2]&0xffffffff
		if errno := d.copyRange(off, n); errno != 0 || n == 0 {
			return errnoRet(errno), nil
		}
		buf := make([]byte, n)
		got, errno, f := c.probe.String(s, c.Args[3], buf)
		if errno != 0 || f != nil {
			return errnoRet(errno), f
		}
		return uint64(got), c.dynptrStore(d, off, buf[:got])
	})
}
