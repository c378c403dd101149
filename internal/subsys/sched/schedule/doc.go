// Package schedule runs the programs of a sched_ext scheduler as a kernel would: it is the
// scheduler that package internal/subsys/sched calls, on a machine whose tasks and cgroups are
// those of the simulation. Start from [Run]. It knows which programs implement which operation, and
// where the fields of a task_struct are; it does not know how tasks are scheduled, nor what is
// expected of a schedule.
package schedule
