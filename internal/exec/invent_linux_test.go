//go:build linux && amd64

package exec

import (
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/testsize"
)

// autoTool is a line of testdata/auto.txt.
type autoTool struct {
	command string
	prints  *regexp.Regexp // nil: nothing, see why
	why     string
}

// autoTools reads the table of a package: auto.txt of libbpf-tools, auto-bcc.txt of bcc.
func autoTools(t *testing.T, file string) (out []autoTool) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	require.NoError(t, err)
	for l := range strings.Lines(string(text)) {
		if l = strings.TrimSpace(l); l == "" || l[0] == '#' {
			continue
		}
		if command, pattern, ok := strings.Cut(l, " : "); ok {
			out = append(out, autoTool{command: command, prints: regexp.MustCompile(pattern)})
			continue
		}
		command, why, ok := strings.Cut(l, " ! ")
		require.True(t, ok, l)
		out = append(out, autoTool{command: command, why: why})
	}
	return out
}

// TestInventedEventsMakeToolsPrint: a tool prints what events tell that nobody wrote, if its hooks
// are in the kernel.
func TestInventedEventsMakeToolsPrint(t *testing.T) {
	every := testsize.Pick(1, testsize.Sample(4, 16), 0)
	if every == 0 {
		t.Skip("takes a minute")
	}
	t.Setenv("PATH", strings.Join(append(filepath.SplitList(os.Getenv("BPFRUN_TOOLS")), "/usr/sbin", "/sbin", os.Getenv("PATH")), ":"))
	t.Setenv("LC_ALL", "C")
	for i, tool := range autoTools(t, "auto.txt") {
		words := strings.Fields(tool.command)
		if i%every != 0 || words[0] == "javagc" { // which looks for its process before anything else
			continue
		}
		t.Run(words[0], func(t *testing.T) {
			if _, err := osexec.LookPath(words[0]); err != nil {
				t.Skipf("%v: Debian 12's package libbpf-tools has it", err)
			}
			r := start(t, "", "", func(c *Config) {
				c.Args, c.Root, c.RealClock, c.Events, c.Timeout = words, true, true, AutoEvents(), 5*time.Second
				c.System.Machine.Seed = 1 // that of the command line
			})
			if tool.prints == nil {
				assert.NotContains(t, r.notes, "invented: ", r.out)
				return
			}
			assert.Regexp(t, tool.prints, r.out, r.notes)
			assert.Contains(t, r.notes, "bpfrun exec: invented: ")
		})
	}
}

// TestTheTablesOfInventedEventsAreRight: CONFORMANCE.md counts what testdata/auto*.txt have.
func TestTheTablesOfInventedEventsAreRight(t *testing.T) {
	page, err := os.ReadFile("../../CONFORMANCE.md")
	require.NoError(t, err)
	for file, says := range map[string]string{
		"auto.txt": "`--events auto` makes %d of the %d print", "auto-bcc.txt": "`--events auto` makes %d of %d tools of bcc print", "auto-bpftrace.txt": "`--events auto` makes %d of %d scripts of bpftrace print",
		"auto-sid-libbpf.txt": "`--events auto` makes %d of the %d tools of libbpf-tools 0.37 print", "auto-sid-bcc.txt": "%d of %d tools of bcc 0.37 print", "auto-sid-bpftrace.txt": "%d of %d scripts of bpftrace 0.27 print",
	} {
		printing, why := 0, map[string]int{}
		all := autoTools(t, file)
		for _, tool := range all {
			if tool.prints != nil {
				printing++
			} else {
				why[tool.why]++
			}
		}
		assert.Contains(t, string(page), fmt.Sprintf(says, printing, len(all)))
		for w, n := range why {
			assert.Contains(t, string(page), fmt.Sprintf("| %s | %d |", w, n), file)
		}
	}
}

// TestEventsAreInventedInTheOrderOfTheirHooks: what begins comes before what ends, and a switch of
// tasks around both.
func TestEventsAreInventedInTheOrderOfTheirHooks(t *testing.T) {
	for hook, want := range map[string]int{
		"mutex_lock": 0, "mutex_unlock": 2, "block_rq_insert": 0, "block_rq_issue": 1, "block_rq_complete": 2, "syscall/openat": 1, "softirq_entry": 0, "softirq_exit": 2,
		"vfs_create": 0, "vfs_unlink": 2, "tcp_v4_connect": 0, "tcp_close": 2, "mm_vmscan_direct_reclaim_begin": 0, "mm_vmscan_direct_reclaim_end": 2, "uprobe//bin/bash": 1,
	} {
		assert.Equal(t, want, moment(hook), hook)
	}
	r := start(t, "count", "auto\n")
	assert.Equal(t, "4\n", r.out, r.notes)
	assert.Contains(t, r.notes, "bpfrun exec: invented: sched_switch (4 times)\n")
}

func init() { tools["waits"] = waitsTool }

// waitsTool waits with programs at an exec.
func waitsTool() error {
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.TracePoint, License: "GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}})
	if err != nil {
		return err
	}
	for _, call := range []string{"openat", "statx", "unlinkat", "mkdirat"} {
		l, err := link.Tracepoint("syscalls", "sys_enter_"+call, p, nil)
		if err != nil {
			return err
		}
		defer l.Close()
	}
	return sleepLong()
}

// TestInventedEventsFollowTheSeed: the same seed makes the same events, another one makes others.
func TestInventedEventsFollowTheSeed(t *testing.T) {
	with := func(seed uint64) string {
		return start(t, "waits", "auto\n", func(c *Config) { c.System.Machine.Seed = seed }).notes
	}
	first := with(1)
	assert.Equal(t, first, with(1))
	assert.NotEqual(t, first, with(2))
}

// TestInventedTasksTakeTurns: what one of them left, the other one finds.
func TestInventedTasksTakeTurns(t *testing.T) {
	for hook, other := range turns {
		a, err := ParseLine(hook + turn(other, 0, 1))
		require.NoError(t, err)
		b, err := ParseLine(hook + turn(other, 1, 0))
		require.NoError(t, err)
		assert.Equal(t, a.Event.Task["pid"], b.Event.Tasks[other]["pid"], hook)
		assert.Equal(t, b.Event.Task["pid"], a.Event.Tasks[other]["pid"], hook)
		assert.NotZero(t, changes()[hook], hook)
	}
}
