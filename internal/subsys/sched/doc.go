// Package sched simulates how a kernel schedules tasks with a sched_ext scheduler: simulated tasks
// with timelines, CPUs with a topology, dispatch queues, idle tracking, kicks, ticks and slices,
// the watchdog, and the calls of the scheduler's operations in the kernel's order
// (kernel/sched/ext/ext.c, idle.c and cid.c of Linux 7.2). Start from [New] and [Sim.Run]. It knows
// numbers and names only: what a program is, and how one is called, is behind [Ops]; where the
// fields of a task are that programs see, behind [Mirror].
//
// A simulation is a sequence of events at points of simulated time; operations take none of it. It
// is deterministic.
package sched
