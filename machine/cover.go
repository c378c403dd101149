package machine

import (
	"math/bits"

	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// CoverSink takes what runs execute.
type CoverSink interface {
	// Begin is called before the first run of a machine is told. What it returns is called after each run (after a replay as a whole) with what
	// that executed, program by program; what is given is valid during the call.
	Begin(m *Machine) (ran func([]Covered))
}

// Covered is what one run executed of a program, by slots of Prog.Insns.
type Covered struct {
	Prog *loader.LinkedProgram

	cov  *coverage
	img  *vm.Image
	seen []uint64
}

// Slots calls f for each slot that was executed, ascending.
func (c *Covered) Slots(f func(pc int)) {
	for i, w := range c.seen {
		for ; w != 0; w &= w - 1 {
			f(i*64 + bits.TrailingZeros64(w))
		}
	}
}

// Ways tells which ways the conditional jump at a slot went.
func (c *Covered) Ways(pc int) (taken, fell bool) {
	return c.cov.cover.Gone(c.img, pc, vm.Taken), c.cov.cover.Gone(c.img, pc, vm.Fell)
}

// coverage is what runs executed. It owns the record of the run and of those before.
type coverage struct {
	reg   *registry
	begin func() (ran func([]Covered)) // of the sink, nil without
	cover *vm.Patches                  // nil without recording
	// ever is what earlier runs executed where each run's is told, told who is told: with Config.Cover.
	ever map[*vm.Image][]uint64
	told func(ran []Covered)
}

// start begins to record, and returns what does it.
func (cov *coverage) start() *vm.Patches {
	cov.cover = vm.NewPatches(true)
	if cov.begin != nil {
		cov.cover.RecordWays()
	}
	return cov.cover
}

// snapshot records what was executed since it was told.
func (cov *coverage) snapshot() (restore func()) {
	if cov.cover == nil {
		return func() {}
	}
	was := cov.cover.Snapshot()
	return func() { cov.cover.Restore(was) }
}

// tellCovered hands what a run executed to Config.Cover, and forgets it.
func (cov *coverage) tellCovered() {
	if cov.begin == nil || cov.cover == nil {
		return
	}
	var list []Covered
	for _, p := range cov.reg.programs {
		if p.img == nil {
			continue
		}
		seen := cov.cover.Coverage(p.img)
		ran := false
		for _, w := range seen {
			ran = ran || w != 0
		}
		if ran {
			list = append(list, Covered{Prog: p.lp, cov: cov, img: p.img, seen: seen})
			cov.remember(p.img, seen)
		}
	}
	if cov.told == nil {
		cov.told = cov.begin()
	}
	cov.told(list)
	cov.cover.Restore(&vm.CoverSnapshot{})
}

// remember adds to what was executed in any run, which Result.Coverage counts.
func (cov *coverage) remember(img *vm.Image, seen []uint64) {
	if cov.ever == nil {
		cov.ever = map[*vm.Image][]uint64{}
	}
	all := cov.ever[img]
	if all == nil {
		cov.ever[img] = seen
		return
	}
	for i, w := range seen {
		all[i] |= w
	}
}

// executed reports whether a slot was executed in any run.
func (cov *coverage) executed(img *vm.Image, pc int) bool {
	if all := cov.ever[img]; all != nil && all[pc/64]>>(pc%64)&1 != 0 {
		return true
	}
	return cov.cover.Covered(img, pc)
}

// coverage counts reachable and executed instructions.
func (cov *coverage) of(p *program) Coverage {
	var c Coverage
	for pc := range p.lp.Insns {
		if !p.reachable(pc) {
			continue
		}
		c.Reachable++
		if cov.executed(p.img, pc) {
			c.Executed++
		}
	}
	return c
}

// InsnCoverage says of one instruction whether it may run on the target, and whether it did.
type InsnCoverage struct{ Reachable, Executed bool }

// Covered returns the coverage of a program by slot, of all runs so far; nil of programs that cannot be run, and without recording ([Config.Uncovered]).
func (cov *coverage) Covered(program string) []InsnCoverage {
	p := cov.reg.byName[program]
	if p == nil || p.img == nil || cov.cover == nil {
		return nil
	}
	out := make([]InsnCoverage, len(p.lp.Insns))
	for pc := range out {
		out[pc].Reachable = p.reachable(pc)
		out[pc].Executed = out[pc].Reachable && cov.cover.Covered(p.img, pc)
	}
	return out
}
