package dap

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-dap"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/debug"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

const root = "../../.."

// launcher opens objects of the repository on the embedded kernel. The option prog is the program,
// max-insns bounds the run.
func launcher(t testing.TB) Launcher {
	return Launcher{Options: []string{"prog", "btf", "max-insns"}, Open: func(_ context.Context, object string, options []Option, out io.Writer) (*Launched, error) {
		data, err := os.ReadFile(filepath.Join(root, filepath.Clean("/"+object)))
		if err != nil {
			return nil, fmt.Errorf("no object %s", object)
		}
		obj, err := loader.OpenBytes(filepath.Base(object), data)
		if err != nil {
			return nil, err
		}
		spec, err := embedded.Spec()
		if err != nil {
			return nil, err
		}
		name, prog := embedded.Name, ""
		cfg := machine.Config{Seed: 1, Boot: time.Hour, MaxInsns: 1e9}
		for _, o := range options {
			switch o.Name {
			case "prog":
				prog = o.Value
			case "btf":
				name = o.Value
				fmt.Fprintf(out, "kernel %s\n", name)
			case "max-insns":
				if _, err := fmt.Sscan(o.Value, &cfg.MaxInsns); err != nil {
					return nil, err
				}
			}
		}
		linked, err := obj.Load(loader.NewTarget(name, spec), loader.LoadOptions{})
		if err != nil {
			return nil, err
		}
		s, err := debug.New(linked, debug.Config{Machine: cfg, ELF: data, SourceDirs: []string{root, root + "/internal"}})
		if err != nil {
			return nil, err
		}
		return &Launched{Session: s, Program: prog}, nil
	}}
}

// client is an editor: it writes requests and reads what comes, with go-dap.
type client struct {
	t    testing.TB
	conn net.Conn
	r    *bufio.Reader
	seq  int
	// log is the transcript, nil for none; events are those since the last response that was waited
	// for.
	log    *strings.Builder
	events []dap.EventMessage
	ended  chan error
}

// connect starts a server for one client.
func connect(t testing.TB) *client {
	t.Helper()
	here, there := net.Pipe()
	c := &client{t: t, conn: here, r: bufio.NewReader(here), ended: make(chan error, 1)}
	l := launcher(t)
	go func() {
		err := l.Serve(context.Background(), there)
		there.Close()
		c.ended <- err
	}()
	t.Cleanup(func() { here.Close() })
	return c
}

// record notes a message in the transcript, without what differs between machines.
func (c *client) record(direction string, m any) {
	if c.log == nil {
		return
	}
	b, err := json.Marshal(m)
	require.NoError(c.t, err)
	abs, err := filepath.Abs(root)
	require.NoError(c.t, err)
	fmt.Fprintf(c.log, "%s %s\n", direction, strings.ReplaceAll(string(b), abs, "ROOT"))
}

// request sends a request by name.
func (c *client) request(command string, args any) int {
	c.t.Helper()
	c.seq++
	m := map[string]any{"seq": c.seq, "type": "request", "command": command}
	if args != nil {
		m["arguments"] = args
	}
	c.record("->", m)
	b, err := json.Marshal(m)
	require.NoError(c.t, err)
	c.raw(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(b), b))
	return c.seq
}

// raw sends bytes. The pipe has no buffer, so that a server which stopped reading would block.
func (c *client) raw(text string) {
	c.t.Helper()
	require.NoError(c.t, c.conn.SetWriteDeadline(time.Now().Add(20*time.Second)))
	_, err := io.WriteString(c.conn, text)
	require.NoError(c.t, err)
}

// next reads a message.
func (c *client) next() dap.Message {
	c.t.Helper()
	require.NoError(c.t, c.conn.SetReadDeadline(time.Now().Add(20*time.Second)))
	m, err := dap.ReadProtocolMessage(c.r)
	require.NoError(c.t, err)
	c.record("<-", m)
	return m
}

// response waits for the answer to a request.
func (c *client) response(seq int) dap.ResponseMessage {
	c.t.Helper()
	for {
		switch m := c.next().(type) {
		case dap.ResponseMessage:
			require.Equal(c.t, seq, m.GetResponse().RequestSeq, "%#v", m)
			return m
		case dap.EventMessage:
			c.events = append(c.events, m)
		}
	}
}

// ask sends a request and returns the answer, which must be good.
func (c *client) ask(command string, args any) dap.ResponseMessage {
	c.t.Helper()
	m := c.response(c.request(command, args))
	require.True(c.t, m.GetResponse().Success, "%s: %s", command, m.GetResponse().Message)
	return m
}

// refused sends a request and returns the reason it is refused for.
func (c *client) refused(command string, args any) string {
	c.t.Helper()
	m := c.response(c.request(command, args))
	require.False(c.t, m.GetResponse().Success, command)
	return m.GetResponse().Message
}

// event waits for an event by name.
func (c *client) event(name string) dap.EventMessage {
	c.t.Helper()
	for {
		for i, e := range c.events {
			if e.GetEvent().Event == name {
				c.events = c.events[i+1:]
				return e
			}
		}
		c.events = nil
		m, ok := c.next().(dap.EventMessage)
		require.True(c.t, ok, "a response where the event %s was waited for", name)
		c.events = append(c.events, m)
	}
}

func (c *client) stopped() dap.StoppedEventBody {
	c.t.Helper()
	return c.event("stopped").(*dap.StoppedEvent).Body
}

// top is the innermost frame.
func (c *client) top() dap.StackFrame {
	c.t.Helper()
	return c.ask("stackTrace", map[string]any{"threadId": 1}).(*dap.StackTraceResponse).Body.StackFrames[0]
}

// scope lists the variables of a scope of a frame.
func (c *client) scope(frame int, name string) []dap.Variable {
	c.t.Helper()
	for _, s := range c.ask("scopes", map[string]any{"frameId": frame}).(*dap.ScopesResponse).Body.Scopes {
		if s.Name == name {
			return c.children(s.VariablesReference)
		}
	}
	return nil
}

func (c *client) children(ref int) []dap.Variable {
	c.t.Helper()
	return c.ask("variables", map[string]any{"variablesReference": ref}).(*dap.VariablesResponse).Body.Variables
}

// eval evaluates an expression in the innermost frame.
func (c *client) eval(expr, context string) string {
	c.t.Helper()
	return c.ask("evaluate", map[string]any{"expression": expr, "context": context}).(*dap.EvaluateResponse).Body.Result
}

func find(t testing.TB, list []dap.Variable, name string) dap.Variable {
	t.Helper()
	for _, v := range list {
		if v.Name == name {
			return v
		}
	}
	t.Fatalf("no variable %s in %v", name, list)
	return dap.Variable{}
}

const localsObject = "internal/debug/testdata/locals-O1-dwarf5.o"

func localsSource(t testing.TB) map[string]any {
	abs, err := filepath.Abs(filepath.Join(root, "internal/debug/testdata/locals.bpf.c"))
	require.NoError(t, err)
	return map[string]any{"path": abs}
}

// launched begins a session up to where breakpoints are set.
func launched(t testing.TB, c *client, object string, more map[string]any) {
	t.Helper()
	c.ask("initialize", map[string]any{"adapterID": "bpfrun", "clientID": "test", "linesStartAt1": true, "columnsStartAt1": true, "supportsVariableType": true})
	args := map[string]any{"object": object}
	for k, v := range more {
		args[k] = v
	}
	c.ask("launch", args)
	c.event("initialized")
}

func newReader(data []byte) *bufio.Reader { return bufio.NewReader(strings.NewReader(string(data))) }
