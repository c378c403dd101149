package verifier

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/uapi/since"
)

func (c *kfuncs) graphRoot(m *callMeta, n int, kind kfArg) {
	r := c.reg(n)
	want, name := fieldListHead, "bpf_list_head"
	if kind == kaRoot {
		want, name = fieldRBRoot, "bpf_rb_root"
	}
	if !r.Var.IsConst() {
		c.refuse(uapi.EINVAL, "R%d doesn't have constant offset. %s has to be at the constant offset", n, name)
	}
	rec := c.recordOf(r)
	off := uint32(r.offset())
	f := rec.find(off, want)
	if f == nil {
		c.refuse(uapi.EINVAL, "%s not found at offset=%d", name, off)
	}
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
			c.verbose("held lock and object are not in the same allocation")
		}
	}
	if !locked {
		at := int64(-1)
		if l := rec.first(fieldSpinLock | fieldResSpinLock); l != nil {
			at = int64(l.off)
		}
		c.refuse(uapi.EINVAL, "bpf_spin_lock at off=%d must be held for %s", at, name)
	}
	m.root, m.rootRec = f, rec
}

func (c *kfuncs) graphNodeArg(m *callMeta, n int, kind kfArg) {
	r := c.reg(n)
	k := m.k
	want, name, head := fieldListNode, "bpf_list_node", "bpf_list_head"
	if kind == kaNode {
		want, name, head = fieldRBNode, "bpf_rb_node", "bpf_rb_root"
	}
	if k.is(proto.TakesTreeNode) {
		if c.has(since.TreeWalk) {
			if !r.typ.isNonOwning() && r.ref == 0 {
				c.refuse(uapi.EINVAL, "%s can only take non-owning or refcounted bpf_rb_node pointer", k.name)
			}
		} else if !r.typ.isNonOwning() || r.ref != 0 {
			c.refuse(uapi.EINVAL, "rbtree_remove node input must be non-owning ref")
		}
		if c.resources.inTreeCallback() {
			if !c.has(since.TreeWalk) {
				c.refuse(uapi.EINVAL, "rbtree_remove not allowed in rbtree cb")
			}
			c.refuse(uapi.EINVAL, "%s not allowed in rbtree cb", k.name)
		}
	} else {
		if r.typ != ptrBTF|memAlloc {
			c.refuse(uapi.EINVAL, "arg#%d expected pointer to allocated object", n-1)
		}
		if r.ref == 0 {
			c.refuse(uapi.EINVAL, "allocated object must be referenced")
		}
	}
	if !r.Var.IsConst() {
		c.refuse(uapi.EINVAL, "R%d doesn't have constant offset. %s has to be at the constant offset", n, name)
	}
	off := uint32(r.offset())
	if c.recordOf(r).find(off, want) == nil {
		c.refuse(uapi.EINVAL, "%s not found at offset=%d", name, off)
	}
	f := m.root
	if !c.kernelMem.structMatch(r.spec, btf.ID(r.tid), 0, f.spec, f.tid, true, false) {
		c.refuse(uapi.EINVAL, "operation on %s expects arg#1 %s at offset=%d in struct %s, but arg is at offset=%d in struct %s", head, name, f.nodeOff, c.specName(f.spec, uint32(f.tid)), off, c.specName(r.spec, r.tid))
	}
	m.argSpec, m.argID = r.spec, r.tid
	if off != f.nodeOff {
		c.refuse(uapi.EINVAL, "arg#1 offset=%d, but expected %s at offset=%d in struct %s", off, name, f.nodeOff, c.specName(f.spec, uint32(f.tid)))
	}
}

// irqArg checks a saved interrupt flag (process_irq_flag).
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
			c.refuse(uapi.EINVAL, "expected uninitialized irq flag as arg#%d", n-1)
		}
		c.memory.access(c.insn, n, 0, 8, write, -1, false, false)
		r = c.reg(n)
		spi, _ = c.stack.objectSpi(r, "irq_flag", 1)
		f := c.funcOf(r)
		x := ref{kind: refIRQ, id: c.newID(), insn: c.insn}
		c.cur.refs = append(c.cur.refs, x)
		c.cur.irqID = x.id
		sl := &f.stack[spi]
		sl.reg.pointer(ptrStack)
		sl.reg.ref, sl.reg.class = x.id, class
		c.liveness.wroteSlot(f, spi)
		for i := range sl.t {
			sl.t[i] = slotIRQ
		}
		return
	}
	if errno != 0 || c.funcOf(r).stack[spi].t[0] != slotIRQ {
		c.refuse(uapi.EINVAL, "expected an initialized irq flag as arg#%d", n-1)
	}
	f := c.funcOf(r)
	sl := &f.stack[spi]
	c.liveness.readSlot(f, spi)
	if sl.reg.class != class {
		names := [...]string{"native", "lock"}
		c.refuse(uapi.EINVAL, "irq flag acquired by %s kfuncs cannot be restored with %s kfuncs", names[sl.reg.class], names[class])
	}
	if sl.reg.ref != c.cur.irqID {
		at := 0
		for _, x := range c.cur.refs {
			if x.id == c.cur.irqID {
				at = x.insn
			}
		}
		c.refuse(uapi.EACCES, "cannot restore irq state out of order, expected id=%d acquired at insn_idx=%d", c.cur.irqID, at)
	}
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
