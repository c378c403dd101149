package race

import (
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// AloneHooks are functions and tracepoints that a task reaches when its process has no other
// threads: begin_new_exec ends them (de_thread) before it gets there. Read in the sources of Linux
// 5.10 and 7.1.
var AloneHooks = []string{"sched_process_exec", "bprm_committing_creds", "bprm_committed_creds", "setup_new_exec", "finalize_exec", "proc_exec_connector"}

// hookOf is the function, hook of the LSM or tracepoint that a program is attached to.
func hookOf(lp *loader.LinkedProgram) string {
	hook := lp.AttachTo[strings.LastIndexByte(lp.AttachTo, '/')+1:]
	return strings.TrimPrefix(strings.TrimPrefix(hook, "bpf_lsm_"), "security_")
}

// alone reports whether the process in which a program runs has no other threads then.
func alone(lp *loader.LinkedProgram) bool { return slices.Contains(AloneHooks, hookOf(lp)) }

// OtherTask is what runs besides the task of the first CPU while programs meet: another thread of
// its process, so that both have the same keys where programs use the process, and none in common
// where they use the thread; where that process has no other threads, one of another process. It is
// nil if the kernel's types have no tasks.
func OtherTask(m *machine.Machine, progs ...*loader.LinkedProgram) *object.Object {
	first := m.Kernel().CurrentOn(0)
	if first == nil {
		return nil
	}
	task, err := m.Kernel().NewTask("thread on CPU 1")
	if err != nil {
		return nil
	}
	tgid, pid := first.Num("tgid"), first.Num("tgid")+1
	if slices.ContainsFunc(progs, alone) {
		tgid = pid
	}
	if task.SetUint("tgid", tgid) != nil || task.SetUint("pid", pid) != nil {
		return nil
	}
	if name, err := first.GetBytes("comm"); err == nil {
		_ = task.SetBytes("comm", name) // a kernel without names of tasks
	}
	return task
}

// otherTasks makes each [OtherTask] once.
type otherTasks struct {
	m    *machine.Machine
	made [2]*object.Object
}

// of returns the one for programs.
func (t *otherTasks) of(progs ...*loader.LinkedProgram) *object.Object {
	which := slices.Index([]bool{false, true}, slices.ContainsFunc(progs, alone))
	if t.made[which] == nil {
		t.made[which] = OtherTask(t.m, progs...)
	}
	return t.made[which]
}

// besides returns the task in which an actor runs while another one runs in a task: not in the same
// one.
func besides(m *machine.Machine, own, other, second *object.Object) *object.Object {
	switch {
	case own == nil:
		return second
	case own != other:
		return own
	}
	task, err := m.Kernel().Twin(own)
	if err != nil || task.SetUint("pid", own.Num("pid")+1) != nil {
		return second
	}
	return task
}
