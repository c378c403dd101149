//go:build linux && (amd64 || arm64)

package jit

import (
	"encoding/binary"
	"math"
)

// Recording coverage slows short loops by a factor of up to three: a store for each block, and no
// selections. But what was recorded stays recorded until the coverage is read. So when an optimised
// program with coverage has run for a while, it continues in thin code, which has no stores for
// what has been recorded. After the coverage is read, it starts with all stores again, and returns
// to the same thin code as soon as everything that this leaves out is recorded.

const (
	// firstTrial is the number of instructions after which the engine first checks what is
	// recorded; each further check is after twice as many.
	firstTrial = 256
	// thinTrial is how many times longer it waits in thin code.
	thinTrial = 64
	// remake is how many times Engine.eager a program executes before it gets different thin code;
	// each time twice as many.
	remake = 8
)

// thins is what the engine knows of thin code.
type thins struct {
	mayThin  bool   // the code is optimised and records
	trial    uint64 // instructions to execute before the engine looks
	wait     uint64 // the next trial
	by       *sampler
	thin     *code  // of full code: continues without what is in leftOut, nil as long as there is none
	full     *code  // of thin code: what it belongs to
	leftOut  []byte // of thin code, see plan.Target.Known
	made     uint64 // Engine.native when it was
	remakes  int    // of full code: how often there was other thin code
	hopeless bool   // of full code: thin code cannot be had
}

// begins makes the engine look early.
func (c *code) begins(e *Engine) {
	c.wait = min(firstTrial, e.eager*uint64(len(c.slots))) + 1
	c.trial = c.wait
}

// thicken returns to full code. What thin code recorded must be passed on first.
func (e *Engine) thicken(thin *code) *code {
	e.codes[thin.img] = thin.full
	if e.last == thin {
		e.last = nil
	}
	return thin.full
}

// thinned finds the code to continue in after a trial.
func (e *Engine) thinned(c *code, words []*uint64) *code {
	full := c
	if c.full != nil {
		full = c.full
	}
	thin := full.thin
	full.wait = min(2*full.wait, math.MaxInt32)
	c.trial = full.wait
	switch {
	case full.hopeless:
		return c
	case c == full && thin != nil && within(thin.leftOut, full.marks):
		return e.enterThin(full)
	case c != full && within(c.marks, nil): // nothing that is recorded could be left out
		c.trial *= thinTrial
		return c
	case thin != nil && e.native-thin.made < remake*e.eager*uint64(len(full.slots))<<full.remakes:
		return c
	}
	known := append([]byte(nil), full.marks...)
	if c != full {
		for i, m := range c.marks {
			known[i] |= m
		}
	}
	next, err := e.make(full.img, words, &code{sampler: full.by}, known)
	if err != nil || len(next.marks) != len(full.marks) {
		full.hopeless = true
		return c
	}
	if thin != nil {
		if c == thin { // what it recorded is left out from now on
			e.passOn(thin)
			copy(full.marks, known)
		}
		e.unlink()
		e.cache.drop(thin.pages)
		full.remakes = min(full.remakes+1, 24)
	}
	next.mayThin, next.full, next.leftOut, next.made = true, full, known, e.native
	full.thin = next
	return e.enterThin(full)
}

// enterThin makes a program continue in thin code.
func (e *Engine) enterThin(full *code) *code {
	thin := full.thin
	thin.trial, thin.thread = thinTrial*full.wait, nil
	e.codes[full.img] = thin
	return thin
}

// within reports whether all bytes set in a are also set in b; nil means none.
func within(a, b []byte) bool {
	for len(a) >= 8 {
		var have uint64
		if b != nil {
			have, b = binary.NativeEndian.Uint64(b), b[8:]
		}
		if binary.NativeEndian.Uint64(a)&^have != 0 {
			return false
		}
		a = a[8:]
	}
	for i, x := range a {
		if x != 0 && (b == nil || b[i] == 0) {
			return false
		}
	}
	return true
}
