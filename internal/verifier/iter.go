package verifier

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// iterArg checks the iterator argument of a kernel function (process_iter_arg). An iterator is an
// object on the stack that only these functions may change: it holds pointers of the kernel.
func (c *kfuncs) iterArg(m *callMeta, n int, t *btf.Type) {
	k := m.k
	r := c.reg(n)
	if r.typ != ptrStack {
		c.refuse(refusal.ArgExpectedPointerIteratorStack, c.argAs("arg#", n))
	}
	if t.Kind != btf.KindStruct || !strings.HasPrefix(t.Name, "bpf_iter_") {
		c.refuse(refusal.ExpectedValidIterPointerArg, c.argAs("arg #", n))
	}
	name := strings.TrimPrefix(t.Name, "bpf_iter_")
	// An iterator's struct is as long as the kernel's state of it.
	slots := int(t.Size) / 8
	// An iterator that is overwritten could never be destroyed (is_iter_reg_valid_uninit).
	if k.flags.has(kfIterNew) {
		spi, errno := c.stack.objectSpi(r, "iter", slots)
		bad := errno != 0 && errno != uapi.ERANGE
		if errno == 0 {
			for i := 0; i < slots; i++ {
				for _, b := range c.funcOf(r).stack[spi-i].t {
					bad = bad || b == slotIter
				}
			}
		}
		if bad {
			c.refuse(refusal.ExpectedUninitializedIterArg, name, c.argAs("arg #", n))
		}
		// The place is written as ordinary stack first, which ends what was there.
		for i := 0; i < slots*8; i += 8 {
			c.memory.access(c.insn, n, i, 8, write, -1, false, false)
		}
		c.newIter(m, c.reg(n), slots, t.ID)
		return
	}
	spi, errno := c.stack.objectSpi(r, "iter", slots)
	f := c.funcOf(r)
	ok := errno == 0
	for i := 0; ok && i < slots; i++ {
		s := f.stack[spi-i]
		// The RCU read-side section in which the iterator began has ended, or there was none.
		if s.reg.typ&ptrUntrusted != 0 {
			c.refuse(refusal.ExpectedRCUCSWhenUsing, k.name)
		}
		// The reference is in the first slot: two halves of different iterators are none
		// (is_iter_reg_valid_init).
		ok = (i == 0) == (s.reg.ref != 0) && s.reg.spec == k.spec && s.reg.tid == uint32(t.ID)
		for _, b := range s.t {
			ok = ok && b == slotIter
		}
	}
	if !ok {
		c.refuse(refusal.ExpectedInitializedIterArg, name, c.argAs("arg #", n))
	}
	// All slots count as read, or pruning would ignore them (mark_iter_read).
	for i := 0; i < slots; i++ {
		c.liveness.readSlot(f, spi-i)
		c.log.touchSlot(spi - i)
	}
	m.iterSpi, m.iterFrame = spi, int(r.frame)
	m.ref = f.stack[spi].reg.ref
	// The slots are free afterwards (unmark_stack_slots_iter).
	if k.flags.has(kfIterDestroy) {
		for i := 0; i < slots; i++ {
			s := f.own(spi - i)
			if i == 0 {
				c.resources.release(s.reg.ref)
			}
			s.reg.notInit()
			s.t = [8]uint8{}
			c.liveness.wroteSlot(f, spi-i)
		}
	}
}

// newIter makes an iterator of slots (mark_stack_slots_iter). It is a reference, so that it must be
// destroyed on all paths.
func (c *kfuncs) newIter(m *callMeta, r *reg, slots int, id btf.ID) {
	spi, errno := c.stack.objectSpi(r, "iter", slots)
	if errno != 0 {
		panic(refused{errno})
	}
	f := c.funcOf(r)
	ref := c.resources.acquire()
	for i := 0; i < slots; i++ {
		s := f.own(spi - i)
		// The slot has the form of a pointer with offset 0, of which only the flags count.
		s.reg.pointer(ptrStack)
		// What the iterator returns is protected by the section in which it began.
		if m.k.flags.has(kfRCUProtected) {
			if c.resources.inRCU() {
				s.reg.typ |= memRCU
			} else {
				s.reg.typ |= ptrUntrusted
			}
		}
		c.liveness.wroteSlot(f, spi-i)
		if i == 0 {
			s.reg.ref = ref
		}
		s.reg.spec, s.reg.tid = m.k.spec, uint32(id)
		s.reg.istate, s.reg.depth = iterActive, 0
		for j := range s.t {
			s.t[j] = slotIter
		}
		c.log.touchSlot(spi - i)
	}
}

func (c *kfuncs) iterReg(m *callMeta) *reg {
	return &c.cur.frames[m.iterFrame].own(m.iterSpi).reg
}

// iterNextCall explores both outcomes of a call for the next element: there is one, or the iterator
// has reached its end (process_iter_next_call). Every iterator ends at some time and stays so, by
// contract of these functions: the loop is safe once its states converge.
func (c *kfuncs) iterNextCall(m *callMeta) {
	cur := c.cur
	if c.iterReg(m).istate == iterActive {
		var prev *state
		// Each call keeps a state, so the last one is of this call unless the path is new.
		if cur.parent == nil || cur.parent.insn != c.insn || !sameCallsites(cur.parent, cur) {
			if c.has(since.ConvergingIterators) {
				c.bug("bad parent state for iter next call")
			}
		} else {
			prev = c.checkpoints.findEntry(cur.parent, c.insn)
		}
		q := c.pool.push(c.insn+1, c.insn)
		qi := &q.frames[m.iterFrame].own(m.iterSpi).reg
		qi.istate = iterActive
		// The next round is no endless loop, even if nothing else changes
		// (iter_active_depths_differ).
		qi.depth++
		// A counter in the loop would differ in each round; if it decides nothing, it is forgotten
		// (widen_imprecise_scalars).
		if prev != nil && c.has(since.ConvergingIterators) {
			c.checkpoints.widen(prev, q)
		}
		// On the queued path there is one.
		c.values.notNull(&q.regs()[0])
	}
	// On the path that goes on, there was no further element.
	c.iterReg(m).istate = iterDrained
	c.reg(0).constant(0)
}
