package machine

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/vm"
)

// rings are the ring buffers of a machine whose size the object says, with how many records each
// had lost when the run began.
type rings struct {
	list []*boundMap
	lost []uint64
}

// beginLimits notes what was lost before a run.
func (m *Machine) beginLimits() {
	r := &m.rings
	if r.list == nil {
		r.list = []*boundMap{}
		for b := range m.maps.All() {
			if ring, ok := b.m.(interface {
				maps.RingBuffer
				Shared() bool
			}); ok && b.def != nil && b.def.MaxEntries != 0 && !ring.Shared() {
				r.list, r.lost = append(r.list, b), append(r.lost, 0)
			}
		}
	}
	for i, b := range r.list {
		r.lost[i] = b.m.(maps.RingBuffer).Lost()
	}
}

// limits are the findings of limits of the kernel that a run reached. Each run begins with empty
// buffers, so that one that is full is too small for what a single run sends.
func (m *Machine) limits(p *program) (out []finding.Finding) {
	for i, b := range m.rings.list {
		n := b.m.(maps.RingBuffer).Lost() - m.rings.lost[i]
		if m.rings.lost[i] += n; n == 0 {
			continue
		}
		records := "a record"
		if n > 1 {
			records = fmt.Sprintf("%d records", n)
		}
		out = append(out, finding.Finding{
			Kind: finding.Limit, Program: p.lp.Name, Insn: -1,
			Text: fmt.Sprintf("ring buffer %s of %d bytes, which was empty before the run, has no room for %s of this run", b.def.Name, b.def.MaxEntries, records),
		})
	}
	if img, pc := m.thread.TailRefused(); img != nil {
		if q, ok := owner(img); ok {
			p = q
		}
		source, line := p.lineOf(pc)
		out = append(out, finding.Finding{
			Kind: finding.Limit, Program: p.lp.Name, Insn: pc, Source: source, Line: line,
			Text: fmt.Sprintf("bpf_tail_call does nothing here: the run has made %d tail calls, and the kernel makes no more", vm.MaxTailCalls),
		})
	}
	return out
}
