package dap

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/google/go-dap"

	"github.com/bpfrun/bpfrun/internal/debug"
)

// Each CPU on which a program was started is a thread, numbered from 1, since clients treat 0 as
// none. The client decides which program runs: a thread continues or steps while all others are
// paused.

// The client's frame numbers hold the CPU in the upper bits.
const (
	frameBits = 12
	// endFrame is the only frame of a run that has ended, in the thread of CPU 0.
	endFrame = 1<<frameBits - 1
)

func threadOf(cpu int) int { return cpu + 1 }

func (c *conn) frameID(level int) int { return c.s.CPU()<<frameBits | level + 1 }

// onThread selects a thread; 0 is the thread of the last stop.
func (c *conn) onThread(id int) error {
	switch {
	case id == 0:
		return c.s.SelectCPU(c.cpu)
	case id == threadOf(c.s.CPU()) && !c.s.Several():
		return nil
	}
	for _, t := range c.threads() {
		if t.Id == id {
			return c.s.SelectCPU(id - 1)
		}
	}
	return fmt.Errorf("there is no thread %d", id)
}

// threads lists the CPUs on which programs were started or, if there are none, the one on which the
// first will be.
func (c *conn) threads() []dap.Thread {
	if !c.s.Several() {
		return []dap.Thread{{Id: threadOf(c.s.Input().CPU), Name: c.threadName()}}
	}
	var out []dap.Thread
	for _, x := range c.s.CPUs() {
		if x.Program != "" {
			out = append(out, dap.Thread{Id: threadOf(x.CPU), Name: fmt.Sprintf("%s on CPU %d", x.Program, x.CPU)})
		}
	}
	return out
}

func (c *conn) threadName() string {
	name := c.s.Program()
	if name == "" {
		name = c.program
	}
	if name == "" {
		name = c.s.DefaultProgram()
	}
	return fmt.Sprintf("%s on CPU %d", name, c.s.Input().CPU)
}

// threadIn returns the thread that a request names, 0 for none.
func threadIn(m dap.RequestMessage) int {
	switch r := m.(type) {
	case *dap.ContinueRequest:
		return r.Arguments.ThreadId
	case *dap.NextRequest:
		return r.Arguments.ThreadId
	case *dap.StepInRequest:
		return r.Arguments.ThreadId
	case *dap.StepOutRequest:
		return r.Arguments.ThreadId
	case *dap.StepBackRequest:
		return r.Arguments.ThreadId
	case *dap.ReverseContinueRequest:
		return r.Arguments.ThreadId
	}
	return 0
}

// startOthers starts the programs that a launch request assigns to other CPUs. They stop at their
// first instructions.
func (c *conn) startOthers(ctx context.Context) error {
	first := c.s.CPU()
	for _, o := range c.args.onCPU {
		if o.cpu == first {
			return fmt.Errorf("onCpu: CPU %d: %s is in the middle of its run there", o.cpu, c.s.Program())
		}
		if err := c.s.SelectCPU(o.cpu); err != nil {
			return fmt.Errorf("onCpu: %w", err)
		}
		if _, err := c.s.StartContext(ctx, o.prog); err != nil {
			return fmt.Errorf("onCpu: CPU %d: %w", o.cpu, err)
		}
	}
	return c.s.SelectCPU(first)
}

// nextRunning returns a CPU whose program has not ended; false if there is none.
func (c *conn) nextRunning() (int, bool) {
	if !c.s.Several() {
		return 0, false
	}
	list := c.s.CPUs()
	i := slices.IndexFunc(list, func(x debug.CPUInfo) bool { return x.State == debug.Running })
	return i, i >= 0
}

// threadEnded reports that the program of a CPU has ended while others have not, and stops at one
// of those.
func (c *conn) threadEnded(ended, next int) {
	c.sayResult()
	c.send(&dap.ThreadEvent{Event: event("thread"), Body: dap.ThreadEventBody{Reason: "exited", ThreadId: threadOf(ended)}})
	_ = c.s.SelectCPU(next) // known to be running
	c.cpu = next
	c.send(&dap.StoppedEvent{Event: event("stopped"), Body: dap.StoppedEventBody{
		Reason: "pause", Description: fmt.Sprintf("The program on CPU %d has ended", ended), ThreadId: threadOf(next), AllThreadsStopped: true,
	}})
}

// started is a program that a launch request starts on another CPU.
type started struct {
	cpu  int
	prog string
}

// parseOnCPU parses the onCpu attribute: programs by CPU number.
func parseOnCPU(v any) ([]started, error) {
	list, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf(`launch configuration: onCpu: want programs by CPU, as in {"1": "count"}`)
	}
	var out []started
	for _, key := range sortedKeys(list) {
		prog, isText := list[key].(string)
		cpu, err := strconv.Atoi(key)
		if err != nil || cpu < 0 || !isText {
			return nil, fmt.Errorf(`launch configuration: onCpu: %q: want programs by CPU, as in {"1": "count"}`, key)
		}
		out = append(out, started{cpu, prog})
	}
	slices.SortFunc(out, func(a, b started) int { return a.cpu - b.cpu })
	return out, nil
}
