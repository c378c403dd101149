package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/guest"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var probeHelpers = []row{
	{ID: uapi.FuncProbeRead, Do: probeRead},
	{ID: uapi.FuncProbeReadStr, Do: probeReadStr},
	{ID: uapi.FuncProbeReadKernel, Do: probeReadKernel},
	{ID: uapi.FuncProbeReadKernelStr, Do: probeReadKernelStr},
	{ID: uapi.FuncProbeReadUser, Do: probeReadUser},
	{ID: uapi.FuncProbeReadUserStr, Do: probeReadUserStr},
	{ID: uapi.FuncProbeWriteUser, Do: probeWriteUser},
	{ID: uapi.FuncCopyFromUser, Do: probeReadUser},
	{ID: uapi.FuncCopyFromUserTask, Do: copyFromUserTask,
		Note: "every task shares the simulated user memory"},
}

func probe(s guest.Space) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		buf := c.Out(0)
		errno, f := s(&c.probe, c.Args[2], buf)
		if f != nil {
			return 0, f
		}
		if errno != 0 {
			clear(buf)
		}
		return errnoRet(errno), c.guest.Write(c.Args[0], buf)
	}
}

func probeStr(s guest.Space) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		buf := c.Out(0)
		if len(buf) == 0 {
			return 0, nil
		}
		n, errno, f := c.probe.String(s, c.Args[2], buf)
		if f != nil {
			return 0, f
		}
		if errno != 0 {
			clear(buf)
			return errnoRet(errno), c.guest.Write(c.Args[0], buf)
		}
		// Bytes after the NUL are left as they were.
		return uint64(n), c.guest.Write(c.Args[0], buf[:n])
	}
}

var (
	probeRead          = probe((*guest.Prober).Any)
	probeReadStr       = probeStr((*guest.Prober).Any)
	probeReadKernel    = probe((*guest.Prober).Kernel)
	probeReadKernelStr = probeStr((*guest.Prober).Kernel)
	probeReadUser      = probe((*guest.Prober).UserNofault)
	probeReadUserStr   = probeStr((*guest.Prober).User)
)

func probeWriteUser(c *Call) (uint64, *vm.Action) {
	data := c.In(1)
	// nmi_uaccess_okay and access_ok failures are -EPERM, a missing page -EFAULT.
	if !c.Mem.IsUser(c.Args[0]) {
		return errnoRet(uapi.EPERM), nil
	}
	if f := c.Mem.WriteUser(c.Args[0], data); f != nil {
		return errnoRet(uapi.EFAULT), nil
	}
	return 0, nil
}

func copyFromUserTask(c *Call) (uint64, *vm.Action) {
	if c.Args[4] != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	return probeReadUser(c)
}
