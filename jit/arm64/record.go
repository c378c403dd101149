package arm64

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
		c.cmp(1, 1, temp1)
		c.CallUnless(plan.Equal)
	}
	c.cmpImm(1, 2, int64(f.Record), temp3)
	c.CallUnless(plan.Equal)
	c.cmpImm(1, 3, 0, temp3)
	c.CallUnless(plan.Equal)
	c.get(temp3, plan.OffRecord)
	c.cmpImm(1, temp3, 0, temp4)
	c.CallUnless(plan.Equal)
	c.get(entry, plan.OffLog)
	c.get(temp3, plan.OffLogEnd)
	c.cmp(1, entry, temp3)
	c.CallUnless(plan.NotEqual)
	c.get(record, stock)
	c.get(temp3, stock+plan.StockEnd)
	c.cmp(1, record, temp3)
	c.CallUnless(plan.NotEqual)
	c.mem(stores[3], record, entry, 0, temp3)
	c.constant(temp3, uint64(in.Slot*plan.MaxStocks+int32(f.Stock)))
	c.mem(stores[3], temp3, entry, plan.RecordReserved, temp4)
	c.put(record, plan.OffRecord)
	c.move(0, record)
	c.get(temp3, stock+plan.StockStride)
	c.rrr(1, opAdd, record, record, temp3)
	c.put(record, stock)
	c.put(zr, plan.OffFilled)
	c.constant(temp3, (f.Record+7)/8)
	c.put(temp3, plan.OffGranules)
	c.shadowOf(0)
	full, part := int32(f.Record/8), f.Record%8
	for at := int32(0); at < full; {
		log := 3
		for int32(1)<<log > full-at {
			log--
		}
		c.mem(stores[log], zr, temp1, at, temp3)
		at += 1 << log
	}
	if part != 0 {
		c.constant(temp2, part)
		c.mem(stores[0], temp2, temp1, full, temp3)
	}
	c.rrr(1, opAdd, temp1, hostR, 0)
	for off := int32(0); off < int32(f.Record); off += 8 { // there are redzones after it
		c.mem(stores[3], zr, temp1, off, temp3)
	}
	c.fillCells(f)
}

// shadowOf puts the host address of the shadow of a record into temp1.
func (c *compiler) shadowOf(record reg) {
	c.rrr(1, opAdd, temp1, negB, record)
	c.shift(1, opLsrv, temp1, temp1, 3)
	c.rrr(1, opAdd, temp1, temp1, shad)
}

// endRecord ends the record r1 if it is the open one.
func (c *compiler) endRecord(in *plan.Insn, discard int32) {
	c.cmpImm(1, 1, 0, temp3)
	c.CallUnless(plan.NotEqual)
	c.get(temp1, plan.OffRecord)
	c.cmp(1, temp1, 1)
	c.CallUnless(plan.Equal)
	c.get(temp1, plan.OffFilled)
	c.cmpImm(1, temp1, 0, temp3)
	c.CallUnless(plan.Equal)
	c.get(temp1, plan.OffNow) // tick advances it
	c.get(temp2, plan.OffStep)
	c.rrr(1, opAdd, temp2, temp2, temp1)
	c.get(temp1, plan.OffLog)
	c.mem(stores[3], temp2, temp1, plan.RecordAt, temp3)
	c.constant(temp2, uint64(in.Slot*2+discard))
	c.mem(stores[3], temp2, temp1, plan.RecordEnded, temp3)
	c.addImm(1, temp1, temp1, int64(plan.RecordSize), temp3)
	c.put(temp1, plan.OffLog)
	for cell := range c.Program.StaleCells() {
		c.put(zr, cell+plan.CellCount)
	}
	c.put(zr, plan.OffRecord)
	c.shadowOf(1)
	c.get(temp2, plan.OffGranules)
	c.constant(temp3, uint64(mem.ClassFreed))
	again := c.pos()
	c.addImm(1, temp2, temp2, -1, temp4)
	c.index(stores[0], temp3, temp1, temp2)
	c.patch(c.ifNot(1, temp2), again)
	c.constant(0, 0)
}
