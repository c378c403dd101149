package bpfsys

// graceFunctions are the functions of a grace period of RCU Tasks Trace, in the order in which its
// thread calls them (rcu_tasks_wait_gp of kernel/rcu/tasks.h). Programs that wait for memory to be
// freed trace the last one. Linux 7.0 has none of them: nothing attaches to them there.
var graceFunctions = []string{"rcu_tasks_trace_pregp_step", "rcu_tasks_trace_postscan", "rcu_tasks_trace_postgp"}

// graceThread is the task of the thread; its id is what it is on a machine with two CPUs, or near
// it.
var graceThread = map[string]any{"pid": int64(16), "tgid": int64(16), "comm": "rcu_tasks_trace"}

// endGrace ends the grace period that deleted elements of local storage wait for, if there are any.
// A kernel's ends some time after the call or event that deleted them, since no program runs then;
// here it does at once. What the programs at its functions delete waits for the next one.
func (s *System) endGrace() {
	if !s.machine.TakeLate() {
		return
	}
	for _, name := range graceFunctions {
		if _, err := s.phase(Event{Hook: name, Task: graceThread}, func(h *attachment) bool { return exactly(h, name) }); err != nil {
			s.note("%s: %v", name, err)
		}
	}
}
