package exec

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/bpfsys"
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
	} {
		_, err := ReadEvents(strings.NewReader(text))
		require.ErrorIs(t, err, ErrEvents)
		assert.ErrorContains(t, err, want)
	}
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
