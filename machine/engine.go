package machine

import (
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/jit"
)

// Engine describes what executes programs. Results do not depend on it.
type Engine uint8

const (
	// EngineInterpreter is the interpreter.
	EngineInterpreter Engine = iota
	// EngineJIT is native code, with the interpreter for what that leaves out. Where the system has none, and for
	// runs with Strict, it is the interpreter alone.
	EngineJIT
	// EngineBoth executes everything on both and reports what differs to Config.OnDifference. It is slow. Native code is what runs at
	// first, and soon what otherwise runs after long.
	EngineBoth
)

// NativeCode reports whether this system has native code.
func NativeCode() bool { return jit.Supported() }

// setEngine gives the thread the engine of the configuration.
func (m *Machine) setEngine() error {
	if m.cfg.Engine == EngineInterpreter || m.cfg.Strict {
		return nil
	}
	e, err := jit.New(m.mem)
	if errors.Is(err, jit.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("machine: %w", err)
	}
	m.engine = e
	if m.cover != nil {
		e.Cover(m.cover)
	}
	if m.cfg.EagerLoops {
		e.SetEager(0)
	}
	if m.cfg.Engine == EngineBoth {
		if !m.cfg.EagerLoops {
			e.SetEager(1)
		}
		e.Check(func(diff string) {
			if m.cfg.OnDifference != nil {
				m.cfg.OnDifference(diff)
			}
		})
	}
	m.thread.SetEngine(e)
	return nil
}
