package sched

// Counter is an event that the kernel counts for a scheduler, by the name of the member of struct
// scx_event_stats. Events that cannot happen here are 0: CPUs do not go offline, tasks keep
// migration enabled, and the bypass mode takes no simulated time.
type Counter string

// What is counted.
const (
	CountSelectFallback  Counter = "SCX_EV_SELECT_CPU_FALLBACK"
	CountKeepLast        Counter = "SCX_EV_DISPATCH_KEEP_LAST"
	CountSkipExiting     Counter = "SCX_EV_ENQ_SKIP_EXITING"
	CountRefill          Counter = "SCX_EV_REFILL_SLICE_DFL"
	CountBypass          Counter = "SCX_EV_BYPASS_ACTIVATE"
	CountNotOwned        Counter = "SCX_EV_INSERT_NOT_OWNED"
	CountReenqueueImmed  Counter = "SCX_EV_REENQ_IMMED"
	CountReenqueueRepeat Counter = "SCX_EV_REENQ_LOCAL_REPEAT"
)

// Count returns how often an event has happened (scx_bpf_events).
func (s *Sim) Count(c Counter) uint64 { return s.counts[c] }
