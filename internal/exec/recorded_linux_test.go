//go:build linux && amd64

package exec

import (
	"os"
	osexec "os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/testsize"
)

// TestRecordedEventsAreReplayed: what bpfrun record wrote of a trace, tools print: the files,
// arguments, parents, results and addresses of the trace.
func TestRecordedEventsAreReplayed(t *testing.T) {
	t.Setenv("PATH", os.Getenv("BPFRUN_TOOLS")+":/usr/sbin:"+os.Getenv("PATH"))
	t.Setenv("LC_ALL", "C")
	for _, tt := range testsize.Some(3, []struct{ events, tool, want string }{
		{"strace", "opensnoop", "100    sh                 3   0 /etc/ld.so.cache\n100    sh                -1   2 /no/such/file\n"},
		{"strace", "execsnoop", "cat              101    100      0 /usr/bin/cat a b \n"},
		{"strace", "exitsnoop", "sh               100     "},
		{"strace", "killsnoop", " 101     worker 1         10        100     0"},
		{"ftrace", "sigsnoop", "7       cat              9         1234    0"},
		{"perf", "bpftrace -e 'tracepoint:sched:sched_switch { printf(\"%s %d -> %s %d\\n\", args->prev_comm, args->prev_pid, args->next_comm, args->next_pid) }'",
			"swapper/1 0 -> Web Content 4242\n"},
		{"strace", "bpftrace -e 'tracepoint:syscalls:sys_enter_connect { printf(\"%s to %s, %d bytes\\n\", comm, ntop(((struct sockaddr_in *)args->uservaddr)->sin_addr.s_addr), args->addrlen) }'",
			"cat to 93.184.216.34, 16 bytes\n"},
		{"strace", "bpftrace -e 'tracepoint:syscalls:sys_enter_execve { join(args->argv) }'", "sh -c cat \"a b\"; exit 3\ncat a b\n"},
	}) {
		name, _, _ := strings.Cut(tt.tool, " ")
		t.Run(tt.events+" "+name, func(t *testing.T) {
			if _, err := osexec.LookPath(name); err != nil {
				t.Skip(err)
			}
			events, err := os.ReadFile("../record/testdata/" + tt.events + ".events")
			require.NoError(t, err)
			r := start(t, "", string(events), func(c *Config) { c.Args, c.Root = []string{"/bin/sh", "-c", "exec " + tt.tool}, true })
			assert.Contains(t, r.out, tt.want, r.notes)
			assert.NotContains(t, r.notes, "no such field")
		})
	}
}
