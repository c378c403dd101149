package dap

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-dap"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/debug/repl"
)

// TestFlood: a client that sends without waiting gets an answer to each request, and what waits is
// bounded.
func TestFlood(t *testing.T) {
	c := connect(t)
	launched(t, c, "internal/debug/testdata/long.o", map[string]any{"stopOnEntry": true})
	c.ask("configurationDone", nil)
	c.stopped()
	const n = 3000
	text := strings.Repeat("x", 100<<10)
	go func() {
		for i := range n {
			body := fmt.Sprintf(`{"seq":%d,"type":"request","command":"evaluate","arguments":{"expression":"1","context":"watch","frameId":0}}`, 1000+i)
			if i%100 == 0 {
				body = fmt.Sprintf(`{"seq":%d,"type":"request","command":"evaluate","arguments":{"expression":"%s","context":"watch"}}`, 1000+i, text)
			}
			if _, err := io.WriteString(c.conn, frame(body)); err != nil {
				return
			}
		}
	}()
	seen := map[int]bool{}
	for len(seen) < n {
		m, ok := c.next().(dap.ResponseMessage)
		require.True(t, ok)
		seen[m.GetResponse().RequestSeq] = true
	}
	assert.Equal(t, "0", c.eval("$insns", "watch"))
}

// TestHandlesAreBounded: variable references end with the stop, and there are only so many.
func TestHandlesAreBounded(t *testing.T) {
	c := &conn{}
	for range maxHandles {
		require.NotZero(t, c.refer(handle{}))
	}
	assert.Zero(t, c.refer(handle{}))
	l := &limited{}
	for range 10 {
		_, err := l.Write(make([]byte, maxOutput/2))
		require.NoError(t, err)
	}
	assert.LessOrEqual(t, cap(l.buf), 2*maxOutput)
	assert.True(t, strings.HasSuffix(l.take(), "...\n"))
}

// deaf is a client that sends what it has and reads nothing.
type deaf struct {
	io.Reader
	out bytes.Buffer
}

func (d *deaf) Write(b []byte) (int, error) {
	if d.out.Len() < 1<<20 {
		d.out.Write(b)
	}
	return len(b), nil
}

// sessionRequests are the commands of a short session.
var sessionRequests = []string{
	`"initialize","arguments":{"adapterID":"x","linesStartAt1":false}`,
	`"launch","arguments":{"object":"internal/debug/testdata/locals-O1-dwarf5.o","stopOnEntry":true,"max-insns":"10000"}`,
	`"setBreakpoints","arguments":{"source":{"path":"locals.bpf.c"},"breakpoints":[{"line":61,"logMessage":"{i}"}]}`,
	`"configurationDone"`,
	`"scopes","arguments":{"frameId":1}`,
	`"variables","arguments":{"variablesReference":4}`,
	`"evaluate","arguments":{"expression":"why seen","context":"repl"}`,
	`"disassemble","arguments":{"memoryReference":"0xffffffffc0000000","instructionOffset":-3,"instructionCount":9}`,
	`"readMemory","arguments":{"memoryReference":"0xffffffffc0000000","count":9}`,
	`"continue","arguments":{"threadId":1}`,
	`"restart"`,
	`"disconnect"`,
}

// FuzzServe sends bytes as a client: the server must end without a panic when they end.
func FuzzServe(f *testing.F) {
	session := ""
	for i, m := range sessionRequests {
		session += frame(fmt.Sprintf(`{"seq":%d,"type":"request","command":%s}`, i+1, m))
	}
	f.Add([]byte(session))
	f.Add([]byte("Content-Length: 3\r\n\r\n{}\r\n"))
	f.Add([]byte("Content-Length: 2\r\n\r\n[]Content-Length: 4\r\nContent-Type: x\r\n\r\nnull"))
	l := launcher(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
		defer stop()
		d := &deaf{Reader: bytes.NewReader(data)}
		_ = l.Serve(ctx, d) // whatever it says of the connection
		assert.NotContains(t, d.out.String(), "This is a bug in bpfrun")
	})
}

// FuzzFrame reads messages: what is read is what was announced, and no more than the limit.
func FuzzFrame(f *testing.F) {
	f.Add([]byte(frame("{}")))
	f.Add([]byte("Content-Length: 9\r\nContent-Type: a\r\n\r\nabc"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newReader(data)
		for {
			b, err := readFrame(r)
			if err != nil {
				return
			}
			require.LessOrEqual(t, len(b), maxMessage)
		}
	})
}

// BenchmarkStep is from stop to stop: a step, and what editors ask for after it. BenchmarkStep of
// package repl is the same by hand.
func BenchmarkStep(b *testing.B) {
	c := connect(b)
	launched(b, c, "internal/debug/testdata/long.o", map[string]any{"stopOnEntry": true})
	c.ask("configurationDone", nil)
	c.stopped()
	next := frame(`{"seq":1000,"type":"request","command":"next","arguments":{"threadId":1}}`)
	b.ResetTimer()
	for range b.N {
		_, err := io.WriteString(c.conn, next)
		require.NoError(b, err)
		for range 2 { // the answer and the stop
			_, err := dap.ReadBaseMessage(c.r)
			require.NoError(b, err)
		}
	}
}

// BenchmarkStepAgainstREPL alternates windows of steps from stop to stop with windows of the
// command line's own step, on the same program, and reports the best of each: what the machine does
// besides falls into few windows.
func BenchmarkStepAgainstREPL(b *testing.B) {
	const object, window = "internal/debug/testdata/long.o", 20
	c := connect(b)
	launched(b, c, object, map[string]any{"stopOnEntry": true})
	c.ask("configurationDone", nil)
	c.stopped()
	next := frame(`{"seq":1000,"type":"request","command":"next","arguments":{"threadId":1}}`)
	l, err := launcher(b).Open(context.Background(), object, nil, io.Discard)
	require.NoError(b, err)
	defer l.Session.Close()
	r := repl.New(l.Session, repl.Config{Out: io.Discard})
	require.NoError(b, r.Execute(context.Background(), "run"))
	best := [2]time.Duration{time.Hour, time.Hour}
	for b.Loop() {
		begun := time.Now()
		for range window {
			if _, err := io.WriteString(c.conn, next); err != nil {
				b.Fatal(err)
			}
			for range 2 { // the answer and the stop
				if _, err := readFrame(c.r); err != nil { // go-dap's reader takes a fifth of all the time
					b.Fatal(err)
				}
			}
		}
		best[0] = min(best[0], time.Since(begun))
		begun = time.Now()
		for range window {
			if err := r.Execute(context.Background(), "next"); err != nil {
				b.Fatal(err)
			}
		}
		best[1] = min(best[1], time.Since(begun))
	}
	b.ReportMetric(float64(best[0].Nanoseconds())/window, "dap-ns/step")
	b.ReportMetric(float64(best[1].Nanoseconds())/window, "repl-ns/step")
	b.ReportMetric(float64(best[0])/float64(best[1]), "ratio")
}

// TestTooManyBreakpointsAreRefused: at most so many of each kind are set at once.
func TestTooManyBreakpointsAreRefused(t *testing.T) {
	c := connect(t)
	launched(t, c, localsObject, nil)
	points := func(n int) []map[string]any {
		list := make([]map[string]any, n)
		for i := range list {
			list[i] = map[string]any{"name": "nosuch"}
		}
		return list
	}
	assert.Len(t, c.ask("setFunctionBreakpoints", map[string]any{"breakpoints": points(maxPoints)}).(*dap.SetFunctionBreakpointsResponse).Body.Breakpoints, maxPoints)
	assert.Contains(t, c.refused("setFunctionBreakpoints", map[string]any{"breakpoints": points(maxPoints + 1)}), "10001 breakpoints, at most 10000")
}

// TestSourcesByNumber: the text of a source that is on no disk is asked for by its number, which a
// request has once or twice.
func TestSourcesByNumber(t *testing.T) {
	c := connect(t)
	launched(t, c, "testdata/objects/rust-1.97/rust.o", nil)
	sources := c.ask("loadedSources", nil).(*dap.LoadedSourcesResponse).Body.Sources
	n := 0
	for _, s := range sources {
		n = max(n, s.SourceReference)
	}
	require.Positive(t, n, "%v", sources)
	for _, args := range []map[string]any{
		{"sourceReference": n}, {"sourceReference": n, "source": map[string]any{}}, {"sourceReference": 0, "source": map[string]any{"sourceReference": n}},
		{"sourceReference": n, "source": map[string]any{"sourceReference": n + 1}},
	} {
		assert.NotEmpty(t, c.ask("source", args).(*dap.SourceResponse).Body.Content, args)
	}
	for _, args := range []map[string]any{
		{"sourceReference": 0}, {"sourceReference": 0, "source": map[string]any{}}, {"sourceReference": n + 1}, {"sourceReference": -1}, {"sourceReference": 0, "source": map[string]any{"sourceReference": n + 1}},
	} {
		assert.Contains(t, c.refused("source", args), "no source", args)
	}
}

// TestHowMuchOfAValueIsShown: a list has little of it, and who evaluates or copies gets it all.
func TestHowMuchOfAValueIsShown(t *testing.T) {
	c := connect(t)
	launched(t, c, localsObject, map[string]any{"stopOnEntry": true})
	c.ask("configurationDone", nil)
	c.stopped()
	long := `"` + strings.Repeat("x", 2*maxText) + `"`
	for context, whole := range map[string]bool{"repl": true, "clipboard": true, "watch": false, "hover": false, "": false} {
		got := c.eval(long, context)
		assert.Equal(t, whole, len(got) >= 2*maxText, "%s: %d bytes", context, len(got))
	}
	short := `"` + strings.Repeat("x", maxText/2) + `"`
	assert.Equal(t, short, c.eval(short, "watch"))
}
