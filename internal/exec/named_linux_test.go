//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func init() {
	tools["unserved"] = unservedTool
}

// unservedTool asks for what perf stat, perf trace and systemd ask for.
func unservedTool() error {
	open := func(a *unix.PerfEventAttr) (int, error) {
		a.Size = uint32(unsafe.Sizeof(*a))
		return unix.PerfEventOpen(a, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	}
	fd, err := open(&unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_TASK_CLOCK, Bits: unix.PerfBitDisabled | unix.PerfBitEnableOnExec})
	if err != nil {
		return err
	}
	var count [8]byte
	if _, err := unix.Read(fd, count[:]); err != nil {
		return err
	}
	fmt.Println("counted", le.Uint64(count[:]))
	id, err := os.ReadFile("/sys/kernel/tracing/events/sched/sched_switch/id")
	if err != nil {
		return err
	}
	var n uint64
	if _, err := fmt.Sscan(string(id), &n); err != nil {
		return err
	}
	if fd, err = open(&unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: n, Sample: 1, Sample_type: unix.PERF_SAMPLE_RAW}); err != nil {
		return err
	}
	b, err := unix.Mmap(fd, 0, 2*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	fmt.Println("mapped", len(b), outcomeOf(err))
	at, err := os.MkdirTemp("", "")
	if err != nil {
		return err
	}
	defer os.Remove(at)
	fmt.Println("cgroup", unix.Mount("none", at, "cgroup", 0, "") != nil)
	return nil
}

func TestWhatIsNotServedIsNamedOnce(t *testing.T) {
	r := start(t, "unserved", "")
	assert.Equal(t, "counted 0\nmapped 8192 ok\ncgroup true\n", r.out)
	for _, text := range []string{"enable_on_exec stay disabled", "perf event sched/sched_switch has a buffer, but its samples are not simulated", "mounting a cgroup at "} {
		assert.Equal(t, 1, strings.Count(r.notes, text), "%s: %s", text, r.notes)
	}
}

// TestNamesThatNoProgramTakesAreSaid: a mistyped name in an event is said once, with what it could
// have been; the event happens.
func TestNamesThatNoProgramTakesAreSaid(t *testing.T) {
	r := start(t, "ring", "sched_switch prv.pid=7\nsched_switch prv.pid=8\n---\nsched_switch prev.pid=9 task.com=x\n")
	assert.Equal(t, 1, strings.Count(r.notes, "event sched_switch: no program there takes prv (nearest: prev)"), r.notes)
	assert.NotContains(t, r.notes, "takes prev (")
	assert.Contains(t, r.notes, `event sched_switch prev.pid=9 task.com=x: com: no such field: "com" in task_struct (nearest: comm`)
	r = start(t, "ring", "syscall/openat filenam=/x dfd=3 id=1 ret=3\n")
	assert.Contains(t, r.notes, "event syscall/openat: no program there takes filenam (nearest: filename)")
	assert.NotContains(t, r.notes, "takes dfd")
	assert.NotContains(t, r.notes, "takes id")
}
