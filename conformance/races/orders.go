package main

import (
	"context"
	"errors"
	"time"

	"github.com/bpfrun/bpfrun/internal/find/race"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/loader"
)

// outcome is what a cell holds after both programs of a pair.
type outcome [cellSize]byte

// collector notes the outcome of every order. It implements [race.Checker].
type collector struct {
	m     *machine.Machine
	cells maps.Map
	seen  map[outcome]bool
}

// Begin implements [race.Checker].
func (c *collector) Begin(*loader.LinkedProgram, *hook.Context) {}

// End implements [race.Checker].
func (c *collector) End(*loader.LinkedProgram, *hook.Context, uint64) map[string]string {
	var o outcome
	if addr, errno := c.cells.Lookup(0, make([]byte, 4)); errno == 0 && c.m.Memory().Read(addr, o[:]) == nil {
		c.seen[o] = true
	}
	return nil
}

// errIncomplete means that not all orders of a pair were followed.
var errIncomplete = errors.New("not all orders were followed")

// possible returns the outcomes of a pair that race calls possible, and those of sequential orders.
func possible(ctx context.Context, m *machine.Machine, p *pair, most time.Duration) (all, sequential map[outcome]bool, err error) {
	table, ok := m.MapByName("cells")
	if !ok {
		return nil, nil, errors.New("no map cells")
	}
	actors := []race.Actor{{Program: p.name(0), Over: -1}, {Program: p.name(1), Over: -1, Input: machine.Input{CPU: 1}}}
	explore := func(cfg race.Config) (map[outcome]bool, bool, error) {
		c := &collector{m, table, map[outcome]bool{}}
		cfg.Until, cfg.Check = time.Now().Add(most), c
		r, err := race.Run(ctx, m, actors, cfg)
		return c.seen, r != nil && r.Complete, err
	}
	if sequential, _, err = explore(race.Config{Most: 1}); err != nil {
		return nil, nil, err
	}
	const unlimited = 64
	all, complete, err := explore(race.Config{Preemptions: unlimited, Memory: race.X86})
	if err == nil && !complete {
		err = errIncomplete
	}
	return all, sequential, err
}
