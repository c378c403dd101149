package helpers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestSession: the eight bytes of a session are the same at entry and return.
func TestSession(t *testing.T) {
	r := newRig(t, newest)
	r.context(uapi.ProgTypeKprobe, hook.ContextSpec{Section: "kprobe/vfs_read", AttachTo: "vfs_read"})
	assert.Zero(t, r.kok("bpf_session_is_return"))
	cookie := r.kok("bpf_session_cookie")
	require.NotZero(t, cookie)
	assert.Zero(t, r.u64(cookie))
	r.env.Run.SessionReturn = true
	assert.EqualValues(t, 1, r.kok("bpf_session_is_return"))
	assert.Equal(t, cookie, r.kok("bpf_session_cookie"))
}

// TestSequentialFile: what does not fit into the buffer is refused, and everything after it.
func TestSequentialFile(t *testing.T) {
	r := newRig(t, newest)
	r.context(uapi.ProgTypeTracing, hook.ContextSpec{Section: "iter/task", AttachTo: "task", Attach: uapi.AttachTraceIter})
	data := r.space(16 << 10)
	assert.Zero(t, r.ok(uapi.FuncSeqWrite, 0, data, 16<<10))
	assert.Equal(t, uint64(uapi.EOVERFLOW.Neg()), r.ok(uapi.FuncSeqWrite, 0, data, 16<<10))
	assert.Equal(t, uint64(uapi.EOVERFLOW.Neg()), r.ok(uapi.FuncSeqWrite, 0, data, 1))
	assert.True(t, r.env.Run.SeqFull)
	assert.Len(t, r.env.Run.Text, 16<<10)
}
