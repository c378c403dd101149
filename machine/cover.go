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

	m    *Machine
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
	return c.m.cover.Gone(c.img, pc, vm.Taken), c.m.cover.Gone(c.img, pc, vm.Fell)
}

// Branches calls f for each slot with a conditional jump that has two ways.
func (m *Machine) Branches(lp *loader.LinkedProgram, f func(pc int)) {
	if img, ok := m.ImageOf(lp.Name); ok {
		for pc := range lp.Insns {
			if branch, _, _ := img.Branches(pc); branch {
				f(pc)
			}
		}
	}
}

// tellCovered hands what a run executed to Config.Cover, and forgets it.
func (m *Machine) tellCovered() {
	if m.cfg.Cover == nil || m.cover == nil {
		return
	}
	var list []Covered
	for _, p := range m.programs {
		if p.img == nil {
			continue
		}
		seen := m.cover.Coverage(p.img)
		ran := false
		for _, w := range seen {
			ran = ran || w != 0
		}
		if ran {
			list = append(list, Covered{Prog: p.lp, m: m, img: p.img, seen: seen})
			m.remember(p.img, seen)
		}
	}
	if m.covered == nil {
		m.covered = m.cfg.Cover.Begin(m)
	}
	m.covered(list)
	m.cover.Restore(&vm.CoverSnapshot{})
}

// remember adds to what was executed in any run, which Result.Coverage counts.
func (m *Machine) remember(img *vm.Image, seen []uint64) {
	if m.everCovered == nil {
		m.everCovered = map[*vm.Image][]uint64{}
	}
	all := m.everCovered[img]
	if all == nil {
		m.everCovered[img] = seen
		return
	}
	for i, w := range seen {
		all[i] |= w
	}
}

// executed reports whether a slot was executed in any run.
func (m *Machine) executed(img *vm.Image, pc int) bool {
	if all := m.everCovered[img]; all != nil && all[pc/64]>>(pc%64)&1 != 0 {
		return true
	}
	return m.cover.Covered(img, pc)
}
