package bpfsys

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestHooksInTheLifeOfATaskComeInTheKernelsOrder: the tracepoint of an exit moved with 6.16, when it
// began to tell whether the process ends; a thread that is not the last one ends no process.
func TestHooksInTheLifeOfATaskComeInTheKernelsOrder(t *testing.T) {
	task := map[string]any{"pid": int64(7)}
	exit := func(left int) Life { return Life{Task: task, Exit: &Exit{Code: 0x300, Left: left}} }
	const tracepoint = "sched_process_exit sched/sched_process_exit"
	for _, tt := range []struct {
		name   string
		events []Event
		want   string
	}{
		{"fork", forkEvents(Life{Task: task, Child: map[string]any{"pid": int64(8)}}), "sched_process_fork sched/sched_process_fork wake_up_new_task"},
		{"exec", execEvents(Life{Task: task, Exec: "/bin/true"}, nil), "security_bprm_committing_creds security_bprm_committed_creds sched_process_exec sched/sched_process_exec"},
		{"exit before 6.16", exitEvents(exit(0), false), "do_exit acct_process " + tracepoint + " disassociate_ctty"},
		{"exit since 6.16", exitEvents(exit(0), true), "do_exit " + tracepoint + " acct_process disassociate_ctty"},
		{"a thread before 6.16", exitEvents(exit(2), false), "do_exit " + tracepoint},
		{"a thread since 6.16", exitEvents(exit(2), true), "do_exit " + tracepoint},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var hooks []string
			for _, e := range tt.events {
				hooks = append(hooks, e.Hook)
			}
			assert.Equal(t, tt.want, strings.Join(hooks, " "))
		})
	}
	last := exitEvents(exit(2), true)[1]
	assert.Equal(t, map[string]any{"pid": int64(7), "exit_code": int64(0x300), "signal->live.counter": int64(2)}, last.Task)
	assert.Nil(t, last.Args, "others are left")
	assert.Equal(t, map[string]any{"group_dead": 1}, exitEvents(exit(0), true)[1].Args)
	assert.Nil(t, exitEvents(exit(0), false)[2].Args, "told since 6.16")
}
