//go:build linux && (amd64 || arm64)

package jit

import (
	"bytes"
	"fmt"
	"unsafe"

	"github.com/bpfrun/bpfrun/vm"
)

// checker compares native code with the interpreter.
type checker struct {
	report       func(string)
	state        *vm.Snapshot
	memory, then []byte // of the arena, before and after
	moved        uint64 // bytes that count as work of helpers, before
}

// arenaBytes returns all bytes of the arena that native code may have changed: the engine's own
// memory, until its owner closes it.
func (e *Engine) arenaBytes() []byte {
	return unsafe.Slice((*byte)(e.arena.Data), e.mem.Limit())
}

// before saves the state that native code starts from.
func (c *checker) before(e *Engine, t *vm.Thread) {
	c.state = t.Snapshot()
	c.memory = append(c.memory[:0], e.arenaBytes()...)
	c.moved = e.mem.Moved()
}

// compare executes the n instructions that native code executed again, on the interpreter. It
// reports whether the results are equal. If a callback has returned to its helper, which both have
// to continue, the interpreter's exit remains to be executed.
func (c *checker) compare(e *Engine, t *vm.Thread, n uint64, returned bool) bool {
	native := t.Snapshot()
	live, charged := e.arenaBytes(), e.mem.Moved()
	c.then = append(c.then[:0], live...)
	copy(live, c.memory)
	t.Restore(c.state)
	img, pc := t.Image(), t.PC()
	diff, whole := "", n
	if returned {
		whole--
	}
	if !t.Interpret(whole) {
		diff = fmt.Sprintf("native code executed %d instructions, the interpreter stops at slot %d", n, t.PC())
	} else if plain, ok := after(t, returned); !ok {
		diff = fmt.Sprintf("native code returned to a helper, the interpreter is at slot %d", t.PC())
	} else if diff = native.Diff(plain); diff == "" && !bytes.Equal(live, c.then) {
		at := 0
		for live[at] == c.then[at] {
			at++
		}
		diff = fmt.Sprintf("the byte at %#x is %#x, not %#x", e.arena.Base+uint64(at), c.then[at], live[at])
	}
	// Both begin with what was charged before; what the interpreter charged comes on top of what
	// native code did.
	if again := e.mem.Moved() - charged; diff == "" && again != charged-c.moved {
		diff = fmt.Sprintf("%d bytes of helpers' work are charged, the interpreter charges %d", charged-c.moved, again)
	}
	e.mem.TakeMoved()
	e.mem.NoteMoved(charged)
	if diff != "" {
		c.report(fmt.Sprintf("%s: native code from slot %d on: %s", img.Name, pc, diff))
	}
	return diff == "" && !returned
}

// after returns the state to compare with.
func after(t *vm.Thread, returned bool) (s *vm.Snapshot, ok bool) {
	if s = t.Snapshot(); returned {
		return s.Popped()
	}
	return s, true
}
