package main

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/conformance/paced"
)

// host runs pairs on the running kernel.
type host struct {
	fifo         bool // programs run with real-time priority
	spec         *ebpf.CollectionSpec
	cells, turns *ebpf.Map
	memory       [2][]byte // of cells and turns
}

// newHost creates the maps of an object.
func newHost(object string, fifo bool) (*host, error) {
	spec, err := ebpf.LoadCollectionSpec(object)
	if err != nil {
		return nil, err
	}
	h := &host{fifo: fifo, spec: spec}
	for i, m := range []**ebpf.Map{&h.cells, &h.turns} {
		name := []string{"cells", "turns"}[i]
		if *m, err = ebpf.NewMap(spec.Maps[name]); err != nil {
			return nil, fmt.Errorf("map %s: %w", name, err)
		}
		size := int(spec.Maps[name].MaxEntries) * cellSize
		page := unix.Getpagesize()
		if h.memory[i], err = unix.Mmap((*m).FD(), 0, (size+page-1)/page*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
			return nil, fmt.Errorf("map %s: %w", name, err)
		}
	}
	return h, nil
}

// load loads a program.
func (h *host) load(name string) (*ebpf.Program, error) {
	spec := h.spec.Programs[name].Copy()
	for map_, m := range map[string]*ebpf.Map{"cells": h.cells, "turns": h.turns} {
		if err := spec.Instructions.AssociateMap(map_, m); err != nil {
			return nil, err
		}
	}
	return ebpf.NewProgram(spec)
}

// A pair has both CPUs for so many calls of the kernel, some milliseconds each; then others have
// them.
const (
	batch = 16
	pause = 30 * time.Millisecond
)

// run runs a pair a number of times, or until a time, and counts the outcomes.
func (h *host) run(p *pair, runs int, until time.Time) (map[outcome]int, error) {
	defer paced.Settle(100 * time.Millisecond)
	r := rounds{host: h, until: until, most: (runs + cells - 1) / cells, seen: map[outcome]int{}}
	for side := range r.progs {
		var err error
		if r.progs[side], err = h.load(p.host(side)); err != nil {
			return nil, err
		}
		defer r.progs[side].Close()
	}
	var wait sync.WaitGroup
	var errs [2]error
	for side := range errs {
		wait.Go(func() { errs[side] = r.thread(side) })
	}
	wait.Wait()
	return r.seen, errors.Join(errs[:]...)
}

// rounds are the calls of the kernel for one pair, by two threads.
type rounds struct {
	*host
	progs [2]*ebpf.Program
	until time.Time
	most  int
	seen  map[outcome]int

	ready atomic.Int64
	met   atomic.Int64 // how often a thread came to where both meet
	stop  atomic.Bool
}

// meet waits for the other thread. false means that there is nothing more to do.
func (r *rounds) meet() bool {
	turn := r.met.Add(1)
	for want := (turn + 1) / 2 * 2; r.met.Load() < want && !r.stop.Load(); {
		if !r.fifo {
			runtime.Gosched()
		}
	}
	return !r.stop.Load()
}

// thread runs one of the programs on a CPU of its own, on all cells in each round.
func (r *rounds) thread(side int) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer func() {
		if err != nil {
			r.stop.Store(true)
		}
	}()
	var set, was unix.CPUSet
	if err := unix.SchedGetaffinity(0, &was); err != nil {
		return err
	}
	set.Set(side)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return err
	}
	defer unix.SchedSetaffinity(0, &was)
	for r.ready.Add(1); r.ready.Load() < 2 && !r.stop.Load(); {
		runtime.Gosched()
	}
	if r.fifo {
		if err := priority(unix.SCHED_FIFO, 1); err != nil {
			return err
		}
		defer priority(unix.SCHED_NORMAL, 0)
	}
	data := make([]byte, 64)
	for n := range r.most {
		if n%batch == batch-1 {
			rest := unix.NsecToTimespec(int64(pause))
			_ = unix.Nanosleep(&rest, nil)
		}
		if side == 0 {
			if time.Now().After(r.until) {
				r.stop.Store(true)
			}
			clear(r.memory[0])
			clear(r.memory[1])
		}
		if !r.meet() {
			return nil
		}
		if _, err := r.progs[side].Run(&ebpf.RunOptions{Data: data, Repeat: cells}); err != nil {
			return err
		}
		if !r.meet() {
			return nil
		}
		if side == 0 {
			for i := range cells {
				r.seen[outcome(r.memory[0][i*cellSize:])]++
			}
		}
	}
	return nil
}

// priority changes how the thread is scheduled.
func priority(policy, level uint32) error {
	return unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: policy, Priority: level}, 0)
}
