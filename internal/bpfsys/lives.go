package bpfsys

import (
	"errors"
	"maps"
)

// Life is an event in the life of a task: its fork, a successful exec, or its exit. The tasks are
// given by their fields, as in [Event.Task].
type Life struct {
	Task map[string]any
	// Child is the new task of a fork.
	Child map[string]any
	// Exec is the path of the program that the task now runs, Old the id of the thread that called
	// exec.
	Exec string
	Old  int64
	// Last is set when the exiting task is the last one of its process.
	Last bool
}

// Hook is the tracepoint of the event.
func (l *Life) Hook() string {
	switch {
	case l.Child != nil:
		return "sched_process_fork"
	case l.Exec != "":
		return "sched_process_exec"
	}
	return "sched_process_exit"
}

// FireLife fires the tracepoints of an event in a task's life: sched_process_fork with a child,
// sched_process_exec with a path, else sched_process_exit, after which the task is gone. It fails
// with [ErrNoHook] if no program is attached.
func (s *System) FireLife(l Life) ([]Fired, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.endGrace()
	raw, record := Event{Hook: l.Hook(), Task: l.Task}, Event{Task: l.Task, Args: map[string]any{}}
	switch {
	case l.Child != nil:
		raw.Tasks = map[string]map[string]any{"child": l.Child}
		for name, t := range map[string]map[string]any{"parent": l.Task, "child": l.Child} {
			record.Args[name+"_pid"], record.Args[name+"_comm"] = t["pid"], t["comm"]
		}
	case l.Exec != "":
		raw.Args = map[string]any{"old_pid": l.Old}
		record.Args["filename"], record.Args["old_pid"] = l.Exec, l.Old
	default:
		defer delete(s.tasks, taskKey(l.Task))
		if l.Last { // programs see it since 6.16
			raw.Args = map[string]any{"group_dead": 1}
			if s.machine.Kernel().LayoutNamed("trace_event_raw_"+raw.Hook) != nil {
				record.Args = maps.Clone(raw.Args)
			}
		}
	}
	record.Hook = "sched/" + raw.Hook
	all, err := s.fireExact(raw)
	if err != nil && !errors.Is(err, ErrNoHook) {
		return nil, err
	}
	more, err := s.fireExact(record)
	if all = append(all, more...); len(all) > 0 && errors.Is(err, ErrNoHook) {
		err = nil
	}
	return all, err
}
