package plan

// Check generates the test of a range: by its cell, or by the shadow.
func (e *Emission) Check(in *Insn, align bool) {
	b := e.backend
	kind := ColdLoads
	if in.Has(FlagRangeStore) {
		kind = ColdStores
	}
	k := Cold{Kind: kind, PC: e.PC}
	if in.Cell >= 0 {
		again := int32(e.code.Len())
		b.CellOffset(in)
		e.aligned(in, align) // runs begin at granules
		b.CompareCell(in)
		k.From[0] = b.JumpIf(AtLeast)
		if in.Kind == KindGuard && in.Has(FlagBound) {
			b.SetBound(in)
			k.Back = again // with a cell that was set only now
			e.colds = append(e.colds, k)
			return
		}
	} else {
		b.ArenaOffset(in)
		e.aligned(in, align)
		b.CompareLimit()
		k.From[0] = b.JumpIf(AtLeast)
		// With any alignment n bytes touch at most (n+14)/8 granules.
		log := 3
		switch n := in.Hi - in.Lo; {
		case n == 1:
			log = 0
		case n <= 9:
			log = 1
		case n <= 25:
			log = 2
		}
		b.CompareShadow(log)
		k.From[1] = b.JumpIf(NotEqual)
	}
	k.Back = int32(e.code.Len())
	e.colds = append(e.colds, k)
}

// aligned leaves if it matters that an access is not aligned.
func (e *Emission) aligned(in *Insn, matters bool) {
	if matters && in.Size > 1 {
		e.backend.TestAligned(in.Size)
		e.LeaveIf(NotEqual)
	}
}

// bound compares an index with the bound that a guard found: beyond it the first copy of the loop continues, with its checks.
func (e *Emission) bound(in *Insn) {
	e.backend.CompareBound(in)
	e.gotoIf(AtLeast, in.Slot+1)
}

// checkCold is what Check leaves to code out of line: the exact test, and setting the cell.
func (e *Emission) checkCold(b Backend, k *Cold) {
	in := &e.Program.Insns[k.PC]
	if in.Kind == KindGuard {
		e.guardCold(b, in, k)
		return
	}
	b.Exact(in, k.Kind.Stores())
	if in.Cell < 0 && b.JumpBackIfExact(k.Back) {
		e.Leave(Interpret, in.Slot)
		return
	}
	good := b.SkipIfExact(true)
	e.Leave(Interpret, in.Slot)
	b.EndSkip(good)
	if in.Cell >= 0 {
		b.TakeCredit(in, k.Back)
		b.FillCell(in)
	}
	b.Far(k.Back)
}

// guardCold is the same for KindGuard: until Credit is used up the check is not even tried, since running the loop with its checks costs no more than finding out.
func (e *Emission) guardCold(b Backend, in *Insn, k *Cold) {
	start := int32(e.Out.Starts[in.Target])
	b.TakeCredit(in, start)
	b.Exact(in, k.Kind.Stores())
	bad := b.SkipIfExact(false)
	b.FillCell(in)
	b.Far(k.Back)
	b.EndSkip(bad)
	b.BackOff(in)
	b.JumpBack(start)
}
