package verifier

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/verifier/since"
)

// iterArg judges the iterator argument of a kernel function (process_iter_arg).
func (e *env) iterArg(m *callMeta, n int, t *btf.Type) {
	k := m.k
	r := e.reg(n)
	if r.typ != ptrStack {
		e.refuse(uapi.EINVAL, "arg#%d expected pointer to an iterator on stack", n-1)
	}
	if t.Kind != btf.KindStruct || !strings.HasPrefix(t.Name, "bpf_iter_") {
		e.refuse(uapi.EINVAL, "expected valid iter pointer as arg #%d", n-1)
	}
	name := strings.TrimPrefix(t.Name, "bpf_iter_")
	slots := int(t.Size) / 8
	if k.flags.has(kfIterNew) {
		spi, errno := e.objectSpi(r, "iter", slots)
		bad := errno != 0 && errno != uapi.ERANGE
		if errno == 0 {
			for i := 0; i < slots; i++ {
				for _, b := range e.funcOf(r).stack[spi-i].t {
					bad = bad || b == slotIter
				}
			}
		}
		if bad {
			e.refuse(uapi.EINVAL, "expected uninitialized iter_%s as arg #%d", name, n-1)
		}
		for i := 0; i < slots*8; i += 8 {
			e.access(e.insn, n, i, 8, write, -1, false, false)
		}
		e.newIter(m, e.reg(n), slots, t.ID)
		return
	}
	spi, errno := e.objectSpi(r, "iter", slots)
	f := e.funcOf(r)
	ok := errno == 0
	for i := 0; ok && i < slots; i++ {
		s := &f.stack[spi-i]
		if s.reg.typ&ptrUntrusted != 0 {
			e.refuse(uapi.EPROTO, "expected an RCU CS when using %s", k.name)
		}
		ok = (i == 0) == (s.reg.ref != 0) && s.reg.spec == k.spec && s.reg.tid == uint32(t.ID)
		for _, b := range s.t {
			ok = ok && b == slotIter
		}
	}
	if !ok {
		e.refuse(uapi.EINVAL, "expected an initialized iter_%s as arg #%d", name, n-1)
	}
	for i := 0; i < slots; i++ {
		e.readSlot(f, spi-i)
		e.log.touchSlot(f.no, spi-i)
	}
	m.iterSpi, m.iterFrame = spi, int(r.frame)
	m.ref = f.stack[spi].reg.ref
	if k.flags.has(kfIterDestroy) {
		for i := 0; i < slots; i++ {
			s := &f.stack[spi-i]
			if i == 0 {
				e.release(s.reg.ref)
			}
			s.reg.notInit()
			s.t = [8]uint8{}
			e.wroteSlot(f, spi-i)
		}
	}
}

func (e *env) newIter(m *callMeta, r *reg, slots int, id btf.ID) {
	spi, errno := e.objectSpi(r, "iter", slots)
	if errno != 0 {
		panic(refusal{errno})
	}
	f := e.funcOf(r)
	ref := e.acquire()
	for i := 0; i < slots; i++ {
		s := &f.stack[spi-i]
		s.reg.pointer(ptrStack)
		if m.k.flags.has(kfRCUProtected) {
			if e.inRCU() {
				s.reg.typ |= memRCU
			} else {
				s.reg.typ |= ptrUntrusted
			}
		}
		e.wroteSlot(f, spi-i)
		if i == 0 {
			s.reg.ref = ref
		}
		s.reg.spec, s.reg.tid = m.k.spec, uint32(id)
		s.reg.istate, s.reg.depth = iterActive, 0
		for j := range s.t {
			s.t[j] = slotIter
		}
		e.log.touchSlot(f.no, spi-i)
	}
}

func (e *env) iterReg(m *callMeta) *reg {
	return &e.cur.frames[m.iterFrame].stack[m.iterSpi].reg
}

// iterNextCall explores both ways of a call for the next element: there is one, or the iterator is at its end
// (process_iter_next_call).
func (e *env) iterNextCall(m *callMeta) {
	cur := e.cur
	it := e.iterReg(m)
	if it.istate == iterActive {
		var prev *state
		if cur.parent == nil || cur.parent.insn != e.insn || !sameCallsites(cur.parent, cur) {
			if e.has(since.ConvergingIterators) {
				e.bug("bad parent state for iter next call")
			}
		} else {
			prev = e.findEntry(cur.parent, e.insn)
		}
		q := e.push(e.insn+1, e.insn)
		qi := &q.frames[m.iterFrame].stack[m.iterSpi].reg
		qi.istate = iterActive
		qi.depth++
		if prev != nil && e.has(since.ConvergingIterators) {
			e.widen(prev, q)
		}
		e.notNull(&q.regs()[0])
	}
	it.istate = iterDrained
	e.reg(0).constant(0)
}
