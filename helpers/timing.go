package helpers

import (
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var timeHelpers = []Helper{
	{ID: uapi.FuncKtimeGetNs, Topic: "time", Fn: ktimeGetNs},
	{ID: uapi.FuncKtimeGetBootNs, Topic: "time", Fn: ktimeGetBootNs},
	{ID: uapi.FuncKtimeGetCoarseNs, Topic: "time", Fn: ktimeGetCoarseNs},
	{ID: uapi.FuncKtimeGetTaiNs, Topic: "time", Fn: ktimeGetTaiNs},
	{ID: uapi.FuncJiffies64, Topic: "time", Fn: jiffies64},
}

func ktimeGetNs(t *vm.Thread, _ *[5]uint64) (uint64, *vm.Action) {
	return envOf(t).Kernel.Clock().Mono(), nil
}

func ktimeGetBootNs(t *vm.Thread, _ *[5]uint64) (uint64, *vm.Action) {
	return envOf(t).Kernel.Clock().Boot(), nil
}

func ktimeGetCoarseNs(t *vm.Thread, _ *[5]uint64) (uint64, *vm.Action) {
	return envOf(t).Kernel.Clock().Coarse(), nil
}

func ktimeGetTaiNs(t *vm.Thread, _ *[5]uint64) (uint64, *vm.Action) {
	return envOf(t).Kernel.Clock().TAI(), nil
}

func jiffies64(t *vm.Thread, _ *[5]uint64) (uint64, *vm.Action) {
	return envOf(t).Kernel.Clock().Jiffies(), nil
}
