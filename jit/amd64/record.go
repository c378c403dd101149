package amd64

import (
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/jit/plan"
)

// reserve puts the address of a record into r0: the next of its stock.
func (c *compiler) reserve(in *plan.Insn, f *plan.Inline) {
	stock := plan.OffStocks + int32(f.Stock)*plan.StockSize
	entry, record := temp1, temp2
	if !f.Known {
		c.constant(temp1, f.Map)
		c.group(1, opCmp, regs[1], temp1)
		c.CallUnless(plan.Equal)
	}
	c.groupImm(1, opCmp, regs[2], int32(f.Record))
	c.CallUnless(plan.Equal)
	c.test(1, regs[3])
	c.CallUnless(plan.Equal)
	c.cmpMem0(8, field(plan.OffRecord))
	c.CallUnless(plan.Equal)
	c.load(entry, field(plan.OffLog))
	c.groupMem(1, opCmp, entry, field(plan.OffLogEnd))
	c.CallUnless(plan.NotEqual)
	c.load(record, field(stock))
	c.groupMem(1, opCmp, record, field(stock+plan.StockEnd))
	c.CallUnless(plan.NotEqual)
	c.store(at(entry, 0), record)
	c.storeImm(at(entry, plan.RecordReserved), in.Slot*plan.MaxStocks+int32(f.Stock))
	c.store(field(plan.OffRecord), record)
	c.move(regs[0], record)
	c.groupMem(1, opAdd, record, field(stock+plan.StockStride))
	c.store(field(stock), record)
	c.storeImm(field(plan.OffFilled), 0)
	c.storeImm(field(plan.OffGranules), int32(f.Record+7)/8)
	c.shadowOf(regs[0])
	c.constant(temp2, 0)
	full, part := int32(f.Record/8), byte(f.Record%8)
	for at0 := int32(0); at0 < full; {
		size := int32(8)
		for size > full-at0 {
			size /= 2
		}
		c.storeReg(uint8(size), at(temp1, at0), temp2)
		at0 += size
	}
	if part != 0 {
		c.rm(0, 0xc6, 0, at(temp1, full), 1)
		c.byte(part)
	}
	for off := int32(0); off < int32(f.Record); off += 8 { // there are redzones after it
		c.store(loc{base: hostR, index: regs[0], disp: off}, temp2)
	}
	c.fillCells(f)
}

// shadowOf puts the host address of the shadow of a record into temp1.
func (c *compiler) shadowOf(record reg) {
	c.load(temp1, field(plan.OffNegBase))
	c.group(1, opAdd, temp1, record)
	c.shift(1, 5, temp1, 3)
	c.groupMem(1, opAdd, temp1, field(plan.OffShadow))
}

// endRecord ends the record r1 if it is the open one.
func (c *compiler) endRecord(in *plan.Insn, discard int32) {
	c.test(1, regs[1])
	c.CallUnless(plan.NotEqual)
	c.groupMem(1, opCmp, regs[1], field(plan.OffRecord))
	c.CallUnless(plan.Equal)
	c.cmpMem0(8, field(plan.OffFilled))
	c.CallUnless(plan.Equal)
	c.load(temp2, field(plan.OffNow))
	c.groupMem(1, opAdd, temp2, field(plan.OffStep))
	c.store(field(plan.OffNow), temp2)
	c.load(temp1, field(plan.OffLog))
	c.storeImm(at(temp1, plan.RecordEnded), in.Slot*2+discard)
	c.store(at(temp1, plan.RecordAt), temp2)
	c.groupImm(1, opAdd, temp1, plan.RecordSize)
	c.store(field(plan.OffLog), temp1)
	for cell := range c.Program.StaleCells() {
		c.storeImm(field(cell+plan.CellCount), 0)
	}
	c.storeImm(field(plan.OffRecord), 0)
	c.shadowOf(regs[1])
	c.load(temp2, field(plan.OffGranules))
	again := c.pos()
	c.rm(0, 0xc6, 0, loc{base: temp1, index: temp2, disp: -1}, 1)
	c.byte(byte(mem.ClassFreed))
	c.groupImm(1, opSub, temp2, 1)
	c.jccBack(condNE, again)
	c.constant(regs[0], 0)
}
