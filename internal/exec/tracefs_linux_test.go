//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func init() {
	tools["tracedirs"] = traceDirsTool
}

// traceDirsTool lists directories of tracefs, defines probes, and reads what the files then say.
func traceDirsTool() error {
	for _, dir := range []string{"/sys/kernel/tracing/events/skb", "/sys/kernel/debug/tracing/per_cpu", "/sys/kernel/tracing/events/sched/sched_switch", "/sys/kernel/debug/kprobes"} {
		list, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		fmt.Print(dir, ":")
		for _, e := range list {
			name := e.Name()
			if e.IsDir() {
				name += "/"
			}
			fmt.Print(" ", name)
		}
		fmt.Println()
	}
	f, err := os.OpenFile("/sys/kernel/tracing/kprobe_events", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	for _, probe := range []string{"p:mine/first vfs_read", "r vfs_write", "p:mine/second vfs_open", "-:mine/second"} {
		if _, err := f.WriteString(probe + "\n"); err != nil {
			return err
		}
	}
	f.Close()
	for _, name := range []string{"kprobe_events", "events/mine/first/format", "events/mine/second/format", "events/kprobes/r_vfs_write_0/enable"} {
		b, err := os.ReadFile("/sys/kernel/tracing/" + name)
		fmt.Println(name, outcomeOf(err))
		fmt.Print(string(b))
	}
	return nil
}

func TestToolsListTracefs(t *testing.T) {
	r := start(t, "tracedirs", "")
	assert.Contains(t, r.out, "/sys/kernel/tracing/events/skb: consume_skb/ enable filter kfree_skb/ skb_copy_datagram_iovec/\n")
	assert.Contains(t, r.out, "/sys/kernel/debug/tracing/per_cpu: cpu0/ cpu1/\n")
	assert.Contains(t, r.out, "/sys/kernel/tracing/events/sched/sched_switch: enable filter format hist id trigger\n")
	assert.Contains(t, r.out, "/sys/kernel/debug/kprobes: blacklist enabled list\n")
	assert.Contains(t, r.out, "kprobe_events ok\nr:kprobes/r_vfs_write_0 vfs_write\np:mine/first vfs_read\nevents/mine/first/format ok\nname: first\n")
	assert.Contains(t, r.out, "\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n")
	assert.True(t, strings.HasSuffix(r.out, "events/mine/second/format ENOENT\nevents/kprobes/r_vfs_write_0/enable ok\n0\n"), r.out)
}
