package bpfsys

import (
	"errors"
	"maps"

	kobject "github.com/bpfrun/bpfrun/internal/kernel/object"
)

// Life is an event in the life of a task: its fork, a successful exec, or its exit. The tasks are
// given by their fields, as in [Event.Task].
type Life struct {
	Task map[string]any
	CPU  int
	// Child is the new task of a fork.
	Child map[string]any
	// Exec is the path of the program that the task now runs, Old the id of the thread that called
	// exec.
	Exec string
	Old  int64
	// Exit is set when the task exits.
	Exit *Exit
}

// Exit is how a task exits.
type Exit struct {
	// Code is the task's exit_code.
	Code int64
	// Left is how many other threads of the process are left.
	Left int
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

// FireLife fires the hooks of an event in a task's life, in the order of the kernel: of a fork the
// tracepoint sched_process_fork and wake_up_new_task; of an exec the functions that change the
// credentials and sched_process_exec; of an exit do_exit, sched_process_exit and the functions of a
// process's end, after which the task is gone. It fails with [ErrNoHook] if no program is attached.
func (s *System) FireLife(l Life) ([]Fired, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.endGrace()
	var events []Event
	switch {
	case l.Child != nil:
		events = forkEvents(l)
	case l.Exec != "":
		task, err := s.task(l.Task)
		if err != nil {
			return nil, err
		}
		bprm, err := s.execOf(task, l)
		if err != nil {
			return nil, err
		}
		events = execEvents(l, bprm)
	default:
		defer delete(s.tasks, taskKey(l.Task))
		events = exitEvents(l, s.machine.Kernel().LayoutNamed("trace_event_raw_sched_process_exit") != nil)
	}
	var all []Fired
	for _, e := range events {
		e.CPU = l.CPU
		fired, err := s.fireExact(e)
		if err != nil && !errors.Is(err, ErrNoHook) {
			return all, err
		}
		all = append(all, fired...)
	}
	if len(all) == 0 {
		return nil, ErrNoHook
	}
	return all, nil
}

// forkEvents are the hooks of a fork (kernel_clone).
func forkEvents(l Life) []Event {
	record := Event{Hook: "sched/sched_process_fork", Task: l.Task, Args: map[string]any{}}
	for name, t := range map[string]map[string]any{"parent": l.Task, "child": l.Child} {
		record.Args[name+"_pid"], record.Args[name+"_comm"] = t["pid"], t["comm"]
	}
	return []Event{
		{Hook: "sched_process_fork", Task: l.Task, Tasks: map[string]map[string]any{"child": l.Child}},
		record,
		{Hook: "wake_up_new_task", Task: l.Task, Tasks: map[string]map[string]any{"p": l.Child}},
	}
}

// execEvents are the hooks of an exec (begin_new_exec, exec_binprm).
func execEvents(l Life, bprm *kobject.Object) []Event {
	args := map[string]any{"bprm": bprm}
	return []Event{
		{Hook: "security_bprm_committing_creds", Task: l.Task, Args: args},
		{Hook: "security_bprm_committed_creds", Task: l.Task, Args: args},
		{Hook: "sched_process_exec", Task: l.Task, Args: map[string]any{"old_pid": l.Old, "bprm": bprm}},
		{Hook: "sched/sched_process_exec", Task: l.Task, Args: map[string]any{"filename": l.Exec, "old_pid": l.Old}},
	}
}

// execOf describes an exec as programs see it: the path, the file of the program that the task runs
// now, and its credentials.
func (s *System) execOf(task *kobject.Object, l Life) (*kobject.Object, error) {
	if s.bprm == nil {
		var err error
		if s.bprm, err = s.machine.Kernel().NewDefault("exec of real tasks", "linux_binprm"); err != nil {
			return nil, err
		}
	}
	fields := map[string]any{"filename": l.Exec, "interp": l.Exec}
	if d := l.Task["mm->exe_file->f_path.dentry"]; d != nil {
		fields["file->f_path.dentry"] = d
	}
	if cred, err := task.Pointee("cred"); err == nil {
		fields["cred"] = cred
	}
	for name, v := range fields {
		if err := s.bprm.Set(name, v); err != nil {
			return nil, err
		}
	}
	return s.bprm, nil
}

// exitEvents are the hooks of an exit (do_exit). Since 6.16 the tracepoint tells whether the process
// ends, and comes first.
func exitEvents(l Life, early bool) []Event {
	exiting := maps.Clone(l.Task)
	exiting["exit_code"], exiting["signal->live.counter"] = l.Exit.Code, int64(l.Exit.Left)
	raw, record := Event{Hook: "sched_process_exit", Task: exiting}, Event{Hook: "sched/sched_process_exit", Task: exiting}
	events := []Event{{Hook: "do_exit", Task: l.Task, Args: map[string]any{"code": l.Exit.Code}}}
	if l.Exit.Left > 0 {
		return append(events, raw, record)
	}
	if early {
		raw.Args = map[string]any{"group_dead": 1}
		record.Args = raw.Args
	}
	acct := Event{Hook: "acct_process", Task: exiting}
	if early {
		events = append(events, raw, record, acct)
	} else {
		events = append(events, acct, raw, record)
	}
	return append(events, Event{Hook: "disassociate_ctty", Task: exiting, Args: map[string]any{"on_exit": 1}})
}
