package decode

// codeLdImm64 is the opcode byte of the only two-slot instruction.
const codeLdImm64 = 0x18

// opShared marks opcode bytes that several instructions share. No Op has this value.
const opShared = Op(0xff)

type sharedOp struct {
	sub   Sub
	value int32
	op    Op
}

// index holds the table in the forms needed for lookups.
type index struct {
	rows   [256]Info // by Op; 256 rows, so that Op.Info needs no bounds check
	byCode [256]Op   // by opcode byte
	shared [256][]sharedOp
	byName map[string]Op
}

var table = newIndex(aluTable, memTable, jmpTable)

func newIndex(parts ...[]Info) *index {
	t := &index{byName: make(map[string]Op, NumOps)}
	for _, part := range parts {
		for _, row := range part {
			t.rows[row.Op] = row
			t.byName[row.Name] = row.Op
			if row.Sub == SubNone {
				t.byCode[row.Code] = row.Op
				continue
			}
			t.byCode[row.Code] = opShared
			t.shared[row.Code] = append(t.shared[row.Code], sharedOp{row.Sub, row.SubValue, row.Op})
		}
	}
	t.rows[OpInvalid] = Info{Name: "invalid"}
	return t
}

// Op returns the instruction's Op. It looks at the opcode byte and, where several instructions
// share one, at the field that selects among them; that other fields are zero is left to Check. It
// returns OpInvalid for undefined opcodes and selections.
func (in Insn) Op() Op {
	if op := table.byCode[in.Code]; op != opShared {
		return op
	}
	return in.sharedOp()
}

// sharedOp resolves an opcode byte that several instructions share, at most 24.
func (in Insn) sharedOp() Op {
	for _, s := range table.shared[in.Code] {
		var v int32
		switch s.sub {
		case SubOff:
			v = int32(in.Off)
		case SubImm:
			v = in.Imm
		case SubSrc:
			v = int32(in.Src)
		}
		if v == s.value {
			return s.op
		}
	}
	return OpInvalid
}

// Info returns the table row of op, or that of OpInvalid (with Form FormInvalid) if op is
// undefined.
func (op Op) Info() *Info { return &table.rows[op] }

// String returns the unique name of the instruction: "add64_imm".
func (op Op) String() string { return table.rows[op].Name }

// ParseOp finds an instruction by its name.
func ParseOp(name string) (Op, bool) {
	op, ok := table.byName[name]
	return op, ok
}

// Encode returns the instruction op with the operands it uses and zeros in place of the others. It
// does not check register numbers. For LD_IMM64 it returns only the first slot.
func (op Op) Encode(dst, src uint8, off int16, imm int32) Insn {
	info := &table.rows[op]
	in := Insn{Code: info.Code}
	f := info.Fields()
	if f&FieldDst != 0 {
		in.Dst = dst
	}
	if f&FieldSrc != 0 {
		in.Src = src
	}
	if f&FieldOff != 0 {
		in.Off = off
	}
	if f&FieldImm != 0 {
		in.Imm = imm
	}
	switch info.Sub {
	case SubOff:
		in.Off = int16(info.SubValue)
	case SubImm:
		in.Imm = info.SubValue
	case SubSrc:
		in.Src = uint8(info.SubValue)
	}
	return in
}

// Reserved returns the fields that must be zero but are not. Of an LD_IMM64 it looks only at the
// first slot.
func (in Insn) Reserved() Field {
	return in.reserved(in.Info())
}

func (in Insn) reserved(info *Info) Field {
	if info.Op == OpInvalid {
		return 0
	}
	used := info.Fields() | info.Sub.field()
	var bad Field
	if used&FieldDst == 0 && in.Dst != 0 {
		bad |= FieldDst
	}
	if used&FieldSrc == 0 && in.Src != 0 {
		bad |= FieldSrc
	}
	if used&FieldOff == 0 && in.Off != 0 {
		bad |= FieldOff
	}
	if used&FieldImm == 0 && in.Imm != 0 {
		bad |= FieldImm
	}
	return bad
}
