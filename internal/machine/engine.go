package machine

import (
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/jit"
)

// Engine selects what executes programs. Results do not depend on it.
type Engine uint8

const (
	// EngineInterpreter is the interpreter.
	EngineInterpreter Engine = iota
	// EngineJIT is native code, with the interpreter for what that does not support. On systems
	// without native code, and for runs with Strict, only the interpreter is used.
	EngineJIT
	// EngineBoth executes everything on both and reports differences to Config.OnDifference. It is
	// slow. Programs are compiled at once, and optimised sooner than usual.
	EngineBoth
)

// NativeCode reports whether native code is available on this system.
func NativeCode() bool { return jit.Supported() }

// setEngine sets up the thread for the configured engine.
func (m *Machine) setEngine() error {
	if m.cfg.Engine == EngineInterpreter || m.cfg.Strict {
		return nil
	}
	e, err := jit.New(m.mem)
	if errors.Is(err, jit.ErrUnsupported) {
		if jit.Supported() {
			m.warnf("the interpreter runs this object: native code is for little-endian programs")
		}
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

// countsDown reports whether the architecture's JIT hands the number of tail calls down to
// functions but not back: until 6.10 (x86 and arm64 "Fix tailcall hierarchy"), on s390 until 6.16.
func countsDown(arch string, v since.Version) bool {
	if arch == "s390" {
		return !v.Has(since.TailCallHierarchyS390)
	}
	return !v.Has(since.TailCallHierarchy)
}
