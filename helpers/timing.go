package helpers

import (
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var timeHelpers = []row{
	{ID: uapi.FuncKtimeGetNs, Do: ktimeGetNs},
	{ID: uapi.FuncKtimeGetBootNs, Do: ktimeGetBootNs},
	{ID: uapi.FuncKtimeGetCoarseNs, Do: ktimeGetCoarseNs},
	{ID: uapi.FuncKtimeGetTaiNs, Do: ktimeGetTaiNs},
	{ID: uapi.FuncJiffies64, Do: jiffies64},
}

func ktimeGetNs(c *Call) (uint64, *vm.Action) {
	return c.Kernel.Clock().Mono(), nil
}

func ktimeGetBootNs(c *Call) (uint64, *vm.Action) {
	return c.Kernel.Clock().Boot(), nil
}

func ktimeGetCoarseNs(c *Call) (uint64, *vm.Action) {
	return c.Kernel.Clock().Coarse(), nil
}

func ktimeGetTaiNs(c *Call) (uint64, *vm.Action) {
	return c.Kernel.Clock().TAI(), nil
}

func jiffies64(c *Call) (uint64, *vm.Action) {
	return c.Kernel.Clock().Jiffies(), nil
}
