package dap

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-dap"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// TestTranscript is a whole session: what an editor sends, and what comes back.
func TestTranscript(t *testing.T) {
	c := connect(t)
	c.log = &strings.Builder{}
	launched(t, c, localsObject, map[string]any{"name": "locals", "type": "bpfrun", "request": "launch", "__sessionId": "x"})
	c.ask("setBreakpoints", map[string]any{"source": localsSource(t), "breakpoints": []map[string]any{
		{"line": 45},
		{"line": 62, "logMessage": "i = {i}, sum = {sum} \\{done\\}"},
		{"line": 62, "condition": "i == 2"},
		{"line": 9999},
		{"line": 45, "condition": "(("},
	}})
	c.ask("setFunctionBreakpoints", map[string]any{"breakpoints": []map[string]any{{"name": "square"}, {"name": "sqare"}}})
	c.ask("setExceptionBreakpoints", map[string]any{"filters": []string{"fault"}})
	c.ask("configurationDone", nil)
	c.stopped()
	c.ask("threads", nil)
	frames := c.ask("stackTrace", map[string]any{"threadId": 1}).(*dap.StackTraceResponse).Body.StackFrames
	for _, f := range frames {
		c.scope(f.Id, scopeLocals)
	}
	c.ask("continue", map[string]any{"threadId": 1})
	c.stopped()
	locals := c.scope(c.top().Id, scopeLocals)
	c.children(find(t, locals, "shape").VariablesReference)
	c.children(find(t, locals, "list").VariablesReference)
	c.eval("shape.dx + n", "watch")
	c.eval("p/x sum", "repl")
	c.eval("sum", "hover")
	c.ask("setVariable", map[string]any{"variablesReference": 1, "name": "sum", "value": "7"})
	c.ask("completions", map[string]any{"frameId": 1, "text": "shape.", "column": 7})
	c.ask("next", map[string]any{"threadId": 1})
	c.stopped()
	c.ask("stepBack", map[string]any{"threadId": 1})
	c.stopped()
	c.ask("continue", map[string]any{"threadId": 1})
	c.stopped()
	top := c.top()
	c.ask("disassemble", map[string]any{"memoryReference": top.InstructionPointerReference, "instructionOffset": -2, "instructionCount": 5})
	c.ask("stepOut", map[string]any{"threadId": 1})
	c.stopped()
	c.ask("continue", map[string]any{"threadId": 1})
	c.event("terminated")
	c.ask("disconnect", nil)
	golden := "testdata/locals.golden"
	if *rewrite.Flag {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, []byte(c.log.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), c.log.String())
}

func TestStepsByInstructionBothWays(t *testing.T) {
	c := connect(t)
	launched(t, c, localsObject, map[string]any{"stopOnEntry": true})
	c.ask("configurationDone", nil)
	assert.Equal(t, "entry", c.stopped().Reason)
	var there []string
	for range 8 {
		there = append(there, c.top().InstructionPointerReference)
		c.ask("stepIn", map[string]any{"threadId": 1, "granularity": "instruction"})
		assert.Equal(t, "step", c.stopped().Reason)
	}
	for i := len(there) - 1; i >= 0; i-- {
		c.ask("stepBack", map[string]any{"threadId": 1, "granularity": "instruction"})
		c.stopped()
		assert.Equal(t, there[i], c.top().InstructionPointerReference)
	}
	c.ask("reverseContinue", map[string]any{"threadId": 1})
	assert.Equal(t, "entry", c.stopped().Reason)
}

func TestHitConditions(t *testing.T) {
	for _, tc := range []struct {
		cond string
		hits []int // which of the four comes stop
	}{{"2", []int{2, 3, 4}}, {"== 3", []int{3}}, {"% 2", []int{2, 4}}, {"> 3", []int{4}}, {"<=2", []int{1, 2}}} {
		t.Run(tc.cond, func(t *testing.T) {
			c := connect(t)
			launched(t, c, localsObject, nil)
			b := c.ask("setBreakpoints", map[string]any{"source": localsSource(t), "breakpoints": []map[string]any{{"line": 62, "hitCondition": tc.cond}}})
			require.True(t, b.(*dap.SetBreakpointsResponse).Body.Breakpoints[0].Verified)
			c.ask("configurationDone", nil)
			for _, n := range tc.hits {
				assert.Equal(t, "breakpoint", c.stopped().Reason)
				assert.Equal(t, fmt.Sprint(n-1), c.eval("i", "watch"))
				c.ask("continue", map[string]any{"threadId": 1})
			}
			c.event("terminated")
		})
	}
}

func TestDataBreakpoints(t *testing.T) {
	c := connect(t)
	launched(t, c, localsObject, map[string]any{"stopOnEntry": true})
	c.ask("configurationDone", nil)
	c.stopped()
	globals := c.scope(1, scopeGlobals)
	seen := find(t, globals, "seen")
	info := c.ask("dataBreakpointInfo", map[string]any{"variablesReference": seen.VariablesReference, "name": "delta"}).(*dap.DataBreakpointInfoResponse).Body
	assert.Equal(t, "seen.delta", info.DataId)
	b := c.ask("setDataBreakpoints", map[string]any{"breakpoints": []map[string]any{{"dataId": "seen.delta", "accessType": "write"}}})
	id := b.(*dap.SetDataBreakpointsResponse).Body.Breakpoints[0].Id
	c.ask("continue", map[string]any{"threadId": 1})
	st := c.stopped()
	assert.Equal(t, "data breakpoint", st.Reason)
	assert.Equal(t, []int{id}, st.HitBreakpointIds)
	assert.Contains(t, st.Text, "seen.delta: 0 -> -3")
	// A condition that does not hold does not stop.
	c.ask("setDataBreakpoints", map[string]any{"breakpoints": []map[string]any{{"dataId": "seen.sum", "condition": "seen.sum == 1"}}})
	c.ask("continue", map[string]any{"threadId": 1})
	c.event("terminated")
}

func TestInstructionBreakpoint(t *testing.T) {
	c := connect(t)
	launched(t, c, localsObject, map[string]any{"stopOnEntry": true})
	c.ask("configurationDone", nil)
	c.stopped()
	ip := c.top().InstructionPointerReference
	code := c.ask("disassemble", map[string]any{"memoryReference": ip, "instructionCount": 4}).(*dap.DisassembleResponse).Body.Instructions
	b := c.ask("setInstructionBreakpoints", map[string]any{"breakpoints": []map[string]any{{"instructionReference": code[3].Address}, {"instructionReference": "0x10"}}})
	list := b.(*dap.SetInstructionBreakpointsResponse).Body.Breakpoints
	assert.True(t, list[0].Verified)
	assert.False(t, list[1].Verified)
	c.ask("continue", map[string]any{"threadId": 1})
	assert.Equal(t, "instruction breakpoint", c.stopped().Reason)
	assert.Equal(t, list[0].InstructionReference, c.top().InstructionPointerReference)
}

// TestDisassemblyExplainsRelocations: instructions with a CO-RE relocation show what it became on
// the kernel.
func TestDisassemblyExplainsRelocations(t *testing.T) {
	c := connect(t)
	launched(t, c, "examples/exec/exec.bpf.o", map[string]any{"stopOnEntry": true})
	c.ask("configurationDone", nil)
	c.stopped()
	all := c.ask("disassemble", map[string]any{"memoryReference": c.top().InstructionPointerReference, "instructionCount": 60}).(*dap.DisassembleResponse).Body.Instructions
	notes := ""
	for _, in := range all {
		if _, note, ok := strings.Cut(in.Instruction, "; CO-RE "); ok {
			notes += note + "\n"
		}
	}
	assert.Contains(t, notes, "task_struct")
}

func TestFaultStopsWithExplanation(t *testing.T) {
	c := connect(t)
	launched(t, c, "testdata/objects/clang-14/faults.o", map[string]any{"prog": "err_null_lookup"})
	c.ask("configurationDone", nil)
	st := c.stopped()
	assert.Equal(t, "exception", st.Reason)
	assert.NotEmpty(t, st.Text)
	info := c.ask("exceptionInfo", map[string]any{"threadId": 1}).(*dap.ExceptionInfoResponse).Body
	assert.Equal(t, st.Text, info.Description)
	assert.NotEmpty(t, info.Details.StackTrace)
	c.ask("stepBack", map[string]any{"threadId": 1})
	assert.Equal(t, "step", c.stopped().Reason)
	c.ask("continue", map[string]any{"threadId": 1})
	assert.Equal(t, "exception", c.stopped().Reason)
	c.ask("continue", map[string]any{"threadId": 1})
	assert.Equal(t, 4, c.event("exited").(*dap.ExitedEvent).Body.ExitCode)
}

// slow makes the program of long.o take seconds: a condition is evaluated in each iteration.
func slow(c *client) {
	c.t.Helper()
	b := c.ask("setFunctionBreakpoints", map[string]any{"breakpoints": []map[string]any{{"name": "long.bpf.c:13", "condition": "x == 3"}}})
	require.True(c.t, b.(*dap.SetFunctionBreakpointsResponse).Body.Breakpoints[0].Verified)
}

// TestPause: what runs is interrupted; breakpoints are set while it runs.
func TestPause(t *testing.T) {
	c := connect(t)
	launched(t, c, "internal/debug/testdata/long.o", map[string]any{"stopOnEntry": true})
	c.ask("configurationDone", nil)
	c.stopped()
	slow(c)
	c.ask("continue", map[string]any{"threadId": 1})
	c.ask("threads", nil)
	assert.Contains(t, c.refused("stackTrace", map[string]any{"threadId": 1}), "running")
	time.Sleep(50 * time.Millisecond) // so that it gets somewhere
	c.ask("pause", map[string]any{"threadId": 1})
	assert.Equal(t, "pause", c.stopped().Reason)
	require.NotZero(t, c.top().Line)
	at := c.eval("$insns", "watch")
	c.ask("reverseContinue", map[string]any{"threadId": 1})
	assert.Equal(t, "entry", c.stopped().Reason)
	assert.NotEqual(t, at, c.eval("$insns", "watch"))
}

func TestRestartOnAnotherKernel(t *testing.T) {
	c := connect(t)
	launched(t, c, localsObject, nil)
	b := c.ask("setBreakpoints", map[string]any{"source": localsSource(t), "breakpoints": []map[string]any{{"line": 45}}})
	id := b.(*dap.SetBreakpointsResponse).Body.Breakpoints[0].Id
	c.ask("configurationDone", nil)
	c.stopped()
	c.ask("restart", nil)
	assert.Equal(t, []int{id}, c.stopped().HitBreakpointIds)
	c.ask("restart", map[string]any{"arguments": map[string]any{"object": localsObject, "btf": "another"}})
	assert.Equal(t, []int{id}, c.stopped().HitBreakpointIds)
	assert.Equal(t, "another", c.eval("`kernel", "repl"))
	assert.Equal(t, 45, c.top().Line)
}

func TestStopOnExit(t *testing.T) {
	c := connect(t)
	launched(t, c, localsObject, map[string]any{"stopOnExit": true})
	c.ask("configurationDone", nil)
	st := c.stopped()
	assert.Equal(t, "exit", st.Reason)
	assert.Contains(t, c.top().Name, "locals returned ")
	assert.Contains(t, find(t, c.scope(endFrame, scopeGlobals), "seen").Value, "delta")
	c.ask("stepBack", map[string]any{"threadId": 1})
	c.stopped()
	assert.Equal(t, "locals", c.top().Name)
	c.ask("continue", map[string]any{"threadId": 1})
	c.stopped()
	c.ask("continue", map[string]any{"threadId": 1})
	c.event("terminated")
}

// TestMaps: elements are listed lazily, and can be set.
func TestMapsAndKernelObjects(t *testing.T) {
	c := connect(t)
	launched(t, c, "examples/exec/exec.bpf.o", map[string]any{"stopOnExit": true, "stopOnEntry": true})
	c.ask("configurationDone", nil)
	c.stopped()
	task := find(t, c.scope(1, scopeKernel), "current")
	assert.Contains(t, task.Value, "task_struct")
	members := c.children(task.VariablesReference)
	require.Greater(t, len(members), 100)
	tgid := find(t, members, "tgid")
	if tgid.PresentationHint != nil && tgid.PresentationHint.Lazy {
		tgid = c.children(tgid.VariablesReference)[0]
	}
	assert.Equal(t, c.eval("current->tgid", "watch"), tgid.Value)
	c.ask("continue", map[string]any{"threadId": 1})
	c.stopped()
	maps := c.scope(endFrame, scopeMaps)
	require.NotEmpty(t, maps)
	for _, m := range maps {
		if m.VariablesReference != 0 {
			assert.NotEmpty(t, c.children(m.VariablesReference), m.Name)
		}
	}
}

func TestTwoSessionsAtOnce(t *testing.T) {
	a, b := connect(t), connect(t)
	for _, c := range []*client{a, b} {
		launched(t, c, localsObject, map[string]any{"stopOnEntry": true})
		c.ask("configurationDone", nil)
		c.stopped()
	}
	a.ask("next", map[string]any{"threadId": 1})
	a.stopped()
	assert.Equal(t, "0", b.eval("$insns", "watch"))
	a.ask("evaluate", map[string]any{"expression": "seen.delta = 5", "context": "repl"})
	assert.Equal(t, "0", b.eval("seen.delta", "watch"))
	assert.Equal(t, "5", a.eval("seen.delta", "watch"))
	a.conn.Close()
	require.NoError(t, <-a.ended)
	b.ask("next", map[string]any{"threadId": 1})
	b.stopped()
}

// TestOutOfOrder: a request that comes too early or twice is refused, and the session continues.
func TestOutOfOrder(t *testing.T) {
	c := connect(t)
	assert.Contains(t, c.refused("launch", map[string]any{"object": localsObject}), "before initialize")
	c.ask("initialize", map[string]any{"adapterID": "bpfrun"})
	assert.Contains(t, c.refused("initialize", map[string]any{"adapterID": "bpfrun"}), "once")
	assert.Contains(t, c.refused("stackTrace", map[string]any{"threadId": 1}), "nothing has been launched")
	assert.Contains(t, c.refused("configurationDone", nil), "nothing has been launched")
	assert.Contains(t, c.refused("attach", map[string]any{}), "launch an object")
	assert.Contains(t, c.refused("launch", map[string]any{"object": "no.o"}), "no object")
	assert.Contains(t, c.refused("launch", map[string]any{}), "no object given")
	assert.Contains(t, c.refused("launch", map[string]any{"object": localsObject, "prgo": "x"}), "nearest: prog")
	assert.Contains(t, c.refused("launch", []int{1}), "not a JSON object")
	c.ask("launch", map[string]any{"object": localsObject, "stopOnEntry": true})
	assert.Contains(t, c.refused("launch", map[string]any{"object": localsObject}), "already")
	assert.Contains(t, c.refused("continue", map[string]any{"threadId": 1}), "configurationDone")
	c.ask("configurationDone", nil)
	c.stopped()
	assert.Contains(t, c.refused("configurationDone", nil), "once")
	assert.Contains(t, c.refused("variables", map[string]any{"variablesReference": 77}), "earlier stop")
	assert.Contains(t, c.refused("scopes", map[string]any{"frameId": 77}), "no frame")
	assert.Contains(t, c.refused("runInTerminal", map[string]any{}), "not supported")
	assert.Contains(t, c.refused("nonsense", nil), "not supported")
	assert.Contains(t, c.refused("setBreakpoints", map[string]any{"breakpoints": 3}), "malformed request")
	c.raw(frame(`{"seq":1000,"type":"event","event":"stopped"}`))
	assert.Contains(t, c.event("output").(*dap.OutputEvent).Body.Output, "not a request")
	c.raw(frame(`{"seq":`))
	assert.Contains(t, c.event("output").(*dap.OutputEvent).Body.Output, "ignored a message")
	assert.NotZero(t, c.top().Line)
}

func frame(text string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(text), text) }

// TestBadFrames: where the next message begins is not known, so the session ends, with the reason.
func TestBadFrames(t *testing.T) {
	for name, tc := range map[string]struct{ text, why string }{
		"no header":      {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "is not a message header"},
		"no length":      {"Content-Type: x\r\n\r\n", "without Content-Length"},
		"length is text": {"Content-Length: many\r\n\r\n", "is not a message length"},
		"negative":       {"Content-Length: -5\r\n\r\n", "is not a message length"},
		"too large":      {"Content-Length: 99999999\r\n\r\n", "the limit is"},
		"far too large":  {"Content-Length: 99999999999999999999\r\n\r\n", "is not a message length"},
		"endless header": {strings.Repeat("x", 5000), "exceeds 256 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t)
			c.ask("initialize", map[string]any{"adapterID": "bpfrun"})
			go func() { _, _ = c.conn.Write([]byte(tc.text)) }()
			assert.Contains(t, c.event("output").(*dap.OutputEvent).Body.Output, tc.why)
			c.event("terminated")
			var frame *FrameError
			assert.ErrorAs(t, <-c.ended, &frame)
		})
	}
}

// TestClientVanishes: the session ends wherever the client was, also while a program runs.
func TestClientVanishes(t *testing.T) {
	running := func(c *client) {
		launched(t, c, "internal/debug/testdata/long.o", nil)
		slow(c)
		c.ask("configurationDone", nil)
	}
	for name, before := range map[string]func(c *client){
		"at once":             func(*client) {},
		"after launch":        func(c *client) { launched(t, c, localsObject, nil) },
		"while it runs":       running,
		"within a message":    func(c *client) { running(c); c.raw("Content-Length: 100\r\n\r\n{") },
		"within a header":     func(c *client) { running(c); c.raw("Content-Len") },
		"with requests to do": func(c *client) { running(c); c.request("threads", nil); c.request("threads", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t)
			before(c)
			c.conn.Close()
			select {
			case <-c.ended:
			case <-time.After(20 * time.Second):
				t.Fatal("the session goes on")
			}
		})
	}
}

// TestLaunchArguments: options come by their names, with capitals for hyphens, as texts, numbers,
// lists and pairs.
func TestLaunchArguments(t *testing.T) {
	a, err := parseArguments([]byte(`{"object":"x.o","sourceMap":{"/a":"/b","/c":"/d"},"pcap-index":12,"global":["a=1","b=2"],"strict":true,
		"stopOnExit":true,"__session":1,"type":"bpfrun"}`), []string{"source-map", "pcap-index", "global", "strict"})
	require.NoError(t, err)
	assert.Equal(t, &arguments{object: "x.o", stopOnExit: true, options: []Option{
		{"global", "a=1"}, {"global", "b=2"}, {"pcap-index", "12"}, {"source-map", "/a=/b"}, {"source-map", "/c=/d"}, {"strict", "true"},
	}}, a)
	for _, bad := range []string{`{"object":3.5e}`, `{"object":"x","stopOnExit":1}`, `{"object":"x","strict":[[1]]}`, `[]`, `null`, `{"object":"x","strict":{"a":{}}}`} {
		_, err := parseArguments([]byte(bad), []string{"strict"})
		assert.Error(t, err, bad)
	}
}

func TestLogMessages(t *testing.T) {
	got, err := splitLog(`a {b} {c[{x = 1}]} \{d\}`)
	require.NoError(t, err)
	assert.Equal(t, []piece{{text: "a "}, {"b", true}, {text: " "}, {"c[{x = 1}]", true}, {text: " {d}"}}, got)
	_, err = splitLog("a {b")
	assert.Error(t, err)
}

// TestPartsOfTheStack: clients ask for frames from one on, and so many; the total is that of all.
func TestPartsOfTheStack(t *testing.T) {
	c := connect(t)
	launched(t, c, localsObject, nil)
	c.ask("setFunctionBreakpoints", map[string]any{"breakpoints": []map[string]any{{"name": "square"}}})
	c.ask("configurationDone", nil)
	c.stopped()
	stack := func(start, levels int) dap.StackTraceResponseBody {
		return c.ask("stackTrace", map[string]any{"threadId": 1, "startFrame": start, "levels": levels}).(*dap.StackTraceResponse).Body
	}
	all := stack(0, 0)
	require.Greater(t, len(all.StackFrames), 1)
	last := len(all.StackFrames) - 1
	for _, tt := range []struct{ start, levels, from, to int }{
		{0, 1, 0, 1}, {1, 1, 1, 2}, {last, 9, last, last + 1}, {last + 1, 1, 0, 0}, {last + 9, 0, 0, 0}, {-1, 1, 0, 1}, {-9, 0, 0, last + 1},
	} {
		got := stack(tt.start, tt.levels)
		assert.Equal(t, all.StackFrames[tt.from:tt.to], got.StackFrames, "%+v", tt)
		assert.Equal(t, last+1, got.TotalFrames, "%+v", tt)
	}
}
