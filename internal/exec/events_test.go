package exec

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/testing/ceiling"
)

func TestEventsAreReadInSteps(t *testing.T) {
	ev, err := ReadEvents(strings.NewReader(`# what happens
clock
syscall/openat filename="/etc/a b" ret=-ENOENT task.comm=cat task.pid=0x10
pass 10ms
---
do_unlinkat repeat=3 cpu=1
xdp packet=ff:00
`))
	require.NoError(t, err)
	assert.True(t, ev.Clock)
	require.Len(t, ev.Steps, 2)
	assert.Equal(t, bpfsys.Event{
		Hook: "syscall/openat", Args: map[string]any{"filename": "/etc/a b", "ret": int64(-2)}, Task: map[string]any{"comm": "cat", "pid": int64(16)},
	}, ev.Steps[0][0].Event)
	assert.Equal(t, 10*time.Millisecond, ev.Steps[0][1].Pass)
	assert.Equal(t, 3, ev.Steps[1][0].Repeat)
	assert.Equal(t, 1, ev.Steps[1][0].Event.CPU)
	assert.Equal(t, []byte{0xff, 0}, ev.Steps[1][1].Event.Packet)
}

func TestMistakesInEventsAreRefusedWithTheirLine(t *testing.T) {
	for text, want := range map[string]string{
		"hook x":           `line 1: "x": want name=value`,
		"\nhook repeat=0":  "line 2: repeat: want 1 to",
		"hook packet=zz":   "line 1: packet:",
		`hook a="b`:        `line 1: unterminated "`,
		"pass":             `line 1: want "pass DURATION"`,
		"pass -1s":         "line 1: the duration must be positive",
		"hook cpu=much":    "line 1: cpu:",
		"hook ret=abc":     `line 1: ret: "abc" is neither a number nor an error`,
		"\nhook ret=-ENOX": `line 2: ret: "-ENOX" is neither`,

		"tcp_close sk=tcp:10.0.0.1":                    `line 1: sk: "tcp:10.0.0.1": want tcp:10.0.0.1:34567-10.0.0.2:80`,
		"tcp_close sk=tcp:10.0.0.1:1-[fd00::1]:2":      "line 1: sk:",
		"tcp_close sk=tcp:10.0.0.1:1,closed":           `line 1: sk: "closed" is not a TCP state: use one of established, syn_sent`,
		"tcp_close sk=udp:[fd00::1]:70000-[fd00::2]:1": "line 1: sk:",
	} {
		_, err := ReadEvents(strings.NewReader(text))
		require.ErrorIs(t, err, ErrEvents)
		assert.ErrorContains(t, err, want)
	}
}

// TestEventsNameSockets: a socket with its addresses; equal texts are the same one. Arguments of
// system calls and of functions of programs are texts.
func TestEventsNameSockets(t *testing.T) {
	at := netip.MustParseAddrPort
	for text, want := range map[string]bpfsys.SocketInfo{
		"tcp:10.0.0.1:34567-10.0.0.2:80":     {Family: 2, Type: 1, Protocol: 6, State: tcpEstablished, Local: at("10.0.0.1:34567"), Remote: at("10.0.0.2:80")},
		"tcp:0.0.0.0:22":                     {Family: 2, Type: 1, Protocol: 6, State: tcpListen, Local: at("0.0.0.0:22")},
		"tcp:10.0.0.1:1-10.0.0.2:2,syn_sent": {Family: 2, Type: 1, Protocol: 6, State: tcpSynSent, Local: at("10.0.0.1:1"), Remote: at("10.0.0.2:2")},
		"udp:[fd00::1]:53":                   {Family: 10, Type: 2, Protocol: 17, State: tcpClose, Local: at("[fd00::1]:53")},
		"udp:[fd00::1]:53-[fd00::2]:4000":    {Family: 10, Type: 2, Protocol: 17, State: tcpEstablished, Local: at("[fd00::1]:53"), Remote: at("[fd00::2]:4000")},
	} {
		l, err := ParseLine("inet_csk_accept ret=" + text + " sk=" + text)
		require.NoError(t, err)
		sk := l.Event.Sockets["ret"]
		assert.Equal(t, sk, l.Event.Sockets["sk"])
		assert.NotZero(t, sk.Info.Cookie)
		sk.Info.Cookie = 0
		assert.Equal(t, want, sk.Info, text)
	}
	a, err := ParseLine("h a=tcp:10.0.0.1:1-10.0.0.2:2 b=tcp:10.0.0.1:1-10.0.0.2:2,close c=tcp:10.0.0.1:1-10.0.0.2:3")
	require.NoError(t, err)
	assert.Equal(t, a.Event.Sockets["a"].Inode, a.Event.Sockets["b"].Inode)
	assert.NotEqual(t, a.Event.Sockets["a"].Inode, a.Event.Sockets["c"].Inode)
	l, err := ParseLine("syscall/openat filename=tcp:10.0.0.1")
	require.NoError(t, err)
	assert.Equal(t, "tcp:10.0.0.1", l.Event.Args["filename"])
	l, err = ParseLine("uprobe//bin/a ret=udp:x")
	require.NoError(t, err)
	assert.Equal(t, "udp:x", l.Event.Args["ret"])
}

func FuzzParseLine(f *testing.F) {
	f.Add(`syscall/openat filename="a b" ret=-2 task.pid=1 repeat=2 packet=00`)
	f.Add("pass 1h")
	f.Add(`h a="\`)
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ParseLine(text)
		if err == nil && l.Pass == 0 && (l.Repeat < 1 || l.Event.Hook == "" && !strings.Contains(text, `"`)) {
			t.Fatalf("%q: %+v", text, l)
		}
	})
}

// TestLoopsVariablesAndTasks: a file says once what it says often.
func TestLoopsVariablesAndTasks(t *testing.T) {
	ev, err := ReadEvents(strings.NewReader(`let dir=/srv/www port=8000
task web pid=80 tgid=79 comm=nginx
repeat 3 every 1ms
  syscall/openat filename=$dir/page$i ret=${i+3} task=@web
  repeat 2 as j
    hook a=$i b=$j c=${port+1} price=$$5 prompt=bash$
  end
end
sched_switch prev=@web next.pid=7 task=@web task.comm=worker
auto
`))
	require.NoError(t, err)
	step := ev.Steps[0]
	require.Len(t, step, 8)
	assert.Equal(t, &Loop{Count: 3, Every: time.Millisecond, Var: "i"}, step[0].Loop)
	web := map[string]any{"pid": int64(80), "tgid": int64(79), "comm": "nginx"}
	l, err := step[1].bind([]running{{loop: step[0].Loop, times: 2}})
	require.NoError(t, err)
	assert.Equal(t, bpfsys.Event{Hook: "syscall/openat", Args: map[string]any{"filename": "/srv/www/page2", "ret": int64(5)}, Task: web}, l.Event)
	l, err = step[3].bind([]running{{loop: step[0].Loop, times: 2}, {loop: step[2].Loop, times: 1}})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"a": int64(2), "b": int64(1), "c": int64(8001), "price": "$5", "prompt": "bash$"}, l.Event.Args)
	assert.True(t, step[4].End && step[5].End)
	assert.Equal(t, map[string]map[string]any{"prev": web, "next": {"pid": int64(7)}}, step[6].Event.Tasks)
	assert.Equal(t, map[string]any{"pid": int64(80), "tgid": int64(79), "comm": "worker"}, step[6].Event.Task)
	assert.True(t, step[7].Auto)
}

func TestMistakesInDeclarationsAreRefusedWithTheirLine(t *testing.T) {
	for text, want := range map[string]string{
		"repeat 3\nhook":                     "line 1: the loop has no end",
		"end":                                "line 1: end without a loop",
		"repeat many\nend":                   "line 1: repeat many: want 1 to",
		"repeat 2 at 1ms\nend":               `line 1: want "repeat N`,
		"repeat 2 every soon\nend":           `line 1: "soon" is not a duration`,
		"repeat 2 as 9\nend":                 `line 1: "9" is not a name`,
		"repeat 2000\nhook repeat=1000\nend": "line 2: a line may happen at most 1000000 times, this one happens 2000000 times",
		"repeat 2000\nrepeat 1000\nend\nend": "line 2: lines may happen at most 1000000 times",
		strings.Repeat("repeat 1\n", 9):      "line 9: more than 8 loops",
		"repeat 2\n---\nend":                 "line 2: a step cannot end in a loop",
		"repeat 2\nauto\nend":                "line 2: auto cannot stand in a loop",
		"hook a=$x":                          "line 1: there is no variable x",
		"hook a=${x":                         "line 1: ${ without }",
		"let x=1\nhook a=${x/0}":             "line 2: ${x/0} divides by zero",
		"let x=a\nhook a=${x+1}":             `line 2: x is "a", not a number`,
		"let x=1\nhook a=${x^1}":             "line 2: ${x^1}: want a name",
		"let 1=x":                            `line 1: "1=x": want NAME=VALUE`,
		"task web comm=x":                    "line 1: want \"task NAME pid=N comm=TEXT ...\": a task needs a pid",
		"hook task=@web":                     `line 1: task: "@web" is no task`,
		"let a=" + strings.Repeat("x", 40000) + "\nhook b=$a$a": "line 2: a word is longer than",
	} {
		_, err := ReadEvents(strings.NewReader(text))
		require.ErrorIs(t, err, ErrEvents, text)
		assert.ErrorContains(t, err, want)
	}
}

// TestEventsFilesAreBounded: whatever a file declares, its memory follows its length.
func TestEventsFilesAreBounded(t *testing.T) {
	text := "let a=" + strings.Repeat("x", 1000) + "\n"
	for range 40 {
		text += "let a=$a$a\n"
	}
	_, err := ReadEvents(strings.NewReader(text))
	assert.ErrorContains(t, err, "a word is longer than")
	ceiling.Check(t, 600<<20, func() {
		for _, text := range []string{
			"let v=" + strings.Repeat("x", 60_000) + "\n" + strings.Repeat("hook"+strings.Repeat(" a=$v", 1000)+"\n", 100),
			"task t pid=1" + fieldsOfATask(60) + "\n" + strings.Repeat("hook task=@t task.x=1 p=@t p.x=1\n", 200_000),
		} {
			_, err := ReadEvents(strings.NewReader(text))
			assert.ErrorContains(t, err, "have 64 MiB more")
		}
		ev, err := ReadEvents(strings.NewReader("task t pid=1" + fieldsOfATask(60) + "\n" + strings.Repeat("hook task=@t p=@t\n", 50_000)))
		require.NoError(t, err)
		assert.Len(t, ev.Steps[0][0].Event.Task, 61)
	})
	_, err = ReadEvents(strings.NewReader("task t pid=1" + fieldsOfATask(64)))
	assert.ErrorContains(t, err, "more than 64 fields")
}

func fieldsOfATask(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, " f%d=1", i)
	}
	return out.String()
}

// TestTasksAreNotChangedByTheLinesThatNameThem: a line that sets a field of a declared task sets it
// for itself.
func TestTasksAreNotChangedByTheLinesThatNameThem(t *testing.T) {
	ev, err := ReadEvents(strings.NewReader("task t pid=1 comm=a$$b$$\nhook task.x=1 task=@t task.comm=c p=@t p.pid=2\nhook task=@t p=@t\n"))
	require.NoError(t, err)
	declared := map[string]any{"pid": int64(1), "comm": "a$b$"}
	assert.Equal(t, map[string]any{"pid": int64(1), "comm": "c", "x": int64(1)}, ev.Steps[0][0].Event.Task)
	assert.Equal(t, map[string]any{"pid": int64(2), "comm": "a$b$"}, ev.Steps[0][0].Event.Tasks["p"])
	assert.Equal(t, declared, ev.Steps[0][1].Event.Task)
	assert.Equal(t, declared, ev.Steps[0][1].Event.Tasks["p"])
}

func FuzzReadEvents(f *testing.F) {
	f.Add("let a=1\ntask t pid=$a\nrepeat 3 as n every 1ms\nhook x=${n+1} task=@t\nend\n---\nauto\n")
	f.Add("repeat 2\nrepeat 2\nhook a=$i$$\nend\nend\n")
	f.Fuzz(func(t *testing.T, text string) {
		ev, err := ReadEvents(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, step := range ev.Steps {
			var open []running
			for _, l := range step {
				switch {
				case l.Loop != nil:
					open = append(open, running{loop: l.Loop, times: l.Loop.Count - 1})
				case l.End:
					open = open[:len(open)-1]
				default:
					_, _ = l.bind(open)
				}
			}
			if len(open) > 0 {
				t.Fatalf("%q: %d loops have no end", text, len(open))
			}
		}
	})
}
