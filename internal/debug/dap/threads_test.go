package dap

import (
	"fmt"
	"testing"

	"github.com/google/go-dap"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const cpusObject = "internal/debug/testdata/cpus.o"

func (c *client) topOf(thread int) dap.StackFrame {
	c.t.Helper()
	return c.ask("stackTrace", map[string]any{"threadId": thread}).(*dap.StackTraceResponse).Body.StackFrames[0]
}

// evalIn evaluates an expression in a frame.
func (c *client) evalIn(frame int, expr string) string {
	c.t.Helper()
	return c.ask("evaluate", map[string]any{"expression": expr, "frameId": frame, "context": "watch"}).(*dap.EvaluateResponse).Body.Result
}

// TestThreads: each CPU is a thread that steps alone; two lose an update, and going back brings it
// back.
func TestThreads(t *testing.T) {
	c := connect(t)
	launched(t, c, cpusObject, map[string]any{"prog": "count", "stopOnEntry": true, "onCpu": map[string]string{"1": "count"}})
	c.ask("configurationDone", nil)
	assert.Equal(t, 1, c.stopped().ThreadId)
	assert.Equal(t, []dap.Thread{{Id: 1, Name: "count on CPU 0"}, {Id: 2, Name: "count on CPU 1"}}, c.ask("threads", nil).(*dap.ThreadsResponse).Body.Threads)
	step := func(command string, thread int) {
		t.Helper()
		c.ask(command, map[string]any{"threadId": thread, "granularity": "instruction"})
		assert.Equal(t, thread, c.stopped().ThreadId)
	}
	at := func(thread int) string { return c.evalIn(c.topOf(thread).Id, "$pc") }
	for range 10 { // up to the store
		step("next", 1)
		step("next", 2)
	}
	assert.Equal(t, []string{"11", "11"}, []string{at(1), at(2)})
	step("next", 1)
	assert.Equal(t, []string{"12", "11"}, []string{at(1), at(2)})
	frames := []int{c.topOf(1).Id, c.topOf(2).Id}
	assert.NotEqual(t, frames[0], frames[1])
	assert.Equal(t, []string{"0", "1"}, []string{c.evalIn(frames[0], "$cpu"), c.evalIn(frames[1], "$cpu")})
	assert.NotEqual(t, c.evalIn(frames[0], "$r10"), c.evalIn(frames[1], "$r10"))
	assert.Equal(t, "1", find(t, c.scope(frames[1], scopeRegisters), "r1").Value)
	assert.Equal(t, "1", c.evalIn(frames[0], "hits[0]"))
	step("next", 2)
	assert.Equal(t, "1", c.evalIn(frames[0], "hits[0]"), "one update is lost")
	step("stepBack", 2)
	step("stepBack", 1)
	assert.Equal(t, "0", c.evalIn(c.topOf(1).Id, "hits[0]"))
	assert.Equal(t, []string{"11", "11"}, []string{at(1), at(2)})

	assert.Contains(t, c.refused("next", map[string]any{"threadId": 3}), "no thread 3")
	assert.Contains(t, c.refused("stackTrace", map[string]any{"threadId": 9}), "no thread 9")
	// The program of one ends, that of the other stands.
	body := c.ask("continue", map[string]any{"threadId": 1}).(*dap.ContinueResponse).Body
	assert.False(t, body.AllThreadsContinued)
	assert.Equal(t, dap.ThreadEventBody{Reason: "exited", ThreadId: 1}, c.event("thread").(*dap.ThreadEvent).Body)
	st := c.stopped()
	assert.Equal(t, []any{2, "pause"}, []any{st.ThreadId, st.Reason})
	assert.Contains(t, c.refused("next", map[string]any{"threadId": 1}), "has ended")
	c.ask("continue", map[string]any{"threadId": 2})
	assert.Zero(t, c.event("exited").(*dap.ExitedEvent).Body.ExitCode)
	c.event("terminated")
}

// TestThreadWaitsForALock, and says so.
func TestThreadWaitsForALock(t *testing.T) {
	c := connect(t)
	launched(t, c, cpusObject, map[string]any{"prog": "count_locked", "onCpu": map[string]string{"1": "count_locked"}})
	c.ask("setFunctionBreakpoints", map[string]any{"breakpoints": []map[string]any{{"name": "cpus.bpf.c:71"}}})
	c.ask("configurationDone", nil)
	assert.Equal(t, 1, c.stopped().ThreadId)
	c.ask("continue", map[string]any{"threadId": 2})
	st := c.stopped()
	assert.Equal(t, 2, st.ThreadId)
	assert.Contains(t, st.Text, "CPU 1 waits for the lock")
	c.ask("continue", map[string]any{"threadId": 1})
	assert.Equal(t, 2, c.stopped().ThreadId)
	c.ask("continue", map[string]any{"threadId": 2})
	assert.Equal(t, "function breakpoint", c.stopped().Reason)
	c.ask("continue", map[string]any{"threadId": 2})
	c.event("terminated")
}

// TestThreadsWithoutDebugging run one after the other; a program started from the console joins
// those that stand.
func TestThreadsWithoutDebugging(t *testing.T) {
	c := connect(t)
	launched(t, c, cpusObject, map[string]any{"prog": "report", "noDebug": true, "onCpu": map[string]string{"1": "oops"}})
	c.ask("configurationDone", nil)
	assert.Equal(t, 4, c.event("exited").(*dap.ExitedEvent).Body.ExitCode)

	c = connect(t)
	launched(t, c, cpusObject, map[string]any{"prog": "report", "stopOnEntry": true})
	c.ask("configurationDone", nil)
	c.stopped()
	c.eval("run count on cpu 1", "repl")
	assert.Equal(t, 2, c.stopped().ThreadId)
	assert.Len(t, c.ask("threads", nil).(*dap.ThreadsResponse).Body.Threads, 2)
	c.eval("cpu 0", "repl")
	assert.Equal(t, 1, c.stopped().ThreadId)
}

func TestOnCPUThatCannotBe(t *testing.T) {
	for text, why := range map[string]string{
		`{"x": "count"}`: "want programs by CPU", `{"-1": "count"}`: "want programs by CPU", `{"1": 3}`: "want programs by CPU", `["count"]`: "want programs by CPU",
	} {
		_, err := parseArguments(fmt.Appendf(nil, `{"object": "x.o", "onCpu": %s}`, text), nil)
		assert.ErrorContains(t, err, why, text)
	}
	for cpu, why := range map[string]string{"7": "the machine has 2", "0": "in the middle of its run"} {
		c := connect(t)
		launched(t, c, cpusObject, map[string]any{"prog": "count", "stopOnEntry": true, "onCpu": map[string]string{cpu: "count"}})
		c.ask("configurationDone", nil)
		require.Contains(t, c.event("output").(*dap.OutputEvent).Body.Output, why)
		c.event("terminated")
	}
}
