package helpers

import (
	"slices"

	"github.com/bpfrun/bpfrun/helpers/held"
	"github.com/bpfrun/bpfrun/kernel"
	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/progtype"
	"github.com/bpfrun/bpfrun/uapi"
)

// Run is the state of one run of a program that helpers read or change: what it was called with, what it holds, and what it left.
type Run struct {
	ProgType uapi.ProgType
	Attach   uapi.AttachType
	// FuncIP is the address of the traced function, Cookie the user's attach cookie.
	FuncIP, Cookie uint64
	// FuncArgs is the number of arguments of the traced function; FuncReturns means that
	// the context holds its return value after them.
	FuncArgs    int
	FuncReturns bool
	// Context is what r1 of the program pointed to at its start.
	Context *kernel.Context
	// Packet returns the packet's bytes; nil for programs without one.
	Packet func() []byte

	// Retval is the return value that cgroup programs pass on (bpf_get_retval, bpf_set_retval).
	Retval int32
	// SessionReturn means that a session program is called at the return of its function.
	SessionReturn bool
	// sessionCookie is the address of the eight bytes a session keeps.
	sessionCookie uint64

	// Held is what the program took and has not given back.
	Held held.Ledger
	Output

	skb skbState
	// draining holds the user ring buffers being drained.
	draining []uint64
	records  map[uint64]maps.RingBuffer // that were reserved, by address
}

// NewRun returns the state of a fresh run.
func NewRun(t uapi.ProgType, a uapi.AttachType) *Run {
	return &Run{ProgType: t, Attach: a, records: map[uint64]maps.RingBuffer{}}
}

// onXDP reports whether the program runs on an xdp_buff: some helpers do something else there than on an sk_buff.
func (r *Run) onXDP() bool { return progtype.Of(r.ProgType).Takes.Has(progtype.TakesXDP) }

// Recorded reports whether the run left anything to report, or holds something.
func (r *Run) Recorded() bool {
	return len(r.Trace)+len(r.Events)+len(r.Held.Things()) > 0 || r.kept > 0
}

// Join returns a run with what r and then others recorded, such as those of timers' callbacks. It books what all of them booked.
func (r *Run) Join(others []*Run) *Run {
	all := *r
	all.Trace, all.Events = slices.Clip(r.Trace), slices.Clip(r.Events)
	ledgers := make([]*held.Ledger, len(others))
	for i, o := range others {
		all.Trace, all.Events = append(all.Trace, o.Trace...), append(all.Events, o.Events...)
		all.kept += o.kept
		ledgers[i] = &o.Held
	}
	all.Held = r.Held.Join(ledgers...)
	return &all
}

// Reset makes the state of a run that of a fresh one of the same program and context, and keeps its memory: what it recorded is
// overwritten by the next run. It happens before every packet of a replay, so that only what is not as it should be is written.
func (r *Run) Reset() {
	r.Output.reset()
	r.Held.Reset()
	if len(r.records) > 0 {
		clear(r.records)
	}
	r.Retval, r.SessionReturn, r.sessionCookie = 0, false, 0
	r.draining = r.draining[:0]
	if r.skb.started {
		r.skb = skbState{}
	}
}
