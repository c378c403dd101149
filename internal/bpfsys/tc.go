package bpfsys

import (
	"cmp"
	"slices"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Handles of the qdiscs clsact and ingress, and of their hooks (include/uapi/linux/pkt_sched.h).
const (
	TCClsactMajor = 0xffff0000
	TCIngress     = TCClsactMajor | 0xfff2
	TCEgress      = TCClsactMajor | 0xfff3
)

// TCFilter is a BPF filter (cls_bpf) at a hook of a device's qdisc.
type TCFilter struct {
	Parent   uint32 // the hook
	Priority uint16
	Protocol uint16 // in network byte order
	Handle   uint32
	Prog     *Prog
	Name     string
	Flags    uint32 // TCA_BPF_FLAGS
	GenFlags uint32 // TCA_BPF_FLAGS_GEN
	ClassID  uint32
	at       *attachment
}

// tcDevice is the qdisc of a device for incoming and outgoing packets.
type tcDevice struct {
	kind    string // "clsact" or "ingress"
	filters []*TCFilter
}

// TCQdisc returns the kind of the clsact or ingress qdisc of a device, or "".
func (s *System) TCQdisc(on Device) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.tc[on]; d != nil {
		return d.kind
	}
	return ""
}

// NewTCQdisc creates a qdisc (tc_modify_qdisc).
func (s *System) NewTCQdisc(on Device, kind string, exclusive bool) uapi.Errno {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch d := s.tc[on]; {
	case !s.hasDevice(on):
		return uapi.ENODEV
	case d != nil && exclusive:
		return uapi.EEXIST
	case d != nil && d.kind != kind:
		return uapi.EINVAL
	case d != nil:
		return 0
	case len(s.tc) >= maxObjects:
		return uapi.ENOMEM
	}
	if s.tc == nil {
		s.tc = map[Device]*tcDevice{}
	}
	s.tc[on] = &tcDevice{kind: kind}
	return 0
}

// DelTCQdisc removes the qdisc of a device with its filters (tc_get_qdisc).
func (s *System) DelTCQdisc(on Device, kind string) uapi.Errno {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.tc[on]
	switch {
	case !s.hasDevice(on):
		return uapi.ENODEV
	case d == nil:
		return uapi.ENOENT
	case kind != "" && kind != d.kind:
		return uapi.EINVAL
	}
	for len(d.filters) > 0 {
		s.dropFilter(d, 0)
	}
	delete(s.tc, on)
	for pl, g := range s.groups {
		if pl.kind == onDevice && pl.id == on.id() {
			s.emptied(g)
		}
	}
	return 0
}

func (s *System) dropFilter(d *tcDevice, i int) {
	f := d.filters[i]
	d.filters = slices.Delete(d.filters, i, i+1)
	s.detach(f.at)
	s.put(f.Prog)
}

// hookOf returns the qdisc that a filter message names, and the hook of its filters
// (__tcf_qdisc_find, __tcf_block_find): an ingress qdisc has one, whichever class is named.
func (s *System) hookOf(on Device, parent uint32) (*tcDevice, uint32, uapi.Errno) {
	if !s.hasDevice(on) {
		return nil, 0, uapi.ENODEV
	}
	d := s.tc[on]
	switch {
	case d == nil || parent&0xffff0000 != TCClsactMajor:
		return nil, 0, uapi.EINVAL
	case d.kind == "ingress":
		return d, TCIngress, 0
	case parent == TCIngress, parent == TCEgress:
		return d, parent, 0
	case parent&0xffff == 0: // clsact_tcf_block
		return nil, 0, uapi.EINVAL
	}
	return nil, 0, uapi.ENOENT
}

// sameChain returns the filters of a hook, and of a priority unless that is 0.
func (d *tcDevice) sameChain(parent uint32, priority uint16) []*TCFilter {
	var out []*TCFilter
	for _, f := range d.filters {
		if f.Parent == parent && (priority == 0 || f.Priority == priority) {
			out = append(out, f)
		}
	}
	return out
}

// NewTCFilter adds a filter, or replaces the one with the same handle (tc_new_tfilter,
// cls_bpf_change). f gets the priority and handle that the kernel chooses for zeros. Without a
// program, nothing is added: the error is that of the place.
func (s *System) NewTCFilter(on Device, f *TCFilter, create, exclusive bool) uapi.Errno {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Priority == 0 && !create {
		return uapi.ENOENT
	}
	d, hook, e := s.hookOf(on, f.Parent)
	if e != 0 {
		return e
	}
	f.Parent = hook
	chain, automatic := d.sameChain(f.Parent, 0), f.Priority == 0
	if automatic { // tcf_auto_prio: before the first filter with a priority from 0x8000 on
		f.Priority = 0xc000
		for _, o := range chain {
			if o.Priority >= 0x8000 {
				f.Priority = o.Priority - 1
				break
			}
		}
	}
	same := d.sameChain(f.Parent, f.Priority)
	switch {
	case len(same) > 0 && same[0].Protocol != f.Protocol && f.Protocol != 0:
		// The filters of a priority are of one protocol and kind (struct tcf_proto).
		return uapi.EINVAL
	case len(same) == 0 && f.Protocol == 0:
		return uapi.EINVAL
	case len(same) == 0 && !create:
		return uapi.ENOENT
	case len(same) > 0:
		f.Protocol = same[0].Protocol
	}
	i := slices.IndexFunc(d.filters, func(o *TCFilter) bool {
		return f.Handle != 0 && o.Parent == f.Parent && o.Priority == f.Priority && o.Handle == f.Handle
	})
	switch {
	case i < 0 && !create:
		return uapi.ENOENT
	case i >= 0 && exclusive:
		return uapi.EEXIST
	case f.Prog == nil:
		return 0
	case f.Prog.typ != uapi.ProgTypeSchedCls:
		return uapi.EINVAL
	case i < 0 && len(d.filters) >= maxObjects:
		return uapi.ENOSPC
	}
	if f.Handle == 0 {
		for f.Handle = 1; slices.ContainsFunc(same, func(o *TCFilter) bool { return o.Handle == f.Handle }); f.Handle++ {
		}
	}
	if i >= 0 {
		s.dropFilter(d, i)
	}
	at := uapi.AttachTcxIngress
	if f.Parent == TCEgress {
		at = uapi.AttachTcxEgress
	}
	s.hold(f.Prog)
	f.at = s.attach(&attachment{
		prog: f.Prog, place: on.on(at), hook: machine.Hook{AttachTo: f.Prog.lp.AttachTo, Section: f.Prog.lp.Section},
	})
	d.filters = append(d.filters, f)
	slices.SortStableFunc(d.filters, func(a, b *TCFilter) int { // the order in which they run; a new filter comes first among equals
		return cmp.Or(cmp.Compare(a.Parent, b.Parent), cmp.Compare(a.Priority, b.Priority))
	})
	return 0
}

// DelTCFilter removes filters: with priority 0 all of a hook, with handle 0 all of a priority
// (tc_del_tfilter).
func (s *System) DelTCFilter(on Device, parent uint32, priority, protocol uint16, handle uint32, kind string) uapi.Errno {
	s.mu.Lock()
	defer s.mu.Unlock()
	if priority == 0 && (protocol != 0 || handle != 0 || kind != "") {
		return uapi.ENOENT
	}
	d, parent, e := s.hookOf(on, parent)
	if e != 0 {
		return e
	}
	found := d.sameChain(parent, priority)
	switch {
	case priority == 0:
	case len(found) == 0:
		return uapi.ENOENT
	case protocol != 0 && found[0].Protocol != protocol, kind != "" && kind != "bpf":
		return uapi.EINVAL
	}
	n := 0
	for i := len(d.filters) - 1; i >= 0; i-- {
		f := d.filters[i]
		if f.Parent == parent && (priority == 0 || f.Priority == priority) && (handle == 0 || f.Handle == handle) {
			s.dropFilter(d, i)
			n++
		}
	}
	if n == 0 && handle != 0 {
		return uapi.ENOENT
	}
	return 0
}

// TCFilterAt returns one filter (tc_get_tfilter).
func (s *System) TCFilterAt(on Device, parent uint32, priority, protocol uint16, handle uint32) (*TCFilter, uapi.Errno) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if priority == 0 {
		return nil, uapi.ENOENT
	}
	d, parent, e := s.hookOf(on, parent)
	if e != 0 {
		return nil, e
	}
	found := d.sameChain(parent, priority)
	switch {
	case len(d.sameChain(parent, 0)) == 0: // the hook has no chain
		return nil, uapi.EINVAL
	case len(found) == 0:
		return nil, uapi.ENOENT
	case protocol != 0 && found[0].Protocol != protocol:
		return nil, uapi.EINVAL
	}
	for _, f := range found {
		if f.Handle == handle {
			return f, 0
		}
	}
	return nil, uapi.ENOENT
}

// TCFilters returns the filters of a hook in the order in which they run.
func (s *System) TCFilters(on Device, parent uint32) []*TCFilter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d, hook, e := s.hookOf(on, parent); e == 0 {
		return d.sameChain(hook, 0)
	}
	return nil
}

// Tag returns the program's tag.
func (p *Prog) Tag() [8]byte { return p.tag }
