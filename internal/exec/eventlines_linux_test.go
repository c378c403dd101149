//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// eventLines are events files, most of them at one side of a limit.
func eventLines() []string {
	long := func(n int) string { return strings.Repeat("x", n) }
	lets := func(n int) string {
		var out strings.Builder
		for i := range n {
			fmt.Fprintf(&out, "let v%d=1\n", i)
		}
		return out.String()
	}
	tasks := func(n int) string {
		var out strings.Builder
		for i := range n {
			fmt.Fprintf(&out, "task t%d pid=1\n", i)
		}
		return out.String()
	}
	files := []string{
		"", "#", "# x\n \n\t", "clock", " clock ", "clock 1", "---", "a\n---\nb\n---", "--- x", "\"\"", "\"", `a b="\"" c="x\\y" d="\`, "a\tb=1", "a b=\"x y\"z", "a \"b=c d\"",
		"a b", "a =1", "a b=", "a b=1 b=2", "a b=0x10 c=-0x10 d=18446744073709551615 e=18446744073709551616 f=-9223372036854775808 g=-9223372036854775809 h=9223372036854775808 i=010 j=0b11 k=1_0",
		"a ret=-ENOENT", "a ret=ENOENT", "a ret=-ENOX", "a ret=-", "a ret=0x10", "a ret=x", "uprobe/f ret=x", "uprobe//b ret=-ENOENT", "uprobe ret=x", "uprobe ret=-EPERM",
		"a repeat=1", "a repeat=0", "a repeat=-1", "a repeat=1000000", "a repeat=1000001", "a repeat=x", "a cpu=3", "a cpu=-1", "a cpu=x", "a cpu=9223372036854775808",
		"a packet=", "a packet=0", "a packet=00:ff", "a packet=:f:f", "a packet=0g",
		"a .x=1", "a x.=1", "a x.y=1 x.z=b", "a task.x=1", "a task.=1", "a x.y.z=1", "a task=1", "a task=@", "a x=@t", "a x=@",
		"pass", "pass 1", "pass 1ns", "pass 0s", "pass -1ns", "pass 1ms 2", "pass 1h", "pass x",
		"let", "let x", "let x=", "let =x", "let x=1 y=$x", "let x=1\nlet y=$x\na b=$y", "let _a9=1\na b=$_a9 c=$_a9x", "let Az=1\na b=${Az}z", "let 9a=1", "let a-b=1", "let a@=1", "let a[=1", "let a`=1", "let a{=1", "let a/=1", "let a:=1",
		"a b=$", "a b=$$", "a b=$$$$", "a b=$1", "a b=x$", "a b=${", "a b=${}", "a b=${+1}", "let x=7\na b=${x", "let x=7\na b=${x}",
		"let x=7\na b=${x+}", "let x=7\na b=${x&1}", "let x=7\na b=${x+-1}", "let x=7\na b=${x+1}", "let x=7\na b=${x+0}", "let x=7\na b=${x-8}", "let x=7\na b=${x*3}", "let x=7\na b=${x*0}", "let x=7\na b=${x/2}", "let x=7\na b=${x/0}", "let x=7\na b=${x%4}",
		"let x=7\na b=${x%0}", "let x=7\na b=${x/1}", "let x=7\na b=${x+0x10}", "let x=y\na b=${x+1}", "let x=y\na b=${x}", "let x=y\na b=$x$x", "let x=0x10\na b=${x+1}",
		"let x=y\n$x b=1", "let x=b=1\na $x", "let x=\"p q\"\na b=$x",
		"task", "task t", "task t pid", "task t pid=1", "task 1 pid=1", "task t =1", "task t comm=x", "task t pid=", "task t pid=1 pid=2\na task=@t", "task t pid=$$\na task=@t",
		"repeat 2\ntask t pid=$i\nend", "let p=4\ntask t pid=$p\na task=@t task.x=1 b=@t b.x=2", "task t pid=1\na task.x=1 task=@t", "task t pid=1\ntask u pid=2\na task=@t task=@u", "task t pid=1\na b.x=1 b=@t", "task t pid=1\na task=t",
		"auto", "auto x", "repeat 2\nauto\nend", "repeat", "repeat 1", "repeat 1 as", "repeat 1 as x", "repeat 0\nend", "repeat 1\nend", "repeat 1000000\nend", "repeat 1000001\nend", "repeat x\nend", "repeat 1 as 1\nend", "repeat 1 as x\na b=$x\nend", "repeat 1 as x\na b=$i\nend",
		"repeat 1 every 1ms\nend", "repeat 1 every 0s\nend", "repeat 1 every x\nend", "repeat 1 x y\nend", "repeat 1 every 1ms as x\na b=$x\nend", "repeat 1 as x as y\na b=$y\nend",
		"repeat 1000\nrepeat 1000\na b=1\nend\nend", "repeat 1000\nrepeat 1001\nend\nend", "repeat 1000\nrepeat 100\na repeat=10\nend\nend", "repeat 1000\nrepeat 100\na repeat=11\nend\nend",
		"repeat 2\n---\nend", "end", "repeat 1\nend x", "repeat 1\nend\nend", "repeat 1\n\nrepeat 1", "repeat 2\na b=$i\na repeat=$i\nend", "repeat 2\na b=${i+1} c=${i*2}\nend", "let i=5\nrepeat 2\na b=$i\nend", "repeat 2 as j\nrepeat 2 as j\na b=$j\nend\nend",
		"repeat 3 every 2ms\na b=$i repeat=2\npass 1ms\nend\n---\nc", "repeat 2\nlet x=$i\na b=$x\nend", "repeat 2\na $i=1\nend", "repeat 2\n$i b=1\nend", "repeat 2\na b=${i/0}\nend", "repeat 2\nsyscall/execve argv=[a$i]\nend",
		strings.Repeat("repeat 1\n", 8) + strings.Repeat("end\n", 8), strings.Repeat("repeat 1\n", 9),
		"syscall/execve argv=[]", "syscall/execve \"argv=[ls -l]\"", "syscall/execve argv=[ls", "syscall/execve argv=ls]", "syscall/execve \"argv=[a \\\" b]\"", "syscall/execve filename=[a] argv=1", "syscall/none a=[b]", "syscall/openat filename=[a]",
		"syscall/connect uservaddr=inet:10.0.0.1:80", "syscall/connect uservaddr=inet:10.0.0.1:80 addrlen=3", "syscall/connect uservaddr=inet6:[fd00::1]:443", "syscall/connect uservaddr=inet6:10.0.0.1:80", "syscall/connect uservaddr=inet:[fd00::1]:80", "syscall/connect uservaddr=inet:10.0.0.1:65536",
		"syscall/connect uservaddr=inet:10.0.0.1", "syscall/connect uservaddr=unix:/a/b", "syscall/connect uservaddr=unix:", "syscall/connect uservaddr=unix:@", "syscall/connect uservaddr=unix:@ab", "syscall/connect uservaddr=ipx:1", "syscall/connect uservaddr=x", "syscall/connect uservaddr=7",
		"syscall/connect uservaddr=unix:" + long(107), "syscall/connect uservaddr=unix:" + long(108), "syscall/connect uservaddr=unix:@" + long(106), "syscall/accept upeer_sockaddr=inet:10.0.0.1:80", "syscall/sendto addr=inet:10.0.0.1:80", "connect uservaddr=inet:10.0.0.1:80",
		"a s=tcp:10.0.0.1:1", "a s=tcp:10.0.0.1:1-10.0.0.2:2", "a s=tcp:", "a s=tcp:10.0.0.1", "a s=tcp:10.0.0.1:1-", "a s=tcp:10.0.0.1:1-[::1]:2", "a s=tcp:[::1]:1-10.0.0.1:2", "a s=udp:10.0.0.1:1", "a s=udp:[::1]:1-[::2]:2", "a s=tcp:10.0.0.1:1,listen", "a s=tcp:10.0.0.1:1,", "a s=tcp:10.0.0.1:1,x",
		"a s=tcp:10.0.0.1:1,established", "a s=tcp:10.0.0.1:1,new_syn_recv", "a s=udp:10.0.0.1:1,close", "a s=sctp:10.0.0.1:1", "syscall/close fd=tcp:10.0.0.1:1", "uprobe s=tcp:10.0.0.1:1", "uprobes s=tcp:10.0.0.1:1", "a ret=tcp:10.0.0.1:1", "a s=tcp:10.0.0.1:1 t=tcp:10.0.0.1:1",
		lets(4096), lets(4097), lets(4096) + "let v1=2\na b=$v1", tasks(4096), tasks(4097), tasks(4096) + "task t1 pid=2\na task=@t1",
		"task t pid=1" + fieldsOfATask(63), "task t pid=1" + fieldsOfATask(64), "let x=" + long(1<<15) + "\na b=$x$x", "let x=" + long(1<<15) + "\na b=$x${x}y", "let x=" + long(1<<15-1) + "\na b=$x$x", "let x=" + long(1<<15-1) + "\nlet y=z\na b=$x$x$y", "a b=" + long(1<<20-5), "a b=" + long(1<<20), "\n\na b=" + long(1<<20),
		strings.Repeat("\n", 1<<20), strings.Repeat("\n", 1<<20) + "a", "\"---\"", "repeat 1\n--- x\nend",
	}
	return files
}

// described says what an events file says, or what is wrong with it.
func described(text string) string {
	ev, err := ReadEvents(strings.NewReader(text))
	if err != nil {
		return err.Error()
	}
	var out []string
	if ev.Clock {
		out = append(out, "clock")
	}
	for _, step := range ev.Steps {
		out = append(out, fmt.Sprintf("step of %d", len(step)))
	}
	happens := 0
	err = ev.Each(func(l Line) error {
		if happens++; happens > 12 {
			return nil
		}
		e := &l.Event
		said := fmt.Sprintf("%d %q", l.Number, e.Hook)
		for _, x := range []struct {
			is   bool
			text string
		}{{l.Repeat != 1, fmt.Sprint(" repeat ", l.Repeat)}, {l.Pass != 0, fmt.Sprint(" pass ", l.Pass)}, {l.Auto, " auto"}, {e.CPU != 0, fmt.Sprint(" cpu ", e.CPU)}, {e.Packet != nil, fmt.Sprintf(" packet %x", e.Packet)}} {
			if x.is {
				said += x.text
			}
		}
		for _, name := range slices.Sorted(maps.Keys(e.Args)) {
			verb := "%v"
			if _, text := e.Args[name].([]byte); text {
				verb = "%q"
			}
			said += fmt.Sprintf(" %s=%T("+verb+")", name, e.Args[name], e.Args[name])
		}
		if e.Task != nil {
			said += fmt.Sprintf(" task %v", e.Task)
		}
		if e.Tasks != nil {
			said += fmt.Sprintf(" tasks %v", e.Tasks)
		}
		for _, name := range slices.Sorted(maps.Keys(e.Sockets)) {
			said += fmt.Sprintf(" %s %d %+v", name, e.Sockets[name].Inode, e.Sockets[name].Info)
		}
		out = append(out, said)
		return nil
	})
	if err != nil {
		out = append(out, err.Error())
	}
	if happens > 12 {
		out = append(out, fmt.Sprintf("happens %d times", happens))
	}
	return strings.Join(out, "; ")
}

// TestEventLinesAtTheirLimits compares what many events files say, or the words of the mistake,
// with a table.
func TestEventLinesAtTheirLimits(t *testing.T) {
	short := func(s string) string {
		for _, c := range []string{"x", "X"} {
			for i := strings.Index(s, strings.Repeat(c, 100)); i >= 0; i = strings.Index(s, strings.Repeat(c, 100)) {
				n := len(s[i:]) - len(strings.TrimLeft(s[i:], c))
				s = fmt.Sprintf("%s(%d of %s)%s", s[:i], n, c, s[i+n:])
			}
		}
		if len(s) > 600 {
			s = fmt.Sprintf("%s ... %s (%d bytes)", s[:80], s[len(s)-80:], len(s))
		}
		return s
	}
	var lines []string
	for _, text := range eventLines() {
		lines = append(lines, fmt.Sprintf("%q\t%s", short(text), short(described(text))))
	}
	path, got := filepath.Join("testdata", "eventlines.txt"), strings.Join(lines, "\n")+"\n"
	if *rewrite.Flag {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, strings.Split(string(want), "\n"), strings.Split(got, "\n"))
}
