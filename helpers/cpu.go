package helpers

import (
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var cpuHelpers = []Helper{
	{ID: uapi.FuncGetSmpProcessorId, Topic: "cpu", Fn: getSmpProcessorID},
	{ID: uapi.FuncGetNumaNodeId, Topic: "cpu", Fn: getNumaNodeID, Note: "one node, 0"},
	{ID: uapi.FuncGetPrandomU32, Topic: "cpu", Fn: getPrandomU32, Note: "seeded, deterministic"},
}

func getSmpProcessorID(t *vm.Thread, _ *[5]uint64) (uint64, *vm.Action) { return uint64(t.CPU), nil }

func getNumaNodeID(*vm.Thread, *[5]uint64) (uint64, *vm.Action) { return 0, nil }

func getPrandomU32(t *vm.Thread, _ *[5]uint64) (uint64, *vm.Action) {
	return uint64(envOf(t).Kernel.Random32()), nil
}
