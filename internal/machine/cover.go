package machine

import (
	"math/bits"

	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// CoverSink receives what runs execute.
type CoverSink interface {
	// Begin is called before the first run of a machine is reported. It returns a function that is
	// called after each run (after a replay as a whole) with what was executed, program by program;
	// its argument is valid only during the call.
	Begin(m *Machine) (ran func([]Covered))
}

// Covered is what one run executed of a program, by slots of Prog.Insns.
type Covered struct {
	Prog *loader.LinkedProgram

	cov  *coverage
	img  *vm.Image
	seen []uint64
}

// Slots calls f for each executed slot, ascending.
func (c *Covered) Slots(f func(pc int)) {
	for i, w := range c.seen {
		for ; w != 0; w &= w - 1 {
			f(i*64 + bits.TrailingZeros64(w))
		}
	}
}

// Ways reports which branches the conditional jump at a slot took.
func (c *Covered) Ways(pc int) (taken, fell bool) {
	return c.cov.cover.Gone(c.img, pc, vm.Taken), c.cov.cover.Gone(c.img, pc, vm.Fell)
}

// coverage records what runs executed, in the current run and in all earlier ones.
type coverage struct {
	reg   *registry
	begin func() (ran func([]Covered)) // of the sink, or nil
	ways  bool                         // Config.Ways
	cover *vm.Patches                  // nil if nothing is recorded
	// ever is what earlier runs executed, if each run is reported to the sink; told is its
	// callback. Both are for Config.Cover.
	ever map[*vm.Image][]uint64
	told func(ran []Covered)
}

// start begins recording, and returns the recorder.
func (cov *coverage) start() *vm.Patches {
	cov.cover = vm.NewPatches(true)
	if cov.begin != nil || cov.ways {
		cov.cover.RecordWays()
	}
	return cov.cover
}

// snapshot records what has been executed but not reported.
func (cov *coverage) snapshot() (restore func()) {
	if cov.cover == nil {
		return func() {}
	}
	was := cov.cover.Snapshot()
	return func() { cov.cover.Restore(was) }
}

// tellCovered reports what a run executed to Config.Cover, and resets it.
func (cov *coverage) tellCovered() {
	if cov.begin == nil || cov.cover == nil {
		return
	}
	var list []Covered
	for p := range cov.reg.programs.All() {
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

// remember adds to what any run has executed, which Result.Coverage counts.
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

// executed reports whether any run has executed a slot.
func (cov *coverage) executed(img *vm.Image, pc int) bool {
	if all := cov.ever[img]; all != nil && all[pc/64]>>(pc%64)&1 != 0 {
		return true
	}
	return cov.cover.Covered(img, pc)
}

// of counts reachable and executed instructions.
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

// InsnCoverage tells whether an instruction is reachable on the target, and whether it was executed;
// of a conditional jump, with [Config.Ways], also whether it jumped and whether it did not.
type InsnCoverage struct{ Reachable, Executed, Taken, Fell bool }

// Covered returns the coverage of a program by slot, over all runs so far. It returns nil for
// programs that cannot run, and if nothing is recorded ([Config.Uncovered]).
func (cov *coverage) Covered(program string) []InsnCoverage {
	p := cov.reg.byName[program]
	if p == nil || p.img == nil || cov.cover == nil {
		return nil
	}
	out := make([]InsnCoverage, len(p.lp.Insns))
	for pc := range out {
		out[pc].Reachable = p.reachable(pc)
		out[pc].Executed = out[pc].Reachable && cov.cover.Covered(p.img, pc)
		if cov.ways && out[pc].Executed {
			out[pc].Taken, out[pc].Fell = cov.cover.Gone(p.img, pc, vm.Taken), cov.cover.Gone(p.img, pc, vm.Fell)
		}
	}
	return out
}
