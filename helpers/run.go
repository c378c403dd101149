package helpers

import (
	"slices"

	"github.com/bpfrun/bpfrun/helpers/held"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Run is the state of one run of a program that helpers read or change: its input, what it holds,
// and its output.
type Run struct {
	ProgType uapi.ProgType
	Attach   uapi.AttachType
	// FuncIP is the address of the traced function, Cookie the attach cookie.
	FuncIP, Cookie uint64
	// CgroupStorage identifies the attachment's storage (bpf_get_local_storage); 0 means that of
	// the current task's cgroup.
	CgroupStorage uint64
	// FuncArgs is the number of arguments of the traced function; FuncReturns means that
	// the context holds its return value after them.
	FuncArgs    int
	FuncReturns bool
	// Context is what r1 of the program pointed to at its start.
	Context *hook.Context
	// Callback is the field of the timer or work item whose callback runs, 0 for none.
	Callback uint64
	// Packet returns the packet's bytes; nil for programs without one.
	Packet func() []byte

	// Retval is the return value passed between cgroup programs (bpf_get_retval, bpf_set_retval).
	Retval int32
	// SessionReturn means that a session program is called at its function's return.
	SessionReturn bool
	// Socket is what a program of a sockmap asked for besides its return value.
	Socket SocketVerdict
	// sessionCookie is the address of a session's eight bytes of storage.
	sessionCookie uint64

	// Held lists what the program has acquired and not released.
	Held held.Ledger
	Output

	skb skbState
	// draining holds the user ring buffers being drained.
	draining []uint64
	records  []openRecord
}

// NewRun returns the state of a fresh run.
func NewRun(t uapi.ProgType, a uapi.AttachType) *Run {
	return &Run{ProgType: t, Attach: a}
}

// onXDP reports whether the program runs on an xdp_buff, for which some helpers behave differently
// than for an sk_buff.
func (r *Run) onXDP() bool { return progtype.Of(r.ProgType).Takes.Has(progtype.TakesXDP) }

// Recorded reports whether the run recorded any output, or holds something.
func (r *Run) Recorded() bool {
	return len(r.Trace)+len(r.Events)+len(r.Held.Things()) > 0 || r.kept > 0
}

// Join returns a run with the records of r and others, such as those of timer callbacks. It
// accounts for all of them.
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

// Reset resets a run to the state of a new one with the same program and context, but keeps its
// memory: the next run overwrites its records. It is called before every packet of a replay, so it
// writes only what differs.
func (r *Run) Reset() {
	r.Output.reset()
	r.Held.Reset()
	r.records = r.records[:0]
	r.Retval, r.SessionReturn, r.sessionCookie, r.Callback = 0, false, 0, 0
	r.draining = r.draining[:0]
	if r.Socket != (SocketVerdict{}) {
		r.Socket = SocketVerdict{}
	}
	if r.skb.started {
		r.skb = skbState{}
	}
}
