package scenario

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestOwnersAreKeysOfLocalStorage: an element of task storage is addressed by its task, before the
// runs and after them.
func TestOwnersAreKeysOfLocalStorage(t *testing.T) {
	const objects = "objects:\n  a: {type: task_struct, pid: 20, tgid: 20, comm: worker}\n  b: {type: task_struct, pid: 21, tgid: 20, comm: worker}\n  f: {type: file}\n"
	for _, tt := range []struct{ set, expect, want string }{
		{"{20: {count: 3, since: 1}}", "{$a: {count: 4}, 21: null}", ""},
		{"{$b: {count: 3, since: 1}}", "{21: {count: 3}, $a: null}", ""},
		{"{0x14: {count: 3, since: 1}}", "{20: {count: 4}}", ""},
		{"{20: {count: 3, since: 1}}", "{20: {count: 5}}", "want 5, got 4"},
		{"{20: {count: 3, since: 1}, 21: {}}", "!exact {20: {count: 4}}", "calls[21 (worker)]: want no such element"},
		{"{22: {}}", "{}", "key of calls: no task has pid 22 (tasks: "},
		{"{wrker: {}}", "{}", "key of calls: no task is called wrker (tasks: "},
		{"{worker: {}}", "{}", "key of calls: several tasks are called worker: use a pid (tasks: "},
		{"{$f: {}}", "{}", "key of calls: want a task: the $name of an object, a pid, or a name (comm)"},
		{"{20: {}, $a: {}}", "{}", "key $a of calls was already set at line 5, as 20"},
	} {
		r, err := openText(t, "taskstorage", objects+"maps: {calls: "+tt.set+"}\nruns: [{prog: on_exit, current: $a, expect: {maps: {calls: "+tt.expect+"}}}]\n")
		if err != nil {
			require.NotEmpty(t, tt.want, "%s: %v", tt.set, err)
			assert.ErrorContains(t, err, tt.want, tt.set)
			continue
		}
		results, err := r.All(context.Background(), nil)
		require.NoError(t, err)
		require.Len(t, results, 1)
		if tt.want == "" {
			assert.Empty(t, failures(results[0]), tt.set)
		} else {
			assert.Contains(t, failures(results[0]), tt.want, tt.set)
		}
	}
}

func TestSummedOfPackets(t *testing.T) {
	for value, want := range map[string]string{
		"partial": "", "complete": "", "none": "", "full": `unknown value of ip_summed "full"`, "[1]": "ip_summed",
	} {
		_, err := openText(t, "tc", "runs: [{prog: classify, context: {ip_summed: "+value+", fields: {gso_size: 1448, gso_segs: 3}}}]\n")
		if want == "" {
			assert.NoError(t, err, value)
		} else {
			assert.ErrorContains(t, err, want, value)
		}
	}
}
