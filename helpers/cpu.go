package helpers

import (
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var cpuHelpers = []row{
	{ID: uapi.FuncGetSmpProcessorId, Do: getSmpProcessorID},
	{ID: uapi.FuncGetNumaNodeId, Do: getNumaNodeID, Note: "one node, 0"},
	{ID: uapi.FuncGetPrandomU32, Do: getPrandomU32, Note: "seeded, deterministic"},
}

func getSmpProcessorID(c *Call) (uint64, *vm.Action) { return uint64(c.Thread.CPU), nil }

func getNumaNodeID(c *Call) (uint64, *vm.Action) { return 0, nil }

func getPrandomU32(c *Call) (uint64, *vm.Action) {
	return uint64(c.Kernel.Random32()), nil
}
