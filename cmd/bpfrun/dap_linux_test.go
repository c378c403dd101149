package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-dap"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// editor is a client that writes requests and reads what comes.
type editor struct {
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
	seq  int
}

// do sends a request and returns the messages up to its answer, and then up to an event, "" for
// none.
func (e *editor) do(command string, args any, event string) (dap.ResponseMessage, []dap.Message) {
	e.t.Helper()
	e.seq++
	b, err := json.Marshal(map[string]any{"seq": e.seq, "type": "request", "command": command, "arguments": args})
	require.NoError(e.t, err)
	require.NoError(e.t, dap.WriteBaseMessage(e.conn, b))
	var resp dap.ResponseMessage
	var seen []dap.Message
	for resp == nil || event != "" {
		require.NoError(e.t, e.conn.SetReadDeadline(time.Now().Add(30*time.Second)))
		m, err := dap.ReadProtocolMessage(e.r)
		require.NoError(e.t, err)
		seen = append(seen, m)
		switch m := m.(type) {
		case dap.ResponseMessage:
			resp = m
		case dap.EventMessage:
			if m.GetEvent().Event == event {
				event = ""
			}
		}
	}
	return resp, seen
}

func (e *editor) ok(command string, args any, event string) (dap.ResponseMessage, []dap.Message) {
	e.t.Helper()
	resp, seen := e.do(command, args, event)
	require.True(e.t, resp.GetResponse().Success, "%s: %s", command, resp.GetResponse().Message)
	return resp, seen
}

func (e *editor) eval(expr string) string {
	e.t.Helper()
	resp, _ := e.ok("evaluate", map[string]any{"expression": expr, "context": "watch"}, "")
	return resp.(*dap.EvaluateResponse).Body.Result
}

// onTCP starts bpfrun dap --listen and returns its address.
func onTCP(t *testing.T) string {
	t.Helper()
	out := &lines{found: make(chan string, 1), look: regexp.MustCompile(`listening at: (\S+)\n`)}
	done := make(chan int, 1)
	go func() { done <- run([]string{"dap", "--listen", "127.0.0.1:0"}, out, &bytes.Buffer{}) }()
	t.Cleanup(func() {
		require.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGINT))
		assert.Equal(t, exitInterrupted, <-done)
	})
	select {
	case addr := <-out.found:
		return addr
	case <-time.After(30 * time.Second):
		t.Fatal("no address")
	}
	return ""
}

// lines looks for the address in what is written.
type lines struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	found chan string
	look  *regexp.Regexp
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf.Write(b)
	if m := l.look.FindSubmatch(l.buf.Bytes()); m != nil {
		select {
		case l.found <- string(m[1]):
		default:
		}
	}
	return len(b), nil
}

func dial(t *testing.T, addr string) *editor {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	e := &editor{t: t, conn: conn, r: bufio.NewReader(conn)}
	e.ok("initialize", map[string]any{"adapterID": "bpfrun"}, "")
	return e
}

// TestDAPLaunches: everything bpfrun debug opens can be launched: a program, a run of a scenario, a
// test inside an object, a packet of a capture, on a kernel of the user's choice.
func TestDAPLaunches(t *testing.T) {
	addr := onTCP(t)
	const root = "../../"
	for name, tc := range map[string]struct {
		args    map[string]any
		expr    string
		want    string
		program string
	}{
		"program": {map[string]any{"object": root + "examples/xdp/xdp.bpf.o", "prog": "filter"}, "ctx->data_end - ctx->data", "64", "filter on CPU 0"},
		"packet":  {map[string]any{"object": root + "examples/xdp/xdp.bpf.o", "packet": "eth/ip(ttl=63)/tcp(dport=80)"}, "pkt.ip.ttl", "63", "filter on CPU 0"},
		"scenario": {map[string]any{"object": root + "examples/xdp/xdp.bpf.o", "scenario": root + "examples/xdp/xdp.yaml", "prog": "telnet is dropped"},
			"pkt.tcp.dport", "23", "filter on CPU 0"},
		"capture": {map[string]any{"object": root + "examples/firewall/firewall.bpf.o", "pcap": root + "examples/firewall/traffic.pcapng", "pcapIndex": 2},
			"sizeof(int)", "4", ""},
		"test inside": {map[string]any{"object": root + "testdata/objects/clang-14/intest_xdp.o", "test": "encapsulated/check"}, "sizeof(int)", "4", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := dial(t, addr)
			tc.args["btf"], tc.args["stopOnEntry"], tc.args["type"] = "embedded", true, "bpfrun"
			e.ok("launch", tc.args, "initialized")
			e.ok("configurationDone", nil, "stopped")
			got := e.eval(tc.expr)
			assert.True(t, strings.HasPrefix(got, tc.want), "%s", got)
			if tc.program != "" {
				resp, _ := e.ok("threads", nil, "")
				assert.Equal(t, tc.program, resp.(*dap.ThreadsResponse).Body.Threads[0].Name)
			}
			_, seen := e.ok("continue", map[string]any{"threadId": 1}, "terminated")
			assert.Contains(t, fmt.Sprint(texts(seen)), "returned")
			e.ok("disconnect", nil, "")
		})
	}
	t.Run("mistakes", func(t *testing.T) {
		e := dial(t, addr)
		for _, tc := range []struct {
			args map[string]any
			want string
		}{
			{map[string]any{"object": "nothing.o"}, "nothing.o"},
			{map[string]any{"object": root + "examples/xdp/xdp.bpf.o", "prog": "fliter"}, "no such program"},
			{map[string]any{"object": root + "examples/xdp/xdp.bpf.o", "btf": "nowhere.btf"}, "nowhere.btf"},
			{map[string]any{"object": root + "examples/xdp/xdp.bpf.o", "execute": "run"}, "unknown attribute"},
			{map[string]any{"object": root + "testdata/objects/clang-14/intest_xdp.o", "test": "fresh"}, "fresh_one"},
			{map[string]any{"object": "--help"}, "--help"},
		} {
			resp, _ := e.do("launch", tc.args, "")
			require.False(t, resp.GetResponse().Success)
			assert.Contains(t, resp.GetResponse().Message, tc.want)
		}
	})
}

func texts(list []dap.Message) []string {
	var out []string
	for _, m := range list {
		if o, ok := m.(*dap.OutputEvent); ok {
			out = append(out, o.Body.Output)
		}
	}
	return out
}

// TestDAPListensToThisMachineAlone: other machines are let in on request only.
func TestDAPListensToThisMachineAlone(t *testing.T) {
	for _, addr := range []string{":0", "0.0.0.0:0", "[::]:0", "nonsense"} {
		var stderr bytes.Buffer
		assert.Equal(t, exitUsage, run([]string{"dap", "--listen", addr}, &bytes.Buffer{}, &stderr), addr)
		assert.Contains(t, stderr.String(), "listen", addr)
	}
}
