package scenario

import (
	"testing"

	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMacrosAreNumbers(t *testing.T) {
	for text, want := range map[string]int64{
		"O_RDONLY": 0, "O_WRONLY|O_CREAT | O_TRUNC": 0o1101, "AT_FDCWD": -100, "S_IFREG|0o644": 0o100644, "-ENOENT": -2, "SIGKILL": 9, "CLONE_NEWNET|17": 0x40000011,
	} {
		v, ok := grammar.Macro(text)
		require.True(t, ok, text)
		assert.Equal(t, want, v.Int64(), text)
	}
	for _, text := range []string{"", "O_NOTHING", "17", "O_RDONLY|x", "AT_FDCWD|1", "-EWHAT", "|", "O_RDONLY|"} {
		_, ok := grammar.Macro(text)
		assert.False(t, ok, text)
	}
}

// Macros fit wherever a number does: fields of objects, arguments, maps, expectations; in quotes
// they are texts.
func TestMacrosInFiles(t *testing.T) {
	r, err := openText(t, "exec", `
objects:
  f: !file {path: /x, flags: O_RDWR|O_CLOEXEC, mode: S_IFREG|0o600}
  t: {type: task_struct, flags: PF_KTHREAD, pid: SIGKILL, comm: "SIGKILL"}
maps: {execs_by_uid: {SIGTERM: O_RDWR}}
runs:
- prog: on_exec
  args: {old_pid: SIGSEGV}
  expect:
    maps: {execs_by_uid: {SIGTERM: O_RDWR}}
    kernel: {f.f_flags: O_RDWR|O_CLOEXEC, t.pid: 9, t.flags: !ge PF_KTHREAD, t.comm: "SIGKILL"}
    ringbuf: {events: [{as: event, old_pid: SIGSEGV}]}
`)
	require.NoError(t, err)
	results, err := r.All(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, failures(results[0]))
}
