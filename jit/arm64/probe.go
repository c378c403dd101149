package arm64

import (
	"math/bits"
	"unsafe"

	"github.com/bpfrun/bpfrun/internal/keyhash"
	"github.com/bpfrun/bpfrun/internal/recent"
	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

// The registers of a search besides temp1, which is the address of the key or, in tries, the key
// itself, and temp3.
const (
	hashS   = temp2
	tabS    = temp4
	maskS   = temp5
	indexS  = temp6
	wordS   = link    // the key looked for, if it is one word
	slotS   = reg(17) // the entry of the table, then the slot, then the element's address
	lengthS = reg(27) // number of the next prefix length, times 4
)

// opUmulh is the upper half of a product.
const opUmulh = 0x9bc07c00

// sliceLen is the offset of the length in a slice; that of the address is 0.
const sliceLen = int32(unsafe.Sizeof(uintptr(0)))

// search puts the address of a hash's element into r0, 0 if there is none.
func (c *compiler) search(in *plan.Insn, f *plan.Inline) {
	h, owned := f.Hash, f.Kind == vm.InlineOwned
	if owned {
		c.move(wordS, 2)
	} else if key := c.operand(in, false); key.index != zr {
		c.rrr(1, opAdd, temp1, key.base, key.index)
	} else {
		c.addImm(1, temp1, key.base, int64(key.off), temp3)
	}
	var none []int32
	again := int32(0)
	switch {
	case owned:
	case h.Lengths != nil && h.KeySize != 8:
		c.put(temp1, plan.OffKeyAt)
		c.mem(loads[2], temp3, temp1, 0, zr)
		c.cmpImm(0, temp3, int64(8*(h.KeySize-4)), zr)
		none = append(none, c.near(condHI))
		c.put(zr, plan.OffNext)
		again = c.pos()
		none = append(none, c.widePrefix(h, again))
	case h.Lengths != nil:
		c.mem(loads[3], temp1, temp1, 0, temp3)
		c.cmpImm(0, temp1, 32, temp3)
		none = append(none, c.near(condHI))
		c.constant(lengthS, 0)
		again = c.pos()
		none = append(none, c.prefix(h, again))
	case h.KeySize == 4:
		c.mem(loads[2], wordS, temp1, 0, temp3)
	case h.KeySize == 8:
		c.mem(loads[3], wordS, temp1, 0, temp3)
	}
	c.pointer(temp3, unsafe.Pointer(h.Tab))
	c.mem(loads[3], tabS, temp3, 0, zr)
	c.mem(loads[3], maskS, temp3, sliceLen, zr)
	none = append(none, c.ifZero(1, maskS))
	c.hash(h.KeySize)
	ended := c.probe(h)
	if h.Lengths != nil {
		c.patch(ended, again)
	} else {
		none = append(none, ended)
	}
	c.use(h)
	c.found(h)
	c.move(0, slotS)
	c.fillCells(f)
	done := c.branch(opB)
	for _, from := range none {
		c.land(from)
	}
	if owned {
		c.Leave(plan.CallFunc, in.Slot)
	} else {
		c.constant(0, 0)
	}
	c.land(done)
}

// prefix computes the next key to look for in a trie, and returns the branch for when there is
// none. Lengths that do not fit continue at again.
func (c *compiler) prefix(h *vm.Hash, again int32) (none int32) {
	c.pointer(temp3, unsafe.Pointer(h.Lengths))
	c.mem(loads[3], temp4, temp3, sliceLen, zr)
	c.shift(1, opLslv, temp4, temp4, 2)
	c.cmp(1, lengthS, temp4)
	none = c.near(condHS)
	c.mem(loads[3], temp3, temp3, 0, zr)
	c.index(loads[2], temp3, temp3, lengthS)
	c.addImm(1, lengthS, lengthS, 4, zr)
	c.cmp(0, temp3, temp1)
	c.patch(c.near(condHI), again)
	c.pointer(wordS, unsafe.Pointer(h.Masks))
	c.mem(loads[3], wordS, wordS, 0, zr)
	c.shift(1, opLslv, temp4, lengthS, 1)
	c.rrr(1, opAdd, wordS, wordS, temp4)
	c.mem(loads[3], wordS, wordS, -8, zr)
	c.rrr(1, opAnd, wordS, wordS, temp1)
	c.rrr(1, opOrr, wordS, wordS, temp3)
	return none
}

// widePrefix is prefix for keys that are not one word. The next key is at State.Prefix, and temp1
// becomes its address. The number of the next length is in State, since probe needs lengthS.
func (c *compiler) widePrefix(h *vm.Hash, again int32) (none int32) {
	c.get(lengthS, plan.OffNext)
	c.pointer(temp3, unsafe.Pointer(h.Lengths))
	c.mem(loads[3], temp4, temp3, sliceLen, zr)
	c.shift(1, opLslv, temp4, temp4, 2)
	c.cmp(1, lengthS, temp4)
	none = c.near(condHS)
	c.mem(loads[3], temp3, temp3, 0, zr)
	c.index(loads[2], temp3, temp3, lengthS)
	c.addImm(1, lengthS, lengthS, 4, zr)
	c.put(lengthS, plan.OffNext)
	c.get(temp1, plan.OffKeyAt)
	c.mem(loads[2], temp4, temp1, 0, zr)
	c.cmp(0, temp3, temp4)
	c.patch(c.near(condHI), again)
	size := int32(h.KeySize+7) &^ 7
	c.pointer(wordS, unsafe.Pointer(h.Masks))
	c.mem(loads[3], wordS, wordS, 0, zr)
	c.constant(temp4, uint64(size/4))
	c.multiply(1, opMadd, wordS, lengthS, temp4, wordS)
	c.addImm(1, temp5, state, int64(plan.OffPrefix), temp4)
	off := int32(0)
	for left := h.KeySize; left > 0; {
		n := part(left)
		c.mem(loads[n], temp4, temp1, off, zr)
		c.mem(loads[n], temp6, wordS, off-size, zr)
		c.rrr(1, opAnd, temp4, temp4, temp6)
		if off == 0 {
			c.rrr(1, opOrr, temp4, temp4, temp3)
		}
		c.mem(stores[n], temp4, temp5, off, zr)
		off, left = off+1<<n, left-1<<n
	}
	c.move(temp1, temp5)
	return none
}

// hash is keyhash.Of.
func (c *compiler) hash(size int) {
	switch size {
	case 4:
		c.constant(temp3, keyhash.K0)
		c.multiply(1, opMadd, hashS, wordS, temp3, zr)
	case 8:
		c.constant(hashS, keyhash.K1)
		c.rrr(1, opEor, hashS, hashS, wordS)
		c.mix()
	default:
		c.constant(hashS, keyhash.Start(size))
		off := int32(0)
		for ; size >= 8; size -= 8 {
			c.mem(loads[3], wordS, temp1, off, zr)
			c.rrr(1, opEor, hashS, hashS, wordS)
			c.mix()
			off += 8
		}
		for shift := uint32(0); size > 0; {
			n := part(size)
			c.mem(loads[n], wordS, temp1, off, zr)
			if shift != 0 {
				c.shift(1, opLslv, wordS, wordS, shift)
			}
			c.rrr(1, opEor, hashS, hashS, wordS)
			shift, off, size = shift+8<<n, off+1<<n, size-1<<n
		}
		c.constant(temp3, keyhash.K1)
		c.rrr(1, opEor, hashS, hashS, temp3)
		c.mix()
	}
	c.shift(1, opLsrv, temp3, hashS, keyhash.FoldHigh)
	c.shift(1, opLsrv, hashS, hashS, keyhash.FoldLow)
	c.rrr(0, opEor, hashS, hashS, temp3)
}

// mix multiplies hashS, and combines both halves of the product.
func (c *compiler) mix() {
	c.constant(temp3, keyhash.K0)
	c.rrr(1, opUmulh, slotS, hashS, temp3)
	c.multiply(1, opMadd, hashS, hashS, temp3, zr)
	c.rrr(1, opEor, hashS, hashS, slotS)
}

// part returns the largest size of a load that is not above n, as a power of two.
func part(n int) int { return bits.Len(uint(min(n, 8))) - 1 }

// probe finds the slot of the key with hash hashS. It returns the branch for when there is none.
func (c *compiler) probe(h *vm.Hash) (none int32) {
	c.addImm(1, maskS, maskS, -1, zr)
	c.move32(indexS, hashS)
	next := c.pos()
	c.rrr(0, opAnd, indexS, indexS, maskS)
	c.shift(1, opLslv, temp3, indexS, 3)
	c.index(loads[3], slotS, tabS, temp3)
	none = c.ifZero(1, slotS)
	c.addImm(0, indexS, indexS, 1, zr)
	c.shift(1, opLsrv, temp3, slotS, 32)
	c.cmp(0, temp3, hashS)
	c.patch(c.near(condNE), next)
	c.addImm(0, slotS, slotS, -1, zr)
	c.pointer(temp3, unsafe.Pointer(h.Keys))
	c.mem(loads[3], temp3, temp3, 0, zr)
	if n := part(h.KeySize); h.KeySize == 4 || h.KeySize == 8 {
		c.word(opAdd | uint32(slotS)<<16 | uint32(n)<<10 | uint32(temp3)<<5 | uint32(temp3)) // temp3 += slotS << n
		c.mem(loads[n], temp3, temp3, 0, zr)
		c.cmp(1, temp3, wordS)
		c.patch(c.near(condNE), next)
		return none
	}
	c.constant(wordS, uint64(h.KeySize))
	c.multiply(1, opMadd, temp3, slotS, wordS, temp3)
	off := int32(0)
	for left := h.KeySize; left > 0; {
		n := part(left)
		c.mem(loads[n], wordS, temp1, off, zr)
		c.mem(loads[n], lengthS, temp3, off, zr)
		c.cmp(1, wordS, lengthS)
		c.patch(c.near(condNE), next)
		off, left = off+1<<n, left-1<<n
	}
	return none
}

// The places in the types of package recent.
const (
	orderLists   = int32(unsafe.Offsetof(recent.Order{}.Lists))
	orderNodes   = int32(unsafe.Offsetof(recent.Order{}.Nodes))
	orderChanged = int32(unsafe.Offsetof(recent.Order{}.Changed))
	listHead     = int32(unsafe.Offsetof(recent.List{}.Head))
	listTail     = int32(unsafe.Offsetof(recent.List{}.Tail))
	nodePrev     = int32(unsafe.Offsetof(recent.Node{}.Prev))
	nodeNext     = int32(unsafe.Offsetof(recent.Node{}.Next))
	nodeList     = int32(unsafe.Offsetof(recent.Node{}.List))
	nodeSize     = uint64(unsafe.Sizeof(recent.Node{}))
)

// use multiplies by 16 with a shift.
var _ = [1]struct{}{}[unsafe.Sizeof(recent.List{})-16]

// use is recent.Order.Use of a slot. It leaves the call to Go, before any change, if the slot is in
// no list: every slot that is found is, but a wrong one must not write to memory of the host.
func (c *compiler) use(h *vm.Hash) {
	if h.Order == nil {
		return
	}
	const order, nodes, node, list, head, prev, next, size = temp1, temp3, hashS, temp4, maskS, indexS, wordS, lengthS
	at := func(d, slot reg) { c.multiply(1, opMadd, d, slot, size, nodes) }
	c.pointer(order, unsafe.Pointer(h.Order))
	c.mem(loads[3], temp3, order, orderNodes+sliceLen, zr)
	c.cmp(1, slotS, temp3)
	c.CallUnless(plan.Less)
	c.mem(loads[3], nodes, order, orderNodes, zr)
	c.constant(size, nodeSize)
	at(node, slotS)
	c.mem(loads[2], list, node, nodeList, zr)
	c.shift(1, opLslv, list, list, 4)
	c.mem(loads[3], head, order, orderLists, zr)
	c.rrr(1, opAdd, list, list, head)
	c.mem(loads[2], head, list, listHead, zr)
	c.cmp(0, head, slotS)
	first := c.near(condEQ)
	c.mem(loads[2], prev, node, nodePrev, zr)
	c.addImm(0, next, prev, 1, zr)
	c.cmpImm(0, next, 0, zr)
	c.CallUnless(plan.NotEqual)
	c.mem(loads[2], next, node, nodeNext, zr)
	c.mem(stores[2], head, node, nodeNext, zr)
	at(node, prev)
	c.mem(stores[2], next, node, nodeNext, zr)
	c.addImm(0, node, next, 1, zr)
	last := c.ifZero(0, node)
	at(node, next)
	c.mem(stores[2], prev, node, nodePrev, zr)
	inner := c.branch(opB)
	c.land(last)
	c.mem(stores[2], prev, list, listTail, zr)
	c.land(inner)
	at(node, head)
	c.mem(stores[2], slotS, node, nodePrev, zr)
	at(node, slotS)
	c.constant(prev, uint64(recent.None))
	c.mem(stores[2], prev, node, nodePrev, zr)
	c.mem(stores[2], slotS, list, listHead, zr)
	c.constant(prev, 1)
	c.mem(stores[0], prev, order, orderChanged, zr)
	c.land(first)
}

// found turns a slot into the address of its element.
func (c *compiler) found(h *vm.Hash) {
	c.pointer(temp1, unsafe.Pointer(h.Bases))
	c.mem(loads[3], temp1, temp1, 0, zr)
	c.shift(0, opLsrv, temp3, slotS, uint32(h.Shift))
	c.shift(1, opLslv, temp3, temp3, 3)
	c.index(loads[3], temp1, temp1, temp3)
	c.logicImm(0, opAndImm, opAnd, slotS, slotS, uint64(1)<<h.Shift-1, temp3)
	c.constant(temp3, h.Stride)
	c.multiply(1, opMadd, slotS, slotS, temp3, temp1)
	if h.CPUStride != 0 {
		c.get(temp1, plan.OffCPU)
		c.constant(temp3, h.CPUStride)
		c.multiply(1, opMadd, slotS, temp1, temp3, slotS)
	}
}

// pointer sets a register to an address.
func (c *compiler) pointer(r reg, p unsafe.Pointer) { c.constant(r, uint64(uintptr(p))) }
