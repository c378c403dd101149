package helpers

import (
	"slices"
	"sync"

	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Helper is a simulated helper: its prototype and its implementation.
type Helper struct {
	*proto.Helper
	Fn vm.HelperFunc
	// Note describes how far the simulation goes where the result depends on the outside world.
	Note string
}

// row is a helper in the table of its topic.
type row struct {
	ID   uapi.FuncID
	Do   Impl
	Note string
}

// groups are the topic tables; each topic file adds its own.
var groups = [][]row{
	mapHelpers, probeHelpers, taskHelpers, timeHelpers, traceHelpers, perfHelpers, ringbufHelpers,
	stringHelpers, controlHelpers, tracingHelpers, percpuHelpers, lockHelpers, cpuHelpers,
	skbHelpers, skbRoomHelpers, csumHelpers, xdpHelpers, redirectHelpers, routeHelpers, tunnelHelpers,
	storageHelpers, timerHelpers, kptrHelpers, dynptrHelpers, userRingHelpers,
	socketHelpers, sockoptHelpers, sockOpsHelpers, congestionHelpers, sockMapHelpers, sockRedirectHelpers, sysctlHelpers, miscHelpers, skbCgroupHelpers, packetOutputHelpers,
	serviceHelpers, showHelpers, syncookieHelpers, syscallHelpers, lwtHelpers,
}

// The tables are built when first asked for: most commands call no helper.
var (
	table = sync.OnceValue(buildTable)
	byID  = sync.OnceValue(func() map[uapi.FuncID]*Helper { return indexTable(table()) })
)

func buildTable() []Helper {
	var all []Helper
	for _, r := range slices.Concat(groups...) {
		p, ok := proto.Lookup(r.ID)
		if !ok {
			panic("no prototype of " + r.ID.String())
		}
		do := r.Do
		if p.Effects&proto.ChangesPacket != 0 {
			do = changesPacket(p, do)
		}
		all = append(all, Helper{Helper: p, Fn: do.bind(stepsOf(p.Common().Args, p.Common().Ret)), Note: r.Note})
	}
	slices.SortFunc(all, func(a, b Helper) int { return int(a.ID) - int(b.ID) })
	return all
}

func indexTable(all []Helper) map[uapi.FuncID]*Helper {
	m := make(map[uapi.FuncID]*Helper, len(all))
	for i := range all {
		m[all[i].ID] = &all[i]
	}
	return m
}

// Table returns every simulated helper, sorted by number. The slice must not be modified.
func Table() []Helper { return table() }

// Lookup returns the helper with a number; ok is false if it is not simulated.
func Lookup(id uapi.FuncID) (*Helper, bool) {
	h, ok := byID()[id]
	return h, ok
}
