package machine

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// Programs build records in elements of arrays, most often in one of a per-CPU array, since the
// stack is small. What an earlier run left there leaves with the next record where that is shorter
// or has other fields. So each tracked run of a program that sends memory begins with the values of
// its small arrays marked as unwritten, and what runs stored there is remembered. Zeros from the
// creation of the map, and what user space stored, were not left by a run.

// scratchLimit is the most bytes of arrays that are tracked for a program, and for one map: larger
// ones are tables.
const scratchLimit = 32 << 10

// scratches are the buffers of all programs.
type scratches struct {
	list   map[string][]*scratch // by program
	shared map[span]*scratch
	active []*scratch // marked for the current run
}

// scratch is one value of an array.
type scratch struct {
	span
	b    *boundMap
	left []*program // of each byte: the program whose run stored it last
	last []byte     // what they left
}

// sends reports whether a program has a helper call by which memory leaves it, besides records that
// it reserves, and whether it tail calls.
func sends(lp *loader.LinkedProgram) (sends, tails bool) {
	for _, in := range lp.Insns {
		if in.Op() != decode.OpCallHelper {
			continue
		}
		id := uapi.FuncID(in.Imm)
		_, leaves := proto.Leaves(id)
		sends = sends || leaves && id != uapi.FuncRingbufSubmit && id != uapi.FuncRingbufSubmitDynptr
		tails = tails || id == uapi.FuncTailCall
	}
	return sends, tails
}

// scratchOf returns the buffers that a program may send.
func (m *Machine) scratchOf(p *program) []*scratch {
	sc := &m.scratches
	if list, ok := sc.list[p.lp.Name]; ok {
		return list
	}
	if sc.list == nil {
		sc.list, sc.shared = map[string][]*scratch{}, map[span]*scratch{}
	}
	sends, tails := sends(p.lp)
	var list []*scratch
	seen, total := map[*boundMap]bool{}, uint64(0)
	add := func(lp *loader.LinkedProgram) {
		for _, ref := range lp.Refs {
			b := m.byDef[ref.Map]
			if b == nil || seen[b] {
				continue
			}
			seen[b] = true
			for _, s := range sc.valuesOf(b) {
				if total += s.size; total <= scratchLimit {
					list = append(list, s)
				}
			}
		}
	}
	if sends || tails {
		add(p.lp)
	}
	if tails { // to any program
		for q := range m.programs.All() {
			add(q.lp)
		}
	}
	sc.list[p.lp.Name] = list
	return list
}

// valuesOf returns the values of a small array.
func (sc *scratches) valuesOf(b *boundMap) []*scratch {
	a, ok := b.m.(maps.Array)
	if !ok || b.def.Frozen() {
		return nil
	}
	l, size := a.Layout(), uint64(a.Spec().ValueSize)
	if n := uint64(l.Entries) * uint64(l.Copies) * size; n > scratchLimit || a.Spec().Flags&(uapi.MapRdonlyProg|uapi.MapMmapable) != 0 && b.def.Data == nil {
		return nil
	}
	var out []*scratch
	for i := range l.Entries {
		base := l.Bases[i>>l.Shift]
		if base == 0 {
			continue
		}
		for cpu := range l.Copies {
			at := span{base + uint64(i&(1<<l.Shift-1))*l.Stride + uint64(cpu)*l.CopyStride, size}
			if sc.shared[at] == nil {
				sc.shared[at] = &scratch{span: at, b: b, left: make([]*program, size)}
			}
			out = append(out, sc.shared[at])
		}
	}
	return out
}

// beginScratch marks the buffers of a program for a tracked run.
func (m *Machine) beginScratch(p *program) {
	m.scratches.active = m.scratches.active[:0]
	if !m.thread.Tracks() || m.run.ignoreUnset || len(m.runs) > 0 { // runs that share the buffers are under way
		return
	}
	for _, s := range m.scratchOf(p) {
		r := m.mem.Find(s.addr)
		if r == nil {
			continue
		}
		if s.last != nil {
			now := m.mem.Bytes(r)[s.addr-r.Base:][:s.size]
			for i := range s.last {
				if s.last[i] != now[i] {
					s.left[i] = nil // user space stored it
				}
			}
		}
		m.mem.Unwrite(s.addr, s.size)
		m.scratches.active = append(m.scratches.active, s)
	}
}

// endScratch ends that, and remembers what the run stored.
func (m *Machine) endScratch(p *program, l *leaks) {
	for _, s := range m.scratches.active {
		r := m.mem.Find(s.addr)
		if r == nil {
			continue
		}
		now := m.mem.Bytes(r)[s.addr-r.Base:][:s.size]
		if s.last != nil && m.mem.CountUnwritten(s.addr, s.size) == int(s.size) {
			m.mem.Define(s.addr, s.size)
			continue
		}
		unwritten := m.mem.Unwritten(s.addr, s.size)
		for i := range s.left {
			if len(unwritten) > 0 && unwritten[0] == s.addr+uint64(i) {
				unwritten = unwritten[1:]
			} else if !l.wasRead(s.addr+uint64(i)) || s.last != nil && s.last[i] != now[i] {
				s.left[i] = p
			}
		}
		s.last = append(s.last[:0], now...)
		m.mem.Define(s.addr, s.size)
	}
	m.scratches.active = m.scratches.active[:0]
}

// wasRead reports whether the run read a byte of a map value before it wrote it.
func (l *leaks) wasRead(addr uint64) bool {
	for _, r := range l.read {
		if r.contains(addr) {
			return true
		}
	}
	return false
}

// stale returns those of the unwritten bytes of u that were left by accident. In a map value that
// the run used as a buffer these are all that earlier runs of the program stored, but for zeros.
// Where the run read something before it stored there, the value holds state, and only the rest of
// a field that it stored in part counts.
func (rec *recorder) stale(l *leak, u mem.Unset) []uint64 {
	if u.Region.Kind != mem.MapValue && u.Region.Kind != mem.Global {
		return u.Unwritten
	}
	first := u.Addr - u.Region.Base
	s := rec.scratchAt(u.Addr)
	if s == nil || len(u.Unwritten) == int(u.Size) { // not a buffer, or one that this run did not touch
		return nil
	}
	state := false
	for _, r := range rec.run.leaks.read {
		state = state || r.addr+r.size > u.Addr && r.addr < u.Addr+u.Size
	}
	value := rec.reg.linked.Object.BTF
	unwritten := map[uint64]bool{}
	for _, off := range u.Unwritten {
		unwritten[off-first] = true
	}
	var out []uint64
	for _, off := range u.Unwritten {
		at := u.Region.Base + off - s.addr
		if s.left[at] != rec.run.prog || s.last[at] == 0 { // what another program left is shared on purpose, and a zero tells nothing
			continue
		}
		if state {
			if value == nil || s.b.def.ValueType == 0 {
				continue
			}
			f := fieldOf(value, s.b.def.ValueType, uint32(at))
			if f.padding || f.elem == 0 || off == first || unwritten[uint64(f.start)+s.addr-u.Addr] {
				continue
			}
		}
		out = append(out, off)
	}
	return out
}

// scratchAt returns the buffer that contains an address.
func (rec *recorder) scratchAt(addr uint64) *scratch {
	for _, s := range rec.scratches.active {
		if s.contains(addr) {
			return s
		}
	}
	return nil
}
