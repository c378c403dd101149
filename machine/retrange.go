package machine

import (
	"fmt"
	"math"

	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// returnRange is the range of values programs of a type may return (kernel/bpf/verifier.c check_return_code), of those
// types whose verdict is bounded.
func returnRange(t uapi.ProgType, a uapi.AttachType) (low, high int64) {
	switch t {
	case uapi.ProgTypeCgroupSockAddr:
		switch a {
		case uapi.AttachCgroupUdp4Recvmsg, uapi.AttachCgroupUdp6Recvmsg, uapi.AttachCgroupUnixRecvmsg,
			uapi.AttachCgroupInet4Getpeername, uapi.AttachCgroupInet6Getpeername, uapi.AttachCgroupUnixGetpeername,
			uapi.AttachCgroupInet4Getsockname, uapi.AttachCgroupInet6Getsockname, uapi.AttachCgroupUnixGetsockname:
			return 1, 1
		case uapi.AttachCgroupInet4Bind, uapi.AttachCgroupInet6Bind:
			return 0, 3
		}
		return 0, 1
	case uapi.ProgTypeCgroupSkb:
		if a == uapi.AttachCgroupInetEgress {
			return 0, 3
		}
		return 0, 1
	case uapi.ProgTypeCgroupSock, uapi.ProgTypeSockOps, uapi.ProgTypeCgroupDevice, uapi.ProgTypeCgroupSysctl, uapi.ProgTypeCgroupSockopt,
		uapi.ProgTypeSkLookup:
		return 0, 1
	}
	return math.MinInt64, math.MaxInt64
}

// checkReturn makes a return value the verifier would not have let through a fault.
func (m *Machine) checkReturn(lp *loader.LinkedProgram) {
	low, high := returnRange(lp.Type, lp.Attach)
	ret := int64(m.thread.Ret())
	if m.thread.Fault() != nil || ret >= low && ret <= high {
		return
	}
	m.thread.Abort(&vm.Fault{Kind: vm.BadReturn, Text: fmt.Sprintf("the program returned %d, a %s program may return %d to %d", ret, lp.Section, low, high)})
}
