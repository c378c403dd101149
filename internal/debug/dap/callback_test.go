package dap

import (
	"runtime"
	"testing"

	"github.com/google/go-dap"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCallbacksHaveFrames: a function that a helper calls is a frame above the one that called the
// helper.
func TestCallbacksHaveFrames(t *testing.T) {
	c := connect(t)
	launched(t, c, "examples/loop/loop.bpf.o", nil)
	b := c.ask("setFunctionBreakpoints", map[string]any{"breakpoints": []map[string]any{{"name": "climb_one"}}})
	require.True(t, b.(*dap.SetFunctionBreakpointsResponse).Body.Breakpoints[0].Verified)
	c.ask("configurationDone", nil)
	assert.Equal(t, "function breakpoint", c.stopped().Reason)
	frames := c.ask("stackTrace", map[string]any{"threadId": 1}).(*dap.StackTraceResponse).Body.StackFrames
	require.Greater(t, len(frames), 1)
	assert.Contains(t, frames[0].Name, "(called by a helper)")
	assert.NotContains(t, frames[len(frames)-1].Name, "helper")
}

// TestMemoryIsBounded: stops, lists and restarts leave nothing after in a session.
func TestMemoryIsBounded(t *testing.T) {
	c := connect(t)
	launched(t, c, localsObject, map[string]any{"stopOnEntry": true})
	c.ask("configurationDone", nil)
	c.stopped()
	round := func() {
		for range 20 {
			for _, scope := range []string{scopeLocals, scopeGlobals, scopeRegisters, scopeMaps} {
				for _, v := range c.scope(1, scope) {
					if v.VariablesReference != 0 {
						c.children(v.VariablesReference)
					}
				}
			}
			c.ask("next", map[string]any{"threadId": 1})
			c.stopped()
		}
		c.ask("restart", nil)
		c.stopped()
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for range 3 {
		round()
	}
	before := heap()
	for range 30 {
		round()
	}
	const slack = 4 << 20
	assert.Less(t, heap(), before+slack)
}
