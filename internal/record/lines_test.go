package record

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// oddLines are lines at the limits of what a format has, by format. A blank line separates inputs.
var oddLines = map[string]string{
	"ftrace": `CPU:3 [LOST 7 EVENTS]
CPU:3 [LOST -7 EVENTS]
CPU:3 [LOST x EVENTS]
x [LOST 7 EVENTS]
# a comment
CPU:3 a-7 [002] 1.5: h: x=1

a-7 [65535] 1.5: h: x=1

a-7 [65536] 1.5: h: x=1

a-7 [-1] 1.5: h: x=1

a [b] c-7 [000] 1.5: h: x=1

a-7/9 [000] d..2. 1.5: h: x=1

a-7 [000] d..2. x 1.5: h: x=1

a-7 [000] 1.5 h: x=1

a--7 [000] 1.5: h: x=1

a-x [000] 1.5: h: x=1

a7 [000] 1.5: h: x=1

a-7/x [000] 1.5: h: x=1

-7 [000] 1.5: h: x=1

a-7 [000] 1.5: 12345 h: x=1

a-7 [000] 1.5: h x=1

a-7 [000] 1.5: h:
a-7 [000] 1.5: : x=1
a-7 [000] 1.5: a(b): x=1

a-7 [000] 1.5: sys_enter_openat: dfd: 0xffffff9c, filename: "a b", flags: 0x80000, mode: 0x0
a-7 [000] 1.5: sys_exit_openat: 0x3

a-7 [000] 1.5: sys_openat(dfd: 0xffffff9c, filename: 0x7fff1234, flags: 0x80000, mode: 0x0)
a-7 [000] 1.6: sys_openat -> 0xfffffffffffffffe

a-7 [000] 1.5: sys_enter_openat: dfd: 1, x: 1, how
b-8 [000] 1.5: sys_exit_close: 0x0
a-7 [000] 1.5: sys_exit_openat: y

a-7 [000] 1.5: sys_exit_group -> 0x0

a-7 [000] 1.5: sys_exit_group(error_code: 0x1)

a-7 [000] 1.5: sys_enter_read: fd: 3, buf: "x", count: 10
a-7 [000] 1.5: sys_exit_read: 0x10

a-7 [000] 1.5: sched_switch: prev_comm=a b prev_pid=7 prev_state=S ==> next_comm=c next_pid=8 next_prio=120

a-7 [000] 1.5: sched_wakeup: comm=x pid=9 prio=120
a-7 [000] 1.5: sched_wakeup: comm=x prio=120

a-7 [000] 1.5: sched_process_fork: comm=a pid=7 child_comm=b child_pid=8

a-7 [000] 1.5: sched_process_exit: comm=a pid=7

a-7 [000] 1.5: block_rq_issue: 8,0 W 4096 () 1234 + 8 [comm]
a-7 [000] 1.5: block_rq_issue: 8,1 W 4096 () x + 8 [comm]
a-7 [000] 1.5: block_rq_issue: 8,2 W 4096 () 1234 + y [comm]
a-7 [000] 1.5: block_rq_issue: 8,3 W 4096 () x + y + 1 + 8
a-7 [000] 1.5: block_rq_issue: 8,4 W +
a-7 [000] 1.5: block_rq_issue: 8,5 W + 8
a-7 [000] 1.5: block_rq_issue: 8,6 5 + 8
a-7 [000] 1.5: block_rq_issue: 8 W 1 + 8
a-7 [000] 1.5: block_rq_issue: 4096,0 W 1 + 8
a-7 [000] 1.5: block_rq_issue: 4095,1048575 W 1 + 8
a-7 [000] 1.5: block_rq_issue: 8,1048576 W 1 + 8

a-7 [000] 1.5: x:y: a=0x12345678901 b=0x123456789012 c=1234567890123456 saddr=1.2.3.4 daddr_v6=::1 filename=/a comm=c skaddr=0x1 flags=X state=S ret_state=R w=a+0x12 v=a|b u=abc t="q s" r=x,
a-7 [000] 1.5: x:y: nothing

a-7 [000] 1.5: signal_generate: sig=9 errno=0 code=0 comm=b pid=9 grp=1 res=0
`,
	"strace": `1 1.5 a() = 0

[pid 12] 1.5 close(3) = 0
[pid  12] close(4) = 0
[pid 0] close(5) = 0
[pid 12 close(6) = 0
[pid x] close(7) = 0
12<sh> 2.5 close(8) = 0
13<sh 2.5 close(9) = 0
-1 close(10) = 0
0 close(11) = 0
close(12) = 0

7 1.5 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD <unfinished ...>
8 1.6 close(3) = 0
7 1.7 <... clone resumed>, child_tidptr=0x1) = 8
9 1.8 close(3) = 0
7 1.9 clone(child_stack=0x1, flags=CLONE_VM|CLONE_THREAD) = 10
10 2.0 close(3) = 0
10 2.1 clone(child_stack=0x1, flags=CLONE_VM|CLONE_THREAD) = 11
11 2.2 close(3) = 0

7<sh> 1.5 fork( <unfinished ...>
8 1.6 close(3) = 0
7 1.6 close(3) = 0
7 1.7 <... fork resumed>) = 8
9 1.7 close(4) = 0

7 1.5 close(3 <unfinished ...>
8 1.6 close(3) = 0

7 1.5 <... close resumed>) = 0
7 1.6 close(3 <unfinished ...>
7 1.7 <... close ) = 0
7 1.8 <... close resumed>) = 0

7 1.5 openat(AT_FDCWD, <unfinished ...>
7 1.6 <... openat resumed>"/a", O_RDONLY|O_CLOEXEC, 0644) = 3</a>
7 1.7 openat(AT_FDCWD<unfinished ...>
7 1.8 <... openat resumed> , "/a"..., O_RDONLY|NOT_A_FLAG) = -1 ENOENT (No such file or directory)
7 1.9 openat(AT_FDCWD</d>, "/a\x41\101\n\q\x4", 0x0 /* comment */) = -1 EWHAT
7 2.0 openat(NULL, NULL, 18446744073709551615) = 18446744073709551615

7 1.5 --- SIGCHLD {si_signo=SIGCHLD} ---
7 1.5 --- SIGWHAT {si_signo=SIGCHLD} ---
7 1.5 --- stopped ---
7 1.5 +++ exited with 256 +++
7 1.5 +++ exited with x +++
7 1.5 +++ killed by SIGKILL (core dumped) +++
7 1.5 +++ killed by SIGWHAT +++
7 1.5 +++ what +++

7 1.5 execve("/bin/sh", ["sh", "-c", "a $b"], 0x1 /* 3 vars */) = 0
7 1.6 prctl(PR_SET_NAME, "a long name of a thread") = 0
7 1.7 prctl(PR_GET_NAME, "x") = 0
7 1.8 execve("/bin/no", [NULL], NULL) = -1 ENOENT (No)
7 1.9 execve("/bin/no", ["a"

7 1.5 connect(3, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("10.0.0.1")}, 16) = 0
7 1.5 connect(3, {sa_family=AF_INET, sin_port=htons(80)}, 16) = 0
7 1.5 connect(3, {sa_family=AF_INET6, sin6_port=htons(80), inet_pton(AF_INET6, "::2", &sin6_addr)}, 28) = 0
7 1.5 connect(3, {sa_family=AF_INET6, sin6_port=htons(80)}, 28) = 0
7 1.5 connect(3, {sa_family=AF_UNIX, sun_path="/s"}, 110) = 0
7 1.5 connect(3, {sa_family=AF_UNIX, sun_path=@"s"}, 110) = 0
7 1.5 connect(3, {sa_family=AF_UNIX}, 110) = 0
7 1.5 connect(3, {sa_family=AF_X}, 110) = 0

7 1.5 exit_group(3) = ?
7 1.5 no_such_call(3, 4) = 0
7 1.5 close(3) = x
7 1.5 close(3)
7 1.5 close(3) ; 0
7 1.5 close 3 = 0
7 1.5 close({[(3)]}, ")", /* ) */ 5) = 0
7 1.5 close(3 /* ) = 0
7 1.5 read(3, "secret"..., 10) = 6
`,
	"bpftrace": `bpfrun 1 2 3 4 "c" h x=1 y="a b" file=f path=p name=n z=/p comm=k other=t

bpfrun 1 3 3 0 "c" h

bpfrun 9223372036854775807 2147483648 2147483648 2147483648 "c" h

bpfrun 1 2147483649 3 4 "c" h
bpfrun 9223372036854775808 2 3 4 "c" h
bpfrun 1 2 3 "c" h
bpfrun 1 2 3 4 c h
bpfrun 1 2 3 4 "c"
bpfrun 1 2 3 4 "c" "h"
bpfrun 1 2 3 4 "c" a=b
bpfrun 1 2 3 4 "c"  x=1
bpfrum 1 2 3 4 "c" h

bpfrun 1 2 3 4 "` + "\x7f\x1f\x80" + `" h` + "\x7f" + ` ` + "a=\x7f b=\x1f c= d=#" + ` e=$ f=\ g==
`,
}

// TestOddLines: what lines at the limits of their format become, and what is counted.
func TestOddLines(t *testing.T) {
	var all strings.Builder
	for _, format := range []string{"bpftrace", "ftrace", "strace"} {
		for input := range strings.SplitSeq(oddLines[format], "\n\n") {
			got, sum := recorded(t, input, format, Options{})
			fmt.Fprintf(&all, "%s\n%q\n%slines %d, events %d, skipped %d, lost %d, left out %v\n\n", format, strings.Split(strings.TrimSpace(input), "\n"), got,
				sum.Lines, sum.Events, sum.Skipped, sum.Lost, sum.Left)
		}
	}
	// Every rule of redaction alone, on values of all kinds.
	values := `bpfrun 1 2 3 4 "c" h x=1 saddr=16777343 daddr=7 file=/a/./b/../c name=n comm=k other=t text="a b"` + "\n"
	calls := oddLines["strace"]
	for _, rule := range RedactionNames {
		r, err := ParseRedaction([]string{rule})
		require.NoError(t, err)
		got, _ := recorded(t, values, "bpftrace", Options{Redact: r})
		fmt.Fprintf(&all, "%s\n%s", rule, got)
		got, _ = recorded(t, calls, "strace", Options{Redact: r, Hooks: []string{"syscall/execve", "connect", "syscall/opena*"}})
		fmt.Fprintf(&all, "%s\n", got)
	}
	const golden = "testdata/lines.txt"
	if *rewrite.Flag {
		require.NoError(t, os.WriteFile(golden, []byte(all.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), all.String())
}

func TestClockTimes(t *testing.T) {
	for word, want := range map[string]time.Duration{
		"0": 0, "0.5": 500 * time.Millisecond, "1.": time.Second, "1.123456789": 1123456789, "8589934591.0": 8589934591 * time.Second,
		"255:255:1.5": 255*time.Hour + 255*time.Minute + 1500*time.Millisecond, "12:34:56": 12*time.Hour + 34*time.Minute + 56*time.Second,
	} {
		got, ok := clockTime(word)
		assert.True(t, ok, word)
		assert.Equal(t, want, got, word)
	}
	for _, word := range []string{"", ".5", "x", "-1", "1.x", "1.-1", "1.1234567890", "8589934592.0", "256:0:0", "0:256:0", "x:0:0", "0:x:0", "0:0:x", "0:0", "0:0:0:0", "1.0.0"} {
		_, ok := clockTime(word)
		assert.False(t, ok, word)
	}
}

func TestRedactionsByName(t *testing.T) {
	for _, name := range RedactionNames {
		r, err := ParseRedaction([]string{name})
		require.NoError(t, err)
		assert.Equal(t, Redaction{Paths: name == "paths", Comms: name == "comms", Addresses: name == "addresses", Argv: name == "argv"}, r)
	}
	r, err := ParseRedaction([]string{"paths", "all"})
	require.NoError(t, err)
	assert.Equal(t, everything, r)
	_, err = ParseRedaction([]string{"path"})
	assert.Error(t, err)
}

// TestLimitsOfRecordings: the most tasks, hooks that are named and values that are told apart.
func TestLimitsOfRecordings(t *testing.T) {
	var text strings.Builder
	for i := range maxTasks + 2 {
		fmt.Fprintf(&text, "bpfrun 1 %d %d 0 \"\" h%d x=1\n", i+1, i+1, i%(maxOthers+2))
	}
	got, sum := recorded(t, text.String(), "bpftrace", Options{})
	assert.Equal(t, maxTasks, strings.Count(got, "\ntask p")+1)
	assert.Equal(t, 2, strings.Count(got, " task.pid="))
	assert.Empty(t, sum.Others)
	_, sum = recorded(t, text.String(), "bpftrace", Options{Hooks: []string{"none"}})
	assert.Len(t, sum.Others, maxOthers)
	assert.Len(t, slices.Compact(slices.Sorted(slices.Values(sum.Others))), maxOthers)
	assert.Zero(t, sum.Events)
	for limit, want := range map[int]int{1: 1, maxTasks: maxTasks, maxTasks + 2: maxTasks + 2, maxTasks + 3: maxTasks + 2, MaxLimit: maxTasks + 2, MaxLimit + 1: maxTasks + 2, -1: maxTasks + 2, 0: maxTasks + 2} {
		_, sum := recorded(t, text.String(), "bpftrace", Options{Limit: limit})
		assert.Equal(t, want, sum.Events, "limit %d", limit)
		assert.Equal(t, want < maxTasks+2, sum.Cut, "limit %d", limit)
	}
}
