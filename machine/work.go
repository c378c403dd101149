package machine

import (
	"fmt"

	"github.com/bpfrun/bpfrun/vm"
)

// What helpers do is not in the count of instructions: one call may copy megabytes. Bytes count toward the limit of a run, and both
// bytes and calls decide after which time a run looks whether it was cancelled.
const (
	// bytesPerInsn is how many bytes that helpers move count as an instruction.
	bytesPerInsn = 8
	// callWork is what a call counts besides the bytes it moves.
	callWork = 256
	// workSlice is how much work is done between two looks.
	workSlice = 16 << 20
)

// paused is the reason of a stop after a slice of work.
const paused = "work"

// work is what helpers did.
type work struct {
	left  int64  // of the slice
	spent uint64 // instructions that the bytes moved since the start count as
	start uint64 // vm.Thread.Starts at that start
	err   error  // nothing more can be recorded
}

// worked accounts for a call of a helper. It is nil as long as there is nothing to look at.
func (m *Machine) worked(t *vm.Thread, r0 uint64, a *vm.Action) (uint64, *vm.Action) {
	if m.work.left -= callWork; m.work.left > int64(m.mem.Moved()) && m.work.err == nil {
		return r0, a
	}
	return m.look(t, r0, a)
}

// look ends a slice of work.
func (m *Machine) look(t *vm.Thread, r0 uint64, a *vm.Action) (uint64, *vm.Action) {
	w := &m.work
	if n := t.Starts(); n != w.start {
		w.start, w.spent = n, 0
	}
	w.left = workSlice
	w.spent += m.mem.TakeMoved() / bytesPerInsn
	err := w.err
	w.err = nil
	switch {
	case a != nil && a.Kind == vm.ActFault:
	case err != nil:
		return 0, vm.FaultAction(&vm.Fault{Kind: vm.NotSimulated, Text: err.Error()})
	case t.Insns()+w.spent > m.cfg.MaxInsns:
		return 0, vm.FaultAction(&vm.Fault{Kind: vm.BudgetExceeded, Text: fmt.Sprintf("more than %d instructions, where %d bytes that helpers move count as one", m.cfg.MaxInsns, bytesPerInsn)})
	case !t.Suspended():
		t.Suspend(paused)
	}
	return r0, a
}

// goOn means that a start continues the run of the one before.
func (m *Machine) goOn() { m.work.start = m.thread.Starts() }

// step runs the thread for at most n instructions. The end of a slice of work is one of a budget: the run may have been cancelled.
func (m *Machine) step(n uint64) vm.Stop {
	stop := m.thread.Run(n)
	if stop == vm.Stopped && m.thread.StopReason() == paused {
		return vm.Budget
	}
	return stop
}
