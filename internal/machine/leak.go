package machine

import (
	"slices"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// leaks are the findings of bytes that left the program although the run never wrote them.
type leaks struct {
	list []*leak
	// kept are stores to map values that copied unwritten bytes: a leak if the bytes are there at
	// the end of the run.
	kept []keptStore
	// copied are the stores of bytes that the run loaded without having written them.
	copied []copiedBytes
	// read are the bytes of map values that the run read before it wrote them.
	read []span
}

// A leak is one instruction with which unwritten bytes of one argument leave.
type leak struct {
	p    *program
	insn int
	arg  int
	does string // "bpf_ringbuf_output sends"
	to   string // "to events"
	what string // what the bytes are if their type is not known: "the record"
	spec *btf.Spec
	typ  btf.ID // 0 if not known
	size uint64
	// why has the offsets from the start, by where the bytes come from.
	why map[uint32]source
	at  int // index of the finding in the result
}

// source is where unwritten bytes come from.
type source uint8

const (
	fromStack source = iota
	fromBuffer
	fromRecord
	fromEarlier
	fromObject
	fromRoom
	fromCopy
)

var sourceTexts = [...]string{
	fromStack:   "never stored on the stack",
	fromBuffer:  "not stored by the helper that was to fill the buffer",
	fromRecord:  "never stored in the reserved record, which has bytes of earlier ones",
	fromEarlier: "left there by an earlier run",
	fromObject:  "never stored in the allocated object",
	fromRoom:    "never stored in the room that was added to the packet",
	fromCopy:    "copied from where they were never stored",
}

// span is a range of addresses.
type span struct{ addr, size uint64 }

func (s span) contains(addr uint64) bool { return addr-s.addr < s.size }

type keptStore struct {
	p    *program
	insn int
	span
}

type copiedBytes struct {
	span
	from point // the load
}

// mostLeaks limits what a run records about leaks: a loop must not grow it without bound.
const mostLeaks = 64

func (l *leaks) copy(c copiedBytes) {
	if len(l.copied) < 1<<10 {
		l.copied = append(l.copied, c)
	}
}

func (l *leaks) keep(p *program, insn int, addr, size uint64) {
	if len(l.kept) < 1<<10 {
		l.kept = append(l.kept, keptStore{p, insn, span{addr, size}})
	}
}

// sourceOf returns where unwritten bytes of a region come from; unset are those of a stack that no
// helper was to fill.
func sourceOf(r *mem.Region, unset bool) source {
	switch {
	case r.Kind == mem.Stack && unset:
		return fromStack
	case r.Kind == mem.RingbufRecord:
		return fromRecord
	case r.Kind == mem.MapValue || r.Kind == mem.Global:
		return fromEarlier
	case r.Kind == mem.LocalObject:
		return fromObject
	case r.Kind == mem.Packet:
		return fromRoom
	}
	return fromBuffer
}

// sourceAt returns where the unwritten byte at an offset of a region comes from.
func (rec *recorder) sourceAt(r *mem.Region, off uint64) source {
	copied := rec.run.leaks.copied
	for i := len(copied) - 1; i >= 0; i-- {
		if c := &copied[i]; c.contains(r.Base + off) {
			rec.run.tellOnce(c.from.p.lp.Name, c.from.start)
			return fromCopy
		}
	}
	return sourceOf(r, false)
}

// unwritten handles a read of bytes that this run did not write. It returns true if the bytes leave
// the program by it, so that nothing more is to be said.
func (rec *recorder) unwritten(u mem.Unset) bool {
	st := rec.run
	if st == nil || rec.quiet || st.ignoreUnset || !rec.thread.Tracks() {
		return false
	}
	p, ok := owner(rec.thread.Image())
	pc := rec.thread.PC()
	if !ok || pc >= len(p.lp.Insns) {
		return false
	}
	in := p.lp.Insns[pc]
	switch in.Info().Form {
	case decode.FormLoad, decode.FormLoadAcq:
		if u.Region.Kind == mem.MapValue || u.Region.Kind == mem.Global {
			rec.stateRead(u)
		} else {
			st.copies.loaded(rec.thread, p, in, u)
		}
	case decode.FormCall:
		if in.Op() == decode.OpCallHelper {
			return rec.leaves(p, pc, uapi.FuncID(in.Imm), u)
		}
	case decode.FormAtomic, decode.FormFetch, decode.FormXchg, decode.FormCmpXchg:
		rec.stateRead(u)
	}
	return false
}

// stateRead notes that the program reads bytes of a map value that an earlier run left: they are
// its state, and no accident.
func (rec *recorder) stateRead(u mem.Unset) {
	if u.Region.Kind != mem.MapValue && u.Region.Kind != mem.Global {
		return
	}
	rec.run.leaks.read = append(rec.run.leaks.read, span{u.Addr, u.Size})
	rec.mem.Define(u.Addr, u.Size)
}

// leaves handles a helper's read. It returns false if the helper keeps what it reads.
func (rec *recorder) leaves(p *program, pc int, id uapi.FuncID, u mem.Unset) bool {
	leaving, ok := proto.Leaves(id)
	if !ok {
		return false
	}
	h, _ := proto.Lookup(id)
	l := leak{p: p, insn: pc, arg: -1, does: h.Name() + " " + leaving.Does, to: leaving.To, size: u.Size, what: "bytes"}
	var b *boundMap
	for i, a := range h.Common().Args {
		if a.Kind == proto.ConstMap {
			b = rec.mapOf(rec.thread.Reg(1 + i))
		}
	}
	if r, ok := u.Region.Owner.(interface{ Addr() uint64 }); ok && u.Region.Kind == mem.RingbufRecord && b == nil {
		b = rec.mapOf(r.Addr())
	}
	for i, a := range h.Common().Args {
		if rec.thread.Reg(1+i) != u.Addr {
			continue
		}
		l.arg = i
		if b != nil && a.Kind == proto.MapKey {
			l.spec, l.typ, l.what = rec.reg.linked.Object.BTF, b.def.KeyType, "key"
		}
		if b != nil && a.Kind == proto.MapValue {
			l.spec, l.typ, l.what = rec.reg.linked.Object.BTF, b.def.ValueType, "value"
		}
		break
	}
	if b != nil {
		l.to = b.def.Name
		if leaving.Does == "stores" {
			l.to = "map " + b.def.Name
		}
		if l.typ == 0 && leaving.Does == "sends" {
			l.what = "record"
			if l.typ = rec.events.Find(b.def.Name, int(u.Size)); l.typ != 0 {
				l.spec = rec.events.Spec()
			}
		}
	}
	rec.leaked(&l, u)
	return true
}

// leaked adds the unwritten bytes of u to a leak.
func (rec *recorder) leaked(l *leak, u mem.Unset) {
	l.why = map[uint32]source{}
	first := u.Addr - u.Region.Base
	for _, off := range u.Offsets {
		l.why[uint32(off-first)] = sourceOf(u.Region, true)
	}
	for _, off := range rec.stale(l, u) {
		l.why[uint32(off-first)] = rec.sourceAt(u.Region, off)
	}
	rec.report(l)
}

// report makes a leak a finding, or extends that of the same place: compilers unroll loops.
func (rec *recorder) report(l *leak) {
	if len(l.why) == 0 {
		return
	}
	st, source, line := rec.run, "", ""
	if l.insn >= 0 {
		source, line = l.p.lineOf(l.insn)
	}
	for _, old := range st.leaks.list {
		at := &st.result.Findings[old.at]
		if old.p == l.p && old.arg == l.arg && old.to == l.to && (old.insn == l.insn || source != "" && at.Source == source) {
			more := false
			for off, why := range l.why {
				if _, ok := old.why[off]; !ok && len(old.why) < 1<<16 {
					old.why[off], more = why, true
				}
			}
			if old.size = max(old.size, l.size); more {
				at.Text = old.text()
			}
			return
		}
	}
	if len(st.leaks.list) >= mostLeaks {
		return
	}
	f := finding.Finding{Kind: finding.Leak, Program: l.p.lp.Name, Insn: l.insn, Source: source, Line: line, Text: l.text()}
	if slices.Contains(st.result.Findings, f) { // of an earlier packet of a replay
		return
	}
	l.at = len(st.result.Findings)
	st.leaks.list = append(st.leaks.list, l)
	st.result.Findings = append(st.result.Findings, f)
}

// endLeaks looks at what is left at the end of a run: values of maps, and the packet that goes on.
func (m *Machine) endLeaks(p *program, c *hook.Context) {
	if !m.thread.Tracks() {
		return
	}
	l := &m.run.leaks
	for _, k := range l.kept {
		r := m.mem.Find(k.addr)
		if r == nil {
			continue
		}
		m.keptLeak(k, r)
		m.mem.Define(k.addr, k.size)
	}
	if pkt := c.Packet; pkt != nil && m.thread.Fault() == nil && progtype.GoesOn(p.lp.Type, int32(m.thread.Ret())) {
		m.packetLeak(p, pkt.Data(), uint64(pkt.Linear()))
	}
	m.endScratch(p, l)
	l.kept, l.copied, l.read = l.kept[:0], l.copied[:0], l.read[:0]
}

// keptLeak reports unwritten bytes that a store left in a value of a map that user space may read.
func (m *Machine) keptLeak(k keptStore, r *mem.Region) {
	at, ok := r.Owner.(interface{ Addr() uint64 })
	if !ok || m.scratchAt(k.addr) != nil {
		return
	}
	b := m.mapOf(at.Addr())
	if b == nil || b.def.Type == uapi.MapTypePercpuArray {
		return
	}
	start := r.Base
	if _, off, ok := r.Elem(k.addr); ok {
		start = k.addr - off
	}
	out := &leak{p: k.p, insn: k.insn, arg: -1, does: "a store leaves", to: "map " + b.def.Name, what: "value", spec: m.linked.Object.BTF, typ: b.def.ValueType, size: uint64(b.def.ValueSize), why: map[uint32]source{}}
	for _, addr := range m.mem.Unwritten(k.addr, k.size) {
		out.why[uint32(addr-start)] = m.sourceAt(r, addr-r.Base)
	}
	m.report(out)
}

// roomAdded returns the instruction that adds room to the packet, -1 if it is in a program that p
// called.
func roomAdded(p *program) int {
	return slices.IndexFunc(p.lp.Insns, func(in decode.Insn) bool {
		return in.Op() == decode.OpCallHelper && uapi.FuncID(in.Imm) == uapi.FuncXDPAdjustHead
	})
}

// packetLeak reports unwritten bytes of a packet that goes on.
func (m *Machine) packetLeak(p *program, data, n uint64) {
	r := m.mem.Find(data)
	if r == nil || !r.Marked() {
		return
	}
	out := &leak{p: p, insn: roomAdded(p), arg: -1, does: "the program passes on", to: "the network", what: "packet", size: n, why: map[uint32]source{}}
	for _, addr := range m.mem.Unwritten(data, n) {
		out.why[uint32(addr-data)] = fromRoom
	}
	m.report(out)
}
