package machine

import (
	"fmt"

	"github.com/bpfrun/bpfrun/helpers"
	"github.com/bpfrun/bpfrun/kernel"
	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// accounts keeps count of what programs call, and what that costs: calls by function, the work of helpers, time. It answers calls that a
// run overrides, and makes those a fault that the kernel does not permit under a lock.
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

// instrument makes a call of a program count and advance the clock. It follows what the run overrides, and what is permitted under a lock.
func (acc *accounts) instrument(p *program, pc int, f *vm.Func) {
	i := acc.calls.slot(f.Name)
	if !f.Kfunc {
		f.Inline = acc.inline(uapi.FuncID(f.ID), f.Name, i)
	}
	if p.locks {
		f.Inline = nil // native code does not ask whether a lock is held
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
		return acc.worked(t, r0, action)
	}
}

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
func (acc *accounts) worked(t *vm.Thread, r0 uint64, a *vm.Action) (uint64, *vm.Action) {
	if acc.work.left -= callWork; acc.work.left > int64(acc.mem.Moved()) && acc.work.err == nil {
		return r0, a
	}
	return acc.look(t, r0, a)
}

// look ends a slice of work.
func (acc *accounts) look(t *vm.Thread, r0 uint64, a *vm.Action) (uint64, *vm.Action) {
	w := &acc.work
	if n := t.Starts(); n != w.start {
		w.start, w.spent = n, 0
	}
	w.left = workSlice
	w.spent += acc.mem.TakeMoved() / bytesPerInsn
	err := w.err
	w.err = nil
	switch {
	case a != nil && a.Kind == vm.ActFault:
	case err != nil:
		return 0, vm.FaultAction(&vm.Fault{Kind: vm.NotSimulated, Text: err.Error()})
	case t.Insns()+w.spent > acc.cfg.MaxInsns:
		return 0, vm.FaultAction(&vm.Fault{Kind: vm.BudgetExceeded, Text: fmt.Sprintf("more than %d instructions, counting %d bytes moved by helpers as one", acc.cfg.MaxInsns, bytesPerInsn)})
	case !t.Suspended():
		t.Suspend(paused)
	}
	return r0, a
}

// goOn means that a start continues the run of the one before.
func (acc *accounts) goOn() { acc.work.start = acc.thread.Starts() }

// step runs the thread for at most n instructions. The end of a slice of work is one of a budget: the run may have been cancelled.
func (acc *accounts) step(n uint64) vm.Stop {
	stop := acc.thread.Run(n)
	if stop == vm.Stopped && acc.thread.StopReason() == paused {
		return vm.Budget
	}
	return stop
}

// callCounts counts the calls of a run by function, whichever program they are made from: a tail call takes the run to another.
type callCounts struct {
	made  uint64 // calls of all functions, but for those the engine executed itself
	index map[string]int
	names []string
	n     []int
}

// slot returns where the calls of a function are counted.
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

// take adds the counts to a result and starts again at 0.
func (c *callCounts) take(into map[string]int) {
	for i, n := range c.n {
		if n > 0 {
			into[c.names[i]] += n
		}
	}
	clear(c.n)
}
