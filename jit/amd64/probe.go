package amd64

import (
	"math/bits"
	"unsafe"

	"github.com/bpfrun/bpfrun/internal/keyhash"
	"github.com/bpfrun/bpfrun/internal/recent"
	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

// The registers of a search. temp1 is the address of the key or, in tries, the key itself, and then
// the result; temp2 is the slot.
const (
	hashS   = rax
	lengthS = rdi // number of the next prefix length
	indexS  = rsi
	tabS    = r8
	maskS   = r9
	wordS   = r10 // the key looked for, if it is one word
	tempS   = r11
)

// savedS are those that hold registers of the program, except for r0, which is hashS.
var savedS = [...]reg{lengthS, indexS, tabS, maskS, wordS, tempS}

// sliceLen is the offset of the length in a slice; that of the address is 0.
const sliceLen = int32(unsafe.Sizeof(uintptr(0)))

// search puts the address of a hash's element into r0, 0 if there is none. It saves registers in
// the next frame's Scratch.
func (c *compiler) search(in *plan.Insn, f *plan.Inline) {
	h, owned, key := f.Hash, f.Kind == vm.InlineOwned, loc{}
	if !owned {
		key = c.operand(in, false)
	}
	first := unsafe.Pointer(h.Tab)
	if h.Lengths != nil {
		first = unsafe.Pointer(h.Lengths)
	}
	c.pointer(temp2, first)
	c.cmpMem0(8, at(temp2, sliceLen))
	var empty int32
	if owned {
		c.CallUnless(plan.NotEqual)
	} else {
		empty = c.jccFar(condE)
	}
	mayCall := h.Order != nil || owned // the call may still be left to Go
	if mayCall {
		c.push(hashS)
	}
	for _, r := range savedS {
		c.push(r)
	}
	var none []int32
	again := int32(0)
	switch {
	case owned:
		c.move(wordS, regs[2])
	case h.Lengths != nil && h.KeySize != 8:
		c.rm(1, 0x8d, temp1, key, 0)
		c.store(field(plan.OffKeyAt), temp1)
		c.rm(0, 0x8b, tempS, at(temp1, 0), 0)
		c.groupImm(0, opCmp, tempS, int32(8*(h.KeySize-4)))
		none = append(none, c.jccFar(condA))
		c.constant(lengthS, 0)
		again = c.pos()
		none = append(none, c.widePrefix(h, again))
	case h.Lengths != nil:
		c.load(temp1, key)
		c.groupImm(0, opCmp, temp1, 32)
		none = append(none, c.jccFar(condA))
		c.constant(lengthS, 0)
		again = c.pos()
		none = append(none, c.prefix(h, again))
	case h.KeySize == 4:
		c.rm(0, 0x8b, wordS, key, 0)
	case h.KeySize == 8:
		c.load(wordS, key)
	default:
		c.rm(1, 0x8d, temp1, key, 0)
	}
	c.hash(h.KeySize)
	c.pointer(tempS, unsafe.Pointer(h.Tab))
	c.load(maskS, at(tempS, sliceLen))
	c.load(tabS, at(tempS, 0))
	ended := c.probe(h)
	if h.Lengths != nil {
		c.patch(ended, again)
	} else {
		none = append(none, ended)
	}
	bad := c.use(h)
	c.found(h)
	c.unsave(mayCall)
	c.move(regs[0], temp1)
	c.fillCells(f)
	done := c.jmpFar()
	if owned {
		bad, none = none, nil
	}
	if mayCall {
		for _, from := range bad {
			c.Land(from)
		}
		c.unpush()
		c.pop(hashS)
		c.Leave(plan.CallFunc, in.Slot)
	}
	if owned {
		c.Land(done)
		return
	}
	for _, from := range none {
		c.Land(from)
	}
	c.unsave(mayCall)
	c.Land(empty)
	c.constant(regs[0], 0)
	c.Land(done)
}

// prefix computes the next key to look for in a trie, and returns the jump for when there is none.
// Lengths that do not fit continue at again.
func (c *compiler) prefix(h *vm.Hash, again int32) (none int32) {
	c.pointer(tempS, unsafe.Pointer(h.Lengths))
	c.groupMem(1, opCmp, lengthS, at(tempS, sliceLen))
	none = c.jccFar(condAE)
	c.load(tempS, at(tempS, 0))
	c.rm(0, 0x8b, tempS, loc{base: tempS, index: lengthS, scale: 2}, 0)
	c.groupImm(1, opAdd, lengthS, 1)
	c.group(0, opCmp, tempS, temp1)
	c.jccBack(condA, again)
	c.pointer(wordS, unsafe.Pointer(h.Masks))
	c.load(wordS, at(wordS, 0))
	c.load(wordS, loc{base: wordS, index: lengthS, scale: 3, disp: -8})
	c.group(1, opAnd, wordS, temp1)
	c.group(1, opOr, wordS, tempS)
	return none
}

// widePrefix is prefix for keys that are not one word. The next key is at State.Prefix, and temp1
// becomes its address.
func (c *compiler) widePrefix(h *vm.Hash, again int32) (none int32) {
	c.pointer(tempS, unsafe.Pointer(h.Lengths))
	c.groupMem(1, opCmp, lengthS, at(tempS, sliceLen))
	none = c.jccFar(condAE)
	c.load(tempS, at(tempS, 0))
	c.rm(0, 0x8b, tempS, loc{base: tempS, index: lengthS, scale: 2}, 0)
	c.groupImm(1, opAdd, lengthS, 1)
	c.load(temp1, field(plan.OffKeyAt))
	c.groupMem(0, opCmp, tempS, at(temp1, 0))
	c.jccBack(condA, again)
	size := int32(h.KeySize+7) &^ 7
	c.pointer(wordS, unsafe.Pointer(h.Masks))
	c.mul(1, temp2, lengthS, size)
	c.groupMem(1, opAdd, temp2, at(wordS, 0))
	off := int32(0)
	for left := h.KeySize; left > 0; {
		n := part(left)
		c.loadPart(n, wordS, at(temp1, off))
		c.loadPart(n, indexS, at(temp2, off-size))
		c.group(1, opAnd, wordS, indexS)
		if off == 0 {
			c.group(1, opOr, wordS, tempS)
		}
		c.storeReg(uint8(n), field(plan.OffPrefix+off), wordS)
		off, left = off+int32(n), left-n
	}
	c.rm(1, 0x8d, temp1, field(plan.OffPrefix), 0)
	return none
}

// hash is keyhash.Of.
func (c *compiler) hash(size int) {
	switch size {
	case 4:
		c.constant(temp2, keyhash.K0)
		c.move(hashS, wordS)
		c.rr(1, 0x0faf, hashS, temp2)
	case 8:
		c.constant(hashS, keyhash.K1)
		c.group(1, opXor, hashS, wordS)
		c.mix()
	default:
		c.constant(hashS, keyhash.Start(size))
		off := int32(0)
		for ; size >= 8; size -= 8 {
			c.groupMem(1, opXor, hashS, at(temp1, off))
			c.mix()
			off += 8
		}
		for shift := byte(0); size > 0; {
			n := part(size)
			c.loadPart(n, wordS, at(temp1, off))
			if shift != 0 {
				c.shift(1, 4, wordS, shift)
			}
			c.group(1, opXor, hashS, wordS)
			shift, off, size = shift+byte(8*n), off+int32(n), size-n
		}
		c.constant(temp2, keyhash.K1)
		c.group(1, opXor, hashS, temp2)
		c.mix()
	}
	c.move(temp2, hashS)
	c.shift(1, 5, temp2, keyhash.FoldHigh)
	c.shift(1, 5, hashS, keyhash.FoldLow)
	c.group(0, opXor, hashS, temp2)
}

// mix multiplies hashS, and combines both halves of the product.
func (c *compiler) mix() {
	c.constant(temp2, keyhash.K0)
	c.rr(1, 0xf7, 4, temp2)
	c.group(1, opXor, hashS, temp2)
}

// part returns the largest size of a load that is not above n.
func part(n int) int { return 1 << (bits.Len(uint(min(n, 8))) - 1) }

// loadPart loads 1, 2, 4 or 8 bytes.
func (c *compiler) loadPart(n int, r reg, m loc) {
	switch n {
	case 1:
		c.rm(0, 0x0fb6, r, m, 0)
	case 2:
		c.rm(0, 0x0fb7, r, m, 0)
	case 4:
		c.rm(0, 0x8b, r, m, 0)
	default:
		c.load(r, m)
	}
}

// probe finds the slot of the key with hash hashS, in temp2. It returns the jump for when there is
// none.
func (c *compiler) probe(h *vm.Hash) (none int32) {
	c.groupImm(0, opSub, maskS, 1)
	c.move32(indexS, hashS)
	next := c.pos()
	c.group(0, opAnd, indexS, maskS)
	c.load(temp2, loc{base: tabS, index: indexS, scale: 3})
	c.test(1, temp2)
	none = c.jccFar(condE)
	c.groupImm(0, opAdd, indexS, 1)
	c.move(tempS, temp2)
	c.shift(1, 5, tempS, 32)
	c.group(0, opCmp, tempS, hashS)
	c.jccBack(condNE, next)
	c.rm(0, 0x8d, temp2, at(temp2, -1), 0)
	c.pointer(tempS, unsafe.Pointer(h.Keys))
	c.load(tempS, at(tempS, 0))
	switch h.KeySize {
	case 4:
		c.groupMem(0, opCmp, wordS, loc{base: tempS, index: temp2, scale: 2})
		c.jccBack(condNE, next)
		return none
	case 8:
		c.groupMem(1, opCmp, wordS, loc{base: tempS, index: temp2, scale: 3})
		c.jccBack(condNE, next)
		return none
	}
	c.mul(1, wordS, temp2, int32(h.KeySize))
	c.group(1, opAdd, tempS, wordS)
	off := int32(0)
	for left := h.KeySize; left > 0; {
		n := part(left)
		c.loadPart(n, wordS, at(temp1, off))
		m := at(tempS, off)
		switch n {
		case 1:
			c.rm8(0x3a, wordS, m)
		case 2:
			c.byte(0x66)
			c.groupMem(0, opCmp, wordS, m)
		default:
			c.groupMem(uint8(n>>3), opCmp, wordS, m)
		}
		c.jccBack(condNE, next)
		off, left = off+int32(n), left-n
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
)

// The sizes that use multiplies by.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(recent.List{})-16]
	_ = [1]struct{}{}[unsafe.Sizeof(recent.Node{})-12]
)

// use is recent.Order.Use of slot temp2. It returns the jumps for when Go has to make the call,
// before any change: every slot that is found is in a list, but a wrong one must not write to
// memory of the host.
func (c *compiler) use(h *vm.Hash) (bad []int32) {
	if h.Order == nil {
		return nil
	}
	const nodes, node, list, head, next, prev, scaled = indexS, lengthS, hashS, tabS, wordS, maskS, temp1
	triple := func(r reg) { c.rm(1, 0x8d, scaled, loc{base: r, index: r, scale: 1}, 0) }
	c.pointer(tempS, unsafe.Pointer(h.Order))
	c.groupMem(1, opCmp, temp2, at(tempS, orderNodes+sliceLen))
	bad = append(bad, c.jccFar(condAE))
	c.load(nodes, at(tempS, orderNodes))
	triple(temp2)
	c.rm(1, 0x8d, node, loc{base: nodes, index: scaled, scale: 2}, 0)
	c.rm(0, 0x8b, list, at(node, nodeList), 0)
	c.shift(1, 4, list, 4)
	c.groupMem(1, opAdd, list, at(tempS, orderLists))
	c.rm(0, 0x8b, head, at(list, listHead), 0)
	c.group(0, opCmp, head, temp2)
	first := c.jccNear(condE)
	c.rm(0, 0x8b, prev, at(node, nodePrev), 0)
	c.groupImm(0, opCmp, prev, -1)
	bad = append(bad, c.jccFar(condE))
	c.rm(0, 0x8b, next, at(node, nodeNext), 0)
	triple(prev)
	c.rm(0, 0x89, next, loc{base: nodes, index: scaled, scale: 2, disp: nodeNext}, 0)
	c.groupImm(0, opCmp, next, -1)
	last := c.jccNear(condE)
	triple(next)
	c.rm(0, 0x89, prev, loc{base: nodes, index: scaled, scale: 2, disp: nodePrev}, 0)
	inner := c.jmpNear()
	c.land(last)
	c.rm(0, 0x89, prev, at(list, listTail), 0)
	c.land(inner)
	triple(head)
	c.rm(0, 0x89, temp2, loc{base: nodes, index: scaled, scale: 2, disp: nodePrev}, 0)
	c.rm(0, 0xc7, 0, at(node, nodePrev), 4)
	c.imm32(-1)
	c.rm(0, 0x89, head, at(node, nodeNext), 0)
	c.rm(0, 0x89, temp2, at(list, listHead), 0)
	c.rm(0, 0xc6, 0, at(tempS, orderChanged), 1)
	c.byte(1)
	c.land(first)
	return bad
}

// found turns slot temp2 into the address temp1.
func (c *compiler) found(h *vm.Hash) {
	c.pointer(tempS, unsafe.Pointer(h.Bases))
	c.load(tempS, at(tempS, 0))
	c.move32(temp1, temp2)
	if h.Shift != 0 {
		c.shift(0, 5, temp1, byte(h.Shift))
	}
	c.load(temp1, loc{base: tempS, index: temp1, scale: 3})
	c.groupImm(0, opAnd, temp2, int32(uint32(1)<<h.Shift-1))
	c.mul(1, temp2, temp2, int32(h.Stride))
	c.group(1, opAdd, temp1, temp2)
	if h.CPUStride != 0 {
		c.load(temp2, field(plan.OffCPU))
		c.mul(1, temp2, temp2, int32(h.CPUStride))
		c.group(1, opAdd, temp1, temp2)
	}
}

// unpush restores savedS.
func (c *compiler) unpush() {
	for i := range savedS {
		c.pop(savedS[len(savedS)-1-i])
	}
}

// unsave restores the registers but r0, which is saved, too, if the call could have been left to Go.
func (c *compiler) unsave(mayCall bool) {
	c.unpush()
	if mayCall {
		c.rm(1, 0x8d, rsp, at(rsp, 8), 0)
	}
}

// pointer sets a register to an address.
func (c *compiler) pointer(r reg, p unsafe.Pointer) { c.constant(r, uint64(uintptr(p))) }

func (c *compiler) push(r reg) { c.stack(0x50, r) }
func (c *compiler) pop(r reg)  { c.stack(0x58, r) }

func (c *compiler) stack(op byte, r reg) {
	if r >= r8 {
		c.byte(0x41)
	}
	c.byte(op | byte(r&7))
}
