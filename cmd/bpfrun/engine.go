package main

import (
	"fmt"
	"sync"

	"github.com/bpfrun/bpfrun/conformance/isa"
	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// differences collects the differences found by --engine both. It is safe for concurrent use.
type differences struct {
	mu   sync.Mutex
	seen map[string]bool
	list []string
}

// most is the maximum number of differences printed: one error in native code appears in many
// places.
const mostDifferences = 20

func (d *differences) add(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seen == nil {
		d.seen = map[string]bool{}
	}
	if !d.seen[text] && len(d.list) < mostDifferences {
		d.seen[text] = true
		d.list = append(d.list, text)
	}
}

// engineFor returns the engine for machines; auto selects native code if it pays off.
func (m *machineFlags) engineFor(pays bool) (machine.Engine, error) {
	switch m.engine {
	case "interp":
		return machine.EngineInterpreter, nil
	case "auto":
		if pays {
			return machine.EngineJIT, nil
		}
		return machine.EngineInterpreter, nil
	case "jit", "both":
		if !machine.NativeCode() {
			return 0, codeError{exitNotSimulated, fmt.Errorf("--engine %s: native code is not supported on this system; use interp", m.engine)}
		}
		if m.engine == "jit" {
			return machine.EngineJIT, nil
		}
		return machine.EngineBoth, nil
	}
	return 0, usagef("--engine %s: no such engine, want auto, interp, jit or both", m.engine)
}

// engineName returns the name of a machine's engine.
func engineName(e machine.Engine) string {
	switch {
	case e == machine.EngineBoth:
		return "both"
	case e == machine.EngineJIT && machine.NativeCode():
		return "jit"
	}
	return "interp"
}

// isaModes returns the modes in which vectors run: on the engine of the command line, or on both in
// turn. Native code runs as first compiled, and again with loops optimised, because vectors are too
// short to trigger that.
func (m *machineFlags) isaModes() ([]isa.Mode, error) {
	e, err := m.engineFor(false)
	if err != nil {
		return nil, err
	}
	modes := isa.Modes[:1:1]
	if e == machine.EngineInterpreter {
		return modes, nil
	}
	if e == machine.EngineJIT {
		modes = nil
	}
	return append(modes, isa.JITModes[0], isa.JITModes[len(isa.JITModes)/2]), nil
}

// reportDifferences ends the command with the differences found by --engine both, which are bugs in
// bpfrun.
func (m *machineFlags) reportDifferences(c *console) {
	for _, text := range m.differ.list {
		visible.Fprintf(c.stderr, "bpfrun: the engines differ: %s\n", text)
	}
	if len(m.differ.list) > 0 {
		c.code = exitcode.Worse(c.code, exitBug)
	}
}
