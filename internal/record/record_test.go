package record

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/ceiling"
	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

var everything = Redaction{true, true, true, true}

// inputs returns the path of text in a format, written by hand.
func inputs(format string) string {
	if format == "strace" {
		return "../../examples/exec/trace.strace"
	}
	return "testdata/" + format + ".txt"
}

func recorded(t *testing.T, text, format string, opt Options) (string, Summary) {
	t.Helper()
	var out bytes.Buffer
	r := NewRecorder(&out, opt)
	got, err := Read(strings.NewReader(text), format, r)
	require.NoError(t, err)
	if format != "" {
		assert.Equal(t, format, got)
	}
	sum, err := r.Close()
	require.NoError(t, err)
	return out.String(), sum
}

// TestTracesBecomeEvents: what each format's text becomes, as it is and with all private data
// replaced, is in golden files.
func TestTracesBecomeEvents(t *testing.T) {
	for _, format := range []string{"strace", "perf", "ftrace", "bpftrace"} {
		t.Run(format, func(t *testing.T) {
			text, err := os.ReadFile(inputs(format))
			require.NoError(t, err)
			for suffix, opt := range map[string]Options{"": {}, ".redacted": {Redact: everything}} {
				got, _ := recorded(t, string(text), "", opt)
				golden := "testdata/" + format + suffix + ".events"
				if *rewrite.Flag {
					require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
				}
				want, err := os.ReadFile(golden)
				require.NoError(t, err)
				assert.Equal(t, string(want), got)
			}
		})
	}
}

// TestPrivateDataIsReplaced: no private word of an input is in a redacted file, and the data of
// read is in none.
func TestPrivateDataIsReplaced(t *testing.T) {
	text, err := os.ReadFile(inputs("strace"))
	require.NoError(t, err)
	plain, sum := recorded(t, string(text), "strace", Options{})
	assert.NotContains(t, plain, "secret")
	assert.Equal(t, 1, sum.Left["syscall/read buf"])
	private := []string{"ld.so.cache", "no/such", "a b", "93.184", "2001:db8", "app.sock", "worker", "cat", "sh -c"}
	redacted, _ := recorded(t, string(text), "strace", Options{Redact: everything})
	for _, p := range private {
		assert.Contains(t, plain, p)
		assert.NotContains(t, redacted, p)
	}
	assert.Equal(t, strings.Count(plain, "\n"), strings.Count(redacted, "\n"), "the same events")
}

// TestAddressesAsNumbersAreReplaced: scripts print the addresses of IPv4 as they are in memory.
func TestAddressesAsNumbersAreReplaced(t *testing.T) {
	text := `bpfrun 1 0 0 0 "" tcp_connect saddr=0x0100007f daddr=3232235777 daddr=0 addrlen=16` + "\n"
	got, _ := recorded(t, text+text, "", Options{Redact: Redaction{Addresses: true}})
	number := binary.NativeEndian.Uint32([]byte{10, 0, 0, 1})
	line := fmt.Sprintf("tcp_connect saddr=%d daddr=%d daddr=0 addrlen=16\n", 0x0100007f, number)
	assert.Equal(t, line+line, got)
}

func TestSummariesCount(t *testing.T) {
	ftrace, err := os.ReadFile("testdata/ftrace.txt")
	require.NoError(t, err)
	_, sum := recorded(t, string(ftrace), "ftrace", Options{})
	assert.Equal(t, 17, sum.Lost)
	assert.Equal(t, 1, sum.Skipped)
	assert.Equal(t, 5, sum.Events)
	got, sum := recorded(t, string(ftrace), "ftrace", Options{Hooks: []string{"syscall/*"}, Limit: 1, Untimed: true})
	assert.Equal(t, 1, sum.Events)
	assert.True(t, sum.Cut)
	assert.NotContains(t, got, "pass ")
}

// TestEveryFileOfEventsCanBeRead: what a trace has and lines of events say in another way, or not
// at all, is left out and counted.
func TestEveryFileOfEventsCanBeRead(t *testing.T) {
	for text, want := range map[string]string{
		`bpfrun 1 7 7 0 "a" hook repeat=1000000 task=q packet=zz cpu=3 ret=much x=1`: "task p7 pid=7 comm=a\nhook x=1 task=@p7\n",
		`bpfrun 1 0 0 0 "" auto`:         "",
		`bpfrun 1 0 0 0 "" clock`:        "",
		`bpfrun 1 0 0 0 "" end`:          "",
		`bpfrun 1 0 0 0 "" let x=1`:      "",
		`bpfrun 1 0 0 0 "" #x y=1`:       "\"#x\" y=1\n",
		`bpfrun 1 0 0 0 "" hook ret=-17`: "hook ret=-17\n",
		`bpfrun 1 0 0 0 "" hook x=` + strings.Repeat("$", maxValue+1) + " y=1": "hook y=1\n",
		`bpfrun 1 0 0 0 "" ` + strings.Repeat("h", maxName+1):                  "",
		`bpfrun 1 0 0 0 "" hook ` + strings.Repeat("n", maxName+1) + "=1":      "hook\n",
	} {
		got, sum := recorded(t, text, "", Options{})
		assert.Equal(t, want, got, "%.100s", text)
		assert.Equal(t, strings.Contains(text, "ret=-17") || strings.Contains(text, "#x"), len(sum.Left) == 0, "%.100s", text)
	}
}

// TestLinesAreReadInTheirLength: a line without end does not take the square of its length.
func TestLinesAreReadInTheirLength(t *testing.T) {
	start := time.Now()
	for format, text := range map[string]string{"ftrace": "x" + strings.Repeat(" [", 500_000) + "]", "bpftrace": `bpfrun 1 0 0 0 "" h ` + strings.Repeat("=", 1_000_000), "strace": "1 1.5 x(" + strings.Repeat("/**/", 250_000)} {
		_, _ = recorded(t, strings.Repeat(text+"\n", 4), format, Options{})
	}
	assert.Less(t, time.Since(start), 20*time.Second, "milliseconds; minutes if it did")
}

func pcap(packets ...string) string {
	var b bytes.Buffer
	for _, v := range []uint32{0xa1b2c3d4, 2 | 4<<16, 0, 0, 65535, 1} {
		_ = binary.Write(&b, binary.LittleEndian, v)
	}
	for i, p := range packets {
		for _, v := range []uint32{1700000000, uint32(i) * 1000, uint32(len(p)), uint32(len(p))} {
			_ = binary.Write(&b, binary.LittleEndian, v)
		}
		b.WriteString(p)
	}
	return b.String()
}

func TestCapturesBecomePackets(t *testing.T) {
	got, sum := recorded(t, pcap("aaaaaabbbbbb\x08\x00x", "ccccccbbbbbb\x08\x00y"), "", Options{PacketHook: "tcx_ingress"})
	assert.Equal(t, "tcx_ingress packet=616161616161626262626262080078\npass 1ms\ntcx_ingress packet=636363636363626262626262080079\n", got)
	assert.Equal(t, 2, sum.Events)
	_, err := Read(strings.NewReader(pcap("aaaaaabbbbbb\x08\x00x")), "", NewRecorder(&bytes.Buffer{}, Options{Redact: Redaction{Addresses: true}}))
	assert.ErrorIs(t, err, ErrPackets)
}

// TestHooksThatAreLeftOutAreNamed: a --hook without events is a mistyped one, and the summary has
// what it could have been.
func TestHooksThatAreLeftOutAreNamed(t *testing.T) {
	text, err := os.ReadFile(inputs("strace"))
	require.NoError(t, err)
	got, sum := recorded(t, string(text), "", Options{Hooks: []string{"syscall/connec"}})
	assert.Empty(t, got)
	assert.Zero(t, sum.Events)
	assert.Contains(t, sum.Others, "syscall/connect")
	assert.LessOrEqual(t, len(sum.Others), maxOthers)
	_, sum = recorded(t, string(text), "", Options{})
	assert.Empty(t, sum.Others)
}

func TestADirectoryWithoutTracefsIsNamed(t *testing.T) {
	l := Live{Tracefs: t.TempDir(), Instance: "one", Events: []string{"sched:sched_switch"}}
	err := l.Record(t.Context(), NewRecorder(&bytes.Buffer{}, Options{}))
	assert.ErrorIs(t, err, ErrNoTracefs)
	assert.ErrorIs(t, err, ErrLive)
}

func TestWrongInputsAreRefused(t *testing.T) {
	for text, format := range map[string]string{"nothing known\n": "", "": "", "x": "morse"} {
		_, err := Read(strings.NewReader(text), format, NewRecorder(&bytes.Buffer{}, Options{}))
		assert.ErrorIs(t, err, ErrInput, "%q", text)
	}
	_, err := ParseRedaction([]string{"paths", "names"})
	assert.ErrorContains(t, err, `no rule "names": want paths, comms, addresses, argv or all`)
}

// tracefs makes a directory that behaves as an instance of tracefs: it comes with its files.
func tracefs(t *testing.T, pipe string) (Live, string) {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "instances"), 0o700))
	removed := false
	l := Live{
		Tracefs: root, Instance: "bpfrun-test", Events: []string{"sched:sched_switch", "signal:signal_generate"}, BufferKB: 64,
		mkdir: func(dir string) error {
			for _, f := range []string{"buffer_size_kb", "events/sched/sched_switch/enable", "events/signal/signal_generate/enable"} {
				f = filepath.Join(dir, f)
				if err := os.MkdirAll(filepath.Dir(f), 0o700); err != nil {
					return err
				}
				if err := os.WriteFile(f, []byte("0"), 0o600); err != nil {
					return err
				}
			}
			return os.WriteFile(filepath.Join(dir, "trace_pipe"), []byte(pipe), 0o600)
		},
		rmdir: func(string) error { removed = true; return nil },
	}
	t.Cleanup(func() { assert.True(t, removed, "the instance is removed") })
	return l, filepath.Join(root, "instances", "bpfrun-test")
}

// TestLiveRecordingsRestoreWhatTheySetUp: whether a recording ends by time, by its limit or by an
// error, its events are switched off and its instance is removed.
func TestLiveRecordingsRestoreWhatTheySetUp(t *testing.T) {
	text, err := os.ReadFile("testdata/ftrace.txt")
	require.NoError(t, err)
	for _, tt := range []struct {
		name   string
		limit  int
		events []string
		want   string
	}{
		{"time", 0, nil, ""},
		{"limit", 2, nil, ""},
		{"an event that the kernel lacks", 0, []string{"sched:sched_switch", "sched:nothing"}, "sched/nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, dir := tracefs(t, string(text))
			if tt.events != nil {
				l.Events = tt.events
			}
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			var out bytes.Buffer
			r := NewRecorder(&out, Options{Limit: tt.limit})
			err := l.Record(ctx, r)
			sum, _ := r.Close()
			if tt.want != "" {
				assert.ErrorContains(t, err, tt.want)
			} else {
				require.NoError(t, err)
				assert.Equal(t, map[int]int{0: 5, 2: 2}[tt.limit], sum.Events)
				assert.Contains(t, out.String(), "sched_switch prev.pid=1234 prev.comm=bash")
			}
			on, err := os.ReadFile(filepath.Join(dir, "events/sched/sched_switch/enable"))
			require.NoError(t, err)
			assert.Equal(t, "0", string(on))
			size, err := os.ReadFile(filepath.Join(dir, "buffer_size_kb"))
			require.NoError(t, err)
			assert.Equal(t, "64", string(size))
		})
	}
	l := Live{Tracefs: t.TempDir(), Instance: "x", Events: []string{"../enable:x"}}
	assert.ErrorIs(t, l.Record(t.Context(), NewRecorder(&bytes.Buffer{}, Options{})), ErrLive)
}

// TestMemoryDoesNotFollowTheInput: processes, calls and lines without end.
func TestMemoryDoesNotFollowTheInput(t *testing.T) {
	ceiling.Check(t, 64<<20, func() {
		var text strings.Builder
		for i := range 40_000 {
			text.WriteString("[pid " + strings.Repeat("1", 1+i%8) + "] 1.5 openat(AT_FDCWD, \"" + strings.Repeat("x", i%100) + "\" <unfinished ...>\n")
		}
		_, _ = Read(strings.NewReader(text.String()), "strace", NewRecorder(&bytes.Buffer{}, Options{}))
		_, _ = Read(strings.NewReader(strings.Repeat("a", 8<<20)), "perf", NewRecorder(&bytes.Buffer{}, Options{}))
	})
}

func FuzzRead(f *testing.F) {
	for _, format := range Formats {
		text, err := os.ReadFile(inputs(format))
		if err != nil {
			text = []byte(pcap("aaaaaabbbbbb\x08\x00x"))
		}
		f.Add(text, format)
	}
	f.Fuzz(func(t *testing.T, text []byte, format string) {
		var out bytes.Buffer
		r := NewRecorder(&out, Options{Redact: Redaction{Comms: format != "pcap"}})
		_, _ = Read(bytes.NewReader(text), format, r)
		if _, err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if bytes.ContainsAny(out.Bytes(), "\x00\r\x1b") {
			t.Fatalf("control characters: %q", out.String())
		}
	})
}
