package verifier

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// graphRoot checks the head of a list or the root of a tree (process_kf_arg_ptr_to_graph_root). The
// lock that protects it is in the same object, which ids tell from others of the type.
func (c *kfuncs) graphRoot(m *callMeta, n int, kind kfArg) {
	r := c.reg(n)
	// Both are in map values or in objects of the program, beside the lock that protects them.
	if r.typ != ptrMapValue && r.typ != ptrBTF|memAlloc {
		c.badKfuncArg(refusal.ExpectedPointerMapValueAllocatedObject, n-1)
	}
	// An object that the program does not own may be freed by others while its list is changed.
	if r.typ == ptrBTF|memAlloc && r.ref == 0 {
		c.refuse(refusal.AllocatedObjectMustReferenced)
	}
	want, name := fieldListHead, "bpf_list_head"
	if kind == kaRoot {
		want, name = fieldRBRoot, "bpf_rb_root"
	}
	if !r.Var.IsConst() {
		c.refuse(refusal.NotConstantOffsetConstantOffset, n, name)
	}
	rec := c.recordOf(r)
	off := uint32(r.offset())
	f := rec.find(off, want)
	if f == nil {
		c.refuse(refusal.NotFoundOffset, name, off)
	}
	// Other CPUs change the list at the same time (check_reg_allocation_locked).
	locked := false
	if c.resources.holdsLock() {
		key := lockOf(r)
		if c.r.stateRefs {
			for _, x := range c.cur.refs {
				locked = locked || x.kind >= refLock && x.lock == key && x.id == r.id
			}
		} else {
			locked = c.cur.lock == key && c.cur.lockID == r.id
		}
		if !locked {
			c.say(refusal.HeldLockObjectNotInSame)
		}
	}
	if !locked {
		at := int64(-1)
		if l := rec.first(fieldSpinLock | fieldResSpinLock); l != nil {
			at = int64(l.off)
		}
		c.refuse(refusal.BpfSpinLockOffMustHeld, at, name)
	}
	m.root, m.rootRec = f, rec
}

// graphNodeArg checks a node (process_kf_arg_ptr_to_graph_node).
func (c *kfuncs) graphNodeArg(m *callMeta, n int, kind kfArg) {
	r := c.reg(n)
	k := m.k
	want, name, head := fieldListNode, "bpf_list_node", "bpf_list_head"
	if kind == kaNode {
		want, name, head = fieldRBNode, "bpf_rb_node", "bpf_rb_root"
	}
	// What is removed is in the tree, which owns it, so the program only refers to it. During the
	// comparison of an insertion the tree must not change.
	if k.is(proto.TakesTreeNode) {
		if c.has(since.TreeWalk) {
			// Reading a neighbour needs no more than that the node stays valid.
			if !r.typ.isNonOwning() && r.ref == 0 {
				c.refuse(refusal.OnlyTakeNonOwningRefcountedBpf, k.name)
			}
		} else if !r.typ.isNonOwning() || r.ref != 0 {
			c.refuse(refusal.RbtreeRemoveNodeInputMustNon)
		}
		if c.resources.inTreeCallback() {
			if !c.has(since.TreeWalk) {
				c.refuse(refusal.RbtreeRemoveNotAllowedInRbtree)
			}
			c.refuse(refusal.NotAllowedInRbtreeCb, k.name)
		}
	} else {
		if r.typ != ptrBTF|memAlloc {
			c.badKfuncArg(refusal.ExpectedPointerAllocatedObject, n-1)
		}
		// Inserting gives the object away, which only its owner can.
		if r.ref == 0 {
			c.refuse(refusal.AllocatedObjectMustReferenced)
		}
	}
	if !r.Var.IsConst() {
		c.refuse(refusal.NotConstantOffsetConstantOffset, n, name)
	}
	off := uint32(r.offset())
	// The address must be that of the node, from which the kernel finds its neighbours.
	if c.recordOf(r).find(off, want) == nil {
		c.refuse(refusal.NotFoundOffset, name, off)
	}
	// The root's declaration names the type that it contains and the member that links it: other
	// objects could not be found from that member.
	f := m.root
	if !c.kernelMem.structMatch(r.spec, btf.ID(r.tid), 0, f.spec, f.tid, true, c.kernelMem.beyond(r)) {
		c.refuse(refusal.OperationExpectsArg1OffsetIn, head, name, f.nodeOff, c.specName(f.spec, uint32(f.tid)), off, c.specName(r.spec, r.tid))
	}
	m.argSpec, m.argID = r.spec, r.tid
	if off != f.nodeOff {
		c.refuse(refusal.Arg1OffsetButExpectedOffset, off, name, f.nodeOff, c.specName(f.spec, uint32(f.tid)))
	}
}

// irqArg checks a saved interrupt flag (process_irq_flag). Its slot on the stack says what the
// state of interrupts was, so that nothing else may write it.
func (c *kfuncs) irqArg(m *callMeta, n int) {
	k := m.k
	r := c.reg(n)
	save := k.is(proto.SavesIRQ)
	class := uint8(0)
	if k.is(proto.TakesResLock|proto.DropsResLock) && k.is(proto.SavesIRQ|proto.RestoresIRQ) {
		class = 1
	}
	spi, errno := c.stack.objectSpi(r, "irq_flag", 1)
	if save {
		if errno != 0 && errno != uapi.ERANGE || errno == 0 && c.funcOf(r).stack[spi].t[0] == slotIRQ {
			c.refuse(refusal.ExpectedUninitializedIrqFlagArg, c.argName(n-1))
		}
		// The place is written as ordinary stack first, which ends what was there.
		c.memory.access(c.insn, n, 0, 8, write, -1, false, false)
		r = c.reg(n)
		spi, _ = c.stack.objectSpi(r, "irq_flag", 1)
		f := c.funcOf(r)
		// Interrupts that stay disabled would stop the CPU, so the flag is a reference
		// (acquire_irq_state).
		x := ref{kind: refIRQ, id: c.newID(), insn: c.insn}
		c.cur.refs = append(c.cur.refs, x)
		c.cur.irqID = x.id
		sl := f.own(spi)
		sl.reg.pointer(ptrStack)
		sl.reg.ref, sl.reg.class = x.id, class
		c.liveness.wroteSlot(f, spi)
		for i := range sl.t {
			sl.t[i] = slotIRQ
		}
		return
	}
	if errno != 0 || c.funcOf(r).stack[spi].t[0] != slotIRQ {
		c.refuse(refusal.ExpectedInitializedIrqFlagArg, c.argName(n-1))
	}
	f := c.funcOf(r)
	sl := f.own(spi)
	c.liveness.readSlot(f, spi)
	// The lock's functions keep more than the flag.
	if sl.reg.class != class {
		names := [...]string{"native", "lock"}
		c.refuse(refusal.IrqFlagAcquiredKfuncsCannotRestored, names[sl.reg.class], names[class])
	}
	// Sections are nested: restoring an outer flag first would enable interrupts within the inner
	// one (release_irq_state).
	if sl.reg.ref != c.cur.irqID {
		at := 0
		for _, x := range c.cur.refs {
			if x.id == c.cur.irqID {
				at = x.insn
			}
		}
		c.refuse(refusal.CannotRestoreIrqStateOutOrder, c.cur.irqID, at)
	}
	// The section around it is the current one again.
	prev := uint32(0)
	for i := 0; i < len(c.cur.refs); i++ {
		x := &c.cur.refs[i]
		if x.kind == refIRQ && x.id == sl.reg.ref {
			c.resources.removeRef(&c.cur.refs, i)
			i--
		} else if x.kind == refIRQ {
			prev = x.id
		}
	}
	c.cur.irqID = prev
	sl.reg.notInit()
	sl.t = [8]uint8{}
	c.liveness.wroteSlot(f, spi)
}
