package machine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/jit"
	"github.com/bpfrun/bpfrun/vm"
)

// How a program is timed: this many batches of runs, each at least this long.
const (
	batches      = 40
	batchTime    = 3 * time.Millisecond
	lowerRepeats = 20
)

// Measurement is the result of timing a program.
type Measurement struct {
	// First is the first run, on fresh memory.
	First *Result
	// Batches are nanoseconds per run, for each batch; Min and Median are computed from them.
	Batches     []float64
	Min, Median float64
	// Native is the share of instructions executed by native code, from 0 to 1.
	Native float64
	// Compile is the time the engine takes to compile the program, the best of several attempts.
	Compile time.Duration
}

// Measure runs a program repeatedly and times it in batches. With memory the program is raw: r1 is
// a private copy of memory in simulated memory and r2 its length, and all runs work on that copy. A
// program that gets packets is timed as the kernel's test run times it, see [Replay.Repeat]: on one
// packet, which is not renewed. Otherwise every run gets a fresh context, as in [Machine.Run],
// which is not timed. If the first run fails, nothing is timed.
//
// Configure the machine as Uncovered: recording coverage costs time.
func (m *Machine) Measure(ctx context.Context, name string, in Input, memory []byte) (*Measurement, error) {
	start := func() (*Session, *Result, error) { return m.Begin(name, in) }
	if memory != nil {
		r, err := m.mem.Alloc(uint64(max(len(memory), 1)), mem.Region{Kind: mem.Scratch, Name: "memory"})
		if err != nil {
			return nil, fmt.Errorf("memory of %d bytes: %w", len(memory), err)
		}
		defer m.mem.Free(r)
		copy(m.mem.Bytes(r), memory)
		start = func() (*Session, *Result, error) {
			s, res, err := m.Begin(name, in)
			if s != nil {
				m.thread.Start(s.p.img, r.Base, uint64(len(memory)))
			}
			return s, res, err
		}
	}
	s, res, err := start()
	if s == nil {
		return &Measurement{First: res}, err
	}
	img := s.p.img
	if err := s.Execute(ctx, nil); err != nil {
		s.Leave()
		return nil, err
	}
	out := &Measurement{First: s.Finish()}
	m.untracked = true // everything from here on is timed
	defer func() { m.untracked = false }()
	if out.First.Fault != nil {
		return out, nil
	}
	if out.Compile, err = lowerTime(img); err != nil {
		return nil, err
	}
	if m.engine != nil {
		t, err := compileTime(img)
		if err != nil {
			return nil, err
		}
		out.Compile += t
	}
	var t timing
	before := m.executedNatively()
	switch {
	case memory != nil:
		err = m.measureRaw(ctx, &t, start)
	case progtype.Of(s.p.lp.Type).Takes.Has(progtype.TakesPacket):
		err = m.measurePackets(ctx, &t, name, in)
	default:
		err = measureRuns(ctx, &t, start)
	}
	if err != nil {
		return nil, err
	}
	out.Native = min(1, float64(m.executedNatively()-before)/float64(t.runs*out.First.Insns))
	out.Batches = t.batches
	sorted := slices.Sorted(slices.Values(t.batches))
	out.Min, out.Median = sorted[0], sorted[len(sorted)/2]
	return out, nil
}

// timing collects the batches of a measurement, in nanoseconds per run, and counts all runs.
type timing struct {
	batches []float64
	runs    uint64
}

// executedNatively returns the number of instructions executed by native code.
func (m *Machine) executedNatively() uint64 {
	if m.engine == nil {
		return 0
	}
	return m.engine.Executed()
}

// measureRaw times runs in one session, so that only a restart of the processor lies between two of
// them.
func (m *Machine) measureRaw(ctx context.Context, t *timing, start func() (*Session, *Result, error)) error {
	s, res, err := start()
	if err != nil {
		return err
	}
	if s == nil {
		return fmt.Errorf("a later run cannot start: %s", res.Status)
	}
	defer s.Leave()
	img, r1, r2 := s.p.img, m.thread.Reg(1), m.thread.Reg(2)
	return t.take(ctx, func(n int) error {
		for range n {
			m.thread.Start(img, r1, r2)
			stop := m.step(m.cfg.MaxInsns)
			for stop == vm.Budget && m.thread.Insns() < m.cfg.MaxInsns {
				stop = m.step(m.cfg.MaxInsns - m.thread.Insns())
			}
			if stop != vm.Done {
				return fmt.Errorf("a later run ended differently from the first: %v %v", stop, m.thread.Fault())
			}
		}
		return nil
	})
}

// measurePackets times repeated runs on one packet.
func (m *Machine) measurePackets(ctx context.Context, t *timing, name string, in Input) error {
	r, res, err := m.Replay(name, in)
	if err != nil {
		return err
	}
	if r == nil {
		return fmt.Errorf("a later run cannot start: %s", res.Status)
	}
	defer r.Close()
	packet := in.Packet
	if packet == nil {
		packet = net.DefaultPacket()
	}
	if _, err := r.Run(ctx, packet); err != nil {
		return err
	}
	return t.take(ctx, func(n int) error {
		out, err := r.Repeat(ctx, n)
		if err == nil && out.Fault != nil {
			err = fmt.Errorf("a later run ended differently from the first: %w", out.Fault)
		}
		return err
	})
}

// take times batches of n runs.
func (t *timing) take(ctx context.Context, run func(n int) error) error {
	batch := func(n int) (time.Duration, error) {
		begin := time.Now()
		if err := run(n); err != nil {
			return 0, err
		}
		t.runs += uint64(n)
		return time.Since(begin), nil
	}
	n := 1
	for {
		d, err := batch(n)
		if err != nil {
			return err
		}
		if d >= batchTime {
			break
		}
		n = max(n+1, min(n*10, int(float64(n)*1.2*float64(batchTime)/float64(d+1))))
	}
	for len(t.batches) < batches {
		if err := ctx.Err(); err != nil {
			return err
		}
		d, err := batch(n)
		if err != nil {
			return err
		}
		t.batches = append(t.batches, float64(d.Nanoseconds())/float64(n))
	}
	return nil
}

// measureRuns times only the execution of full runs. The number of runs in a batch is limited,
// because creating contexts and comparing maps takes longer than many programs.
func measureRuns(ctx context.Context, t *timing, start func() (*Session, *Result, error)) error {
	const mostRuns = 2000
	for len(t.batches) < batches {
		var d time.Duration
		n := 0
		for ; n < mostRuns && d < batchTime; n++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			s, res, err := start()
			if err != nil {
				return err
			}
			if s == nil {
				return fmt.Errorf("a later run cannot start: %s", res.Status)
			}
			begin := time.Now()
			err = s.Execute(ctx, nil)
			d += time.Since(begin)
			if err != nil {
				s.Leave()
				return err
			}
			s.Finish()
		}
		t.runs += uint64(n)
		t.batches = append(t.batches, float64(d.Nanoseconds())/float64(n))
	}
	return nil
}

// compileTime times the creation of native code, without mapping its pages.
func compileTime(img *vm.Image) (best time.Duration, err error) {
	var c *jit.Compiled
	for range lowerRepeats {
		begin := time.Now()
		if c, err = jit.Compile(img, nil, false, c); err != nil {
			return 0, err
		}
		if d := time.Since(begin); best == 0 || d < best {
			best = d
		}
	}
	return best, nil
}

// lowerTime times lowering an image's instructions again, with functions that do nothing.
func lowerTime(img *vm.Image) (time.Duration, error) {
	none := &vm.Func{Name: "none", Fn: func(*vm.Thread, *[5]uint64) (uint64, *vm.Action) { return 0, nil }}
	best := time.Duration(0)
	for range lowerRepeats {
		begin := time.Now()
		_, err := vm.Lower(vm.LowerConfig{
			Name: img.Name, Insns: img.Insns(), Fuse: true,
			Imm64: func(int) (uint64, error) { return 0, nil },
			Call:  func(int, decode.Insn) (*vm.Func, error) { return none, nil },
		})
		if err != nil {
			return 0, err
		}
		if d := time.Since(begin); best == 0 || d < best {
			best = d
		}
	}
	return best, nil
}
