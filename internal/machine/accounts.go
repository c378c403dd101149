package machine

import (
	"fmt"

	"github.com/bpfrun/bpfrun/helpers"
	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// accounts counts calls by function, the work of helpers, and the time they take. It answers calls
// that a run overrides, and makes calls that the kernel does not allow under a lock a fault.
type accounts struct {
	rec     *recorder
	parking *parking
	mem     *mem.Memory
	kernel  *kernel.Kernel
	thread  *vm.Thread
	env     *helpers.Env
	mapEnv  *maps.Env
	cfg     *Config
	release uapi.Release

	calls  callCounts
	ledger *ledger // nil until a program calls what it accounts for
	work   work
}

// instrument wraps a call so that it is counted and advances the clock, and applies overrides and
// the rules for calls under a lock.
func (acc *accounts) instrument(p *program, pc int, f *vm.Func) {
	i := acc.calls.slot(f.Name)
	f.Inline = acc.inline(f, i)
	if p.locks {
		f.Fn = acc.underLock(p, pc, *f)
	}
	fn, name, kfunc, clock, locks := f.Fn, f.Name, f.Kfunc, acc.kernel.Clock(), p.locks && locksSpin(f)
	f.Fn = func(t *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
		if locks && len(acc.parking.runs) > 0 {
			if wait := acc.parking.await(args[0], kfunc, &acc.env.Run.Held); wait != nil {
				return 0, wait // nothing was counted, and no time has passed
			}
		}
		acc.calls.made++
		acc.calls.n[i]++
		clock.Tick()
		if run := acc.rec.run; run != nil && len(run.overrides) > 0 {
			if v, action, ok := acc.override(name, acc.calls.n[i], args); ok {
				return v, action
			}
		}
		r0, action := fn(t, args)
		w, moved := &acc.work, acc.mem.Moved()
		if w.left -= callWork; moved < workSlice && w.left > int64(moved-w.seen) && w.err == nil {
			return r0, action
		}
		return acc.look(t, r0, action)
	}
}

// The work of helpers is not part of the instruction count: one call may copy megabytes. Bytes
// count toward the limit of a run; both bytes and calls determine how often a run checks whether it
// was cancelled.
const (
	// bytesPerInsn is the number of bytes moved by helpers that count as one instruction.
	bytesPerInsn = 8
	// callWork is the work of a call, besides the bytes it moves.
	callWork = 256
	// workSlice is the work between two checks whether the run was cancelled, and the number of
	// bytes after which they are charged.
	workSlice = 16 << 20
)

// paused is the stop reason after a slice of work.
const paused = "work"

// work is the work that helpers did.
type work struct {
	left  int64  // rest of the slice, without the bytes moved in it
	seen  uint64 // bytes moved before the slice that are not charged yet
	spent uint64 // instructions that the bytes moved since the start are worth
	start uint64 // vm.Thread.Starts at that start
	err   error  // nothing more can be recorded
}

// look ends a slice of work after a call of a helper.
func (acc *accounts) look(t *vm.Thread, r0 uint64, a *vm.Action) (uint64, *vm.Action) {
	w := &acc.work
	if n := t.Starts(); n != w.start {
		w.start, w.spent = n, 0
	}
	// When bytes are charged must not depend on the engine, which executes some calls on its own:
	// it follows from the bytes alone.
	charged := acc.mem.Moved() >= workSlice
	if charged {
		w.spent += acc.mem.TakeMoved() / bytesPerInsn
	}
	w.left, w.seen = workSlice, acc.mem.Moved()
	err := w.err
	w.err = nil
	switch {
	case a != nil && a.Kind == vm.ActFault:
	case err != nil:
		return 0, vm.FaultAction(&vm.Fault{Kind: vm.NotSimulated, Text: err.Error()})
	case charged && t.Insns()+w.spent > acc.cfg.MaxInsns:
		return 0, vm.FaultAction(&vm.Fault{Kind: vm.BudgetExceeded, Text: fmt.Sprintf("more than %d instructions, counting %d bytes moved by helpers as one", acc.cfg.MaxInsns, bytesPerInsn)})
	case !t.Suspended():
		t.Suspend(paused)
	}
	return r0, a
}

// goOn marks the next start as a continuation of the previous run.
func (acc *accounts) goOn() { acc.work.start = acc.thread.Starts() }

// step runs the thread for at most n instructions. The end of a slice of work counts as the end of
// a budget, because the run may have been cancelled.
func (acc *accounts) step(n uint64) vm.Stop {
	stop := acc.rec.follow(n)
	if stop == vm.Stopped && acc.thread.StopReason() == paused {
		return vm.Budget
	}
	return stop
}

// callCounts counts a run's calls by function, across tail calls to other programs.
type callCounts struct {
	made  uint64 // calls of all functions, except those that the engine executed itself and that left nothing to clean up
	index map[string]int
	names []string
	n     []int
}

// slot returns the index of a function's counter.
func (c *callCounts) slot(name string) int {
	i, ok := c.index[name]
	if !ok {
		if c.index == nil {
			c.index = map[string]int{}
		}
		i = len(c.names)
		c.index[name] = i
		c.names = append(c.names, name)
		c.n = append(c.n, 0)
	}
	return i
}

// take adds the counts to a result and resets them.
func (c *callCounts) take(into map[string]int) {
	for i, n := range c.n {
		if n > 0 {
			into[c.names[i]] += n
		}
	}
	clear(c.n)
}
