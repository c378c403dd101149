package kernel

import (
	"maps"
	"slices"

	"github.com/bpfrun/bpfrun/uapi"
)

// Snapshot is the state of a [Kernel] at one moment, without the memory below it: take and restore one of
// [mem.Memory] at the same time.
type Snapshot struct {
	k        *Kernel
	cpu      int
	event    event
	mode     Mode
	prog     uapi.ProgType
	traced   uint64
	clock    Clock
	rand     random
	failed   error
	objects  []*Object
	states   []*state
	byRole   map[string]*Object
	current  []*Object
	userHeap uint64
	userStrs map[string]uint64
	stacks   map[bool][]uint64
	extra    []string
	vars     int
	next     uint64
	perObjs  map[percpuKey]*Object
	packets  []packetState
	cells    []cellState
	sockets  []socketState
	byName   map[string]*Socket
}

// Snapshot records clocks, random state, CPU, objects with their bytes, current tasks, contexts and packets. It is cheap:
// bytes are shared until they change.
func (k *Kernel) Snapshot() *Snapshot {
	s := &Snapshot{
		k: k, cpu: k.cpu, event: k.event, mode: k.mode, prog: k.prog, traced: k.traced, clock: k.clock, rand: k.rand, failed: k.failed,
		objects: slices.Clone(k.objects), states: make([]*state, len(k.objects)),
		byRole: maps.Clone(k.byRole), current: slices.Clone(k.current), userHeap: k.user.heap, userStrs: maps.Clone(k.userStrings), stacks: maps.Clone(k.stacks),
		extra: slices.Clone(k.symbols.extra), vars: len(k.percpu.vars), next: k.percpu.next, perObjs: maps.Clone(k.percpu.objects),
	}
	for i, o := range k.objects {
		o.st.shared = true
		s.states[i] = o.st
	}
	for _, p := range k.packets {
		s.packets = append(s.packets, packetState{p, *p})
	}
	for _, c := range k.cells {
		s.cells = append(s.cells, c.save())
	}
	s.byName = maps.Clone(k.byName)
	for _, sk := range k.sockets {
		s.sockets = append(s.sockets, sk.save())
	}
	return s
}

// Restore brings the kernel back to a snapshot taken from it. Objects and contexts made since are forgotten.
func (k *Kernel) Restore(s *Snapshot) {
	if s == nil || s.k != k {
		return
	}
	k.cpu, k.event, k.mode, k.prog, k.traced, k.clock, k.rand, k.failed = s.cpu, s.event, s.mode, s.prog, s.traced, s.clock, s.rand, s.failed
	k.objects = append(k.objects[:0:0], s.objects...)
	for i, o := range k.objects {
		s.states[i].shared = true
		o.st = s.states[i]
	}
	k.byRole, k.current, k.user.heap = maps.Clone(s.byRole), slices.Clone(s.current), s.userHeap
	k.stacks = maps.Clone(s.stacks)
	k.userStrings = maps.Clone(s.userStrs)
	k.symbols.extra = slices.Clone(s.extra)
	k.symbols.byName = make(map[string]int, len(s.extra))
	for i, n := range s.extra {
		k.symbols.byName[n] = i
	}
	k.percpu.vars, k.percpu.next, k.percpu.objects = k.percpu.vars[:s.vars], s.next, maps.Clone(s.perObjs)
	k.packets = k.packets[:0]
	for _, p := range s.packets {
		*p.p = p.was
		k.packets = append(k.packets, p.p)
	}
	k.cells = k.cells[:0]
	for _, c := range s.cells {
		k.cells = append(k.cells, c.restore())
	}
	for _, sk := range k.sockets {
		sk.forget()
	}
	k.sockets, k.byName = k.sockets[:0:0], maps.Clone(s.byName)
	for _, sk := range s.sockets {
		*sk.s = sk.was
		sk.s.opts = maps.Clone(sk.was.opts)
		k.sockets = append(k.sockets, sk.s)
	}
}
