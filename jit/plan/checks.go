package plan

// Check generates the check of a range, by its cell or by the shadow.
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
		e.aligned(in, align) // runs start at granules
		b.CompareCell(in)
		k.From[0] = b.JumpIf(AtLeast)
		if in.Kind == KindGuard && in.Has(FlagBound) {
			b.SetBound(in)
			k.Back = again // with a cell set just now
			e.colds = append(e.colds, k)
			return
		}
	} else {
		b.ArenaOffset(in)
		e.aligned(in, align)
		b.CompareLimit()
		k.From[0] = b.JumpIf(AtLeast)
		// Whatever the alignment, n bytes touch at most (n+14)/8 granules.
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

// aligned exits if an access has to be aligned and is not.
func (e *Emission) aligned(in *Insn, matters bool) {
	if matters && in.Size > 1 {
		e.backend.TestAligned(in.Size)
		e.LeaveIf(NotEqual)
	}
}

// bound compares an index with the bound that a guard computed. If it is not below, code continues
// in the original loop, which has the checks.
func (e *Emission) bound(in *Insn) {
	e.backend.CompareBound(in)
	e.gotoIf(AtLeast, in.Slot+1)
}

// checkCold is the out-of-line part of Check: the exact test, and filling the cell.
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

// guardCold is the out-of-line part of a KindGuard. Until Credit is used up the check is not tried,
// since running the loop with its checks is no more expensive than the attempt.
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
