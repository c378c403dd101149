package maps

// reserve reserves n bytes of host memory for a table, for as long as the map exists.
func (b *base) reserve(n uint64) error {
	if err := b.env.reserve(b, n); err != nil {
		return err
	}
	b.hosted += n
	return nil
}

func (b *base) baseOf() *base { return b }

// release releases what a map has besides its regions: what the fields of its values own, and host
// memory.
func (e *Env) release(m Map) {
	b := m.(interface{ baseOf() *base }).baseOf()
	if w, ok := m.(Walker); ok && b.owning {
		for cpu := range e.CPUs {
			var c Cursor
			for {
				_, addr, ok := w.Walk(cpu, &c)
				if !ok {
					break
				}
				if r := e.Mem.Find(addr); r != nil {
					b.freeFields(addr, e.Mem.Bytes(r)[addr-r.Base:])
				}
			}
			if !b.spec.Type.PerCPU() {
				break
			}
		}
	}
	if e.Host != nil {
		e.Host.Give(b.hosted)
	}
	switch t := m.(type) {
	case *queue:
		for range t.elems {
			e.unhost(int(t.spec.ValueSize))
		}
	case *ringbuf:
		e.unhostRecords(t.records)
		for i := range t.pending {
			if t.pending[i].state == ringSubmitted {
				e.unhost(len(t.pending[i].rec.Data))
			}
		}
	case *perfArray:
		e.unhostRecords(t.records)
	}
}
