//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"os"
	osexec "os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
)

// TestAFloodOfEventsTakesNoMoreMemory runs a random mix of tools under a flood of events for as long
// as BPFRUN_SOAK says, and compares the memory of the second half with that of the first.
func TestAFloodOfEventsTakesNoMoreMemory(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("BPFRUN_SOAK"))
	if err != nil {
		t.Skip("set BPFRUN_SOAK to a duration, such as 10m")
	}
	t.Setenv("PATH", os.Getenv("BPFRUN_TOOLS")+":/usr/sbin:/sbin:"+os.Getenv("PATH"))
	var mix []string
	for _, tool := range []string{
		"opensnoop", "execsnoop", "exitsnoop", "killsnoop", "capable", "tcpconnect", "tcplife", "tcptracer", "filetop", "vfsstat 1", "runqlat 1", "syscount -i 1", "biolatency 1", "offcputime 2", "cpudist 1",
		"bpftrace -e 'tracepoint:syscalls:sys_enter_openat { @[comm] = count(); }'", "bpftrace -e 'kprobe:vfs_read { @[kstack] = count(); }'",
	} {
		if name, _, _ := strings.Cut(tool, " "); true {
			if _, err := osexec.LookPath(name); err == nil {
				mix = append(mix, tool)
			}
		}
	}
	if len(mix) == 0 {
		t.Skip("no tools are installed")
	}
	script := fmt.Sprintf("end=$(( $(date +%%s) + %d )); n=0\nwhile [ $(date +%%s) -lt $end ]; do\n case $(( $(od -An -N2 -tu2 /dev/urandom) %% %d )) in\n", int(length.Seconds()), len(mix))
	for i, tool := range mix {
		script += fmt.Sprintf(" %d) timeout -k 2 -s INT 3 %s >/dev/null 2>&1 ;;\n", i, tool)
	}
	script += " esac\n n=$((n+1))\ndone\necho $n tools"
	loop := "repeat 2000 as r\nrepeat 500 as i every 1ms\n" +
		"syscall/openat filename=/srv/$r/$i ret=3 task.comm=web task.pid=${i+1000}\n" +
		"syscall/execve filename=/bin/x \"argv=[x $r]\" ret=0 task.comm=x task.pid=${i+2000} task.real_parent->tgid=1\n" +
		"sched_process_exit task.pid=${i+2000} task.exit_code=0\n" +
		"sched_wakeup p.pid=${i%50}\nsched_switch prev.pid=${i%40} next.pid=${i%50}\n" +
		"vfs_read count=100 file.f_path.dentry->d_name.name=f$i task.pid=${i+1000}\n" +
		"tcp_v4_connect sk=tcp:10.0.0.1:${r%60000}-10.0.0.2:${i+1} ret=0 task.pid=${i+1000}\n" +
		"inet_sock_set_state sk=tcp:10.0.0.1:${r%60000}-10.0.0.2:${i+1} oldstate=2 newstate=1\n" +
		"block_rq_issue\nblock_rq_complete\ncap_capable cap=${i%40}\nsyscall/kill pid=7 sig=9 ret=0\nend\nend\n"
	events := strings.Repeat(loop, 4)
	stop, samples := make(chan struct{}), make(chan []uint64)
	fired := 0
	go func() {
		var list []uint64
		for {
			select {
			case <-stop:
				samples <- list
				return
			case <-time.After(length / 60):
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				list = append(list, m.HeapInuse>>20)
			}
		}
	}()
	r := start(t, "", events, func(c *Config) {
		c.Args, c.Root, c.RealClock = []string{"/bin/sh", "-c", script}, true, true
		c.Timeout = length + time.Minute
		c.Fired = func(string, []bpfsys.Fired) { fired++ }
	})
	close(stop)
	list := <-samples
	t.Logf("%s; %d events ran programs; MiB in use: %v\n%s", strings.TrimSpace(r.out), fired, list, r.notes)
	require.GreaterOrEqual(t, len(list), 20)
	third := len(list) / 3
	var before, after uint64
	for _, v := range list[third : 2*third] {
		before = max(before, v)
	}
	for _, v := range list[2*third:] {
		after = max(after, v)
	}
	assert.LessOrEqual(t, after, before+before/10+8)
}
