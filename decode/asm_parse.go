package decode

import (
	"errors"
	"fmt"
	"sync"
)

// spelling is the key that finds an instruction of a form by its text, operand width and size. The
// map is built from the instruction table, so the assembler always knows the same instructions.
type spelling struct {
	form  Form
	text  string
	width uint8
	size  uint8
}

var spellings = sync.OnceValue(newSpellings)

func newSpellings() map[spelling]Op {
	m := make(map[spelling]Op, NumOps)
	for op := OpInvalid + 1; op < NumOps; op++ {
		info := op.Info()
		key := spelling{form: info.Form, text: info.Text}
		switch info.Form {
		case FormALUImm, FormALUReg, FormNeg, FormMovSX, FormJumpImm, FormJumpReg:
			key.width = info.Width
		case FormAtomic, FormFetch:
			key.size = info.Size
		case FormImm64:
			if op == OpLdImm64 {
				key.text = "ll"
			}
		case FormCall:
			key.text = info.Name
		}
		m[key] = op
	}
	return m
}

func (p *parser) find(form Form, text string, width, size uint8) (Op, error) {
	op, ok := spellings()[spelling{form, text, width, size}]
	if !ok {
		return OpInvalid, fmt.Errorf("no such instruction: %q", text)
	}
	return op, nil
}

func one(op Op, dst, src uint8, off int16, imm int32) []Insn {
	return []Insn{op.Encode(dst, src, off, imm)}
}

// instruction parses one instruction into its one or two slots.
func (p *parser) instruction() ([]Insn, error) {
	t := p.peek(0)
	if t.kind == tokenIdent {
		if _, _, ok := isReg(t.text); ok {
			return p.assignment()
		}
	}
	switch {
	case p.accept("*"):
		return p.store()
	case p.accept("lock"):
		return p.atomic()
	case p.accept("if"):
		return p.condition()
	case p.accept("call"):
		return p.call()
	case p.accept("exit"):
		return one(OpExit, 0, 0, 0, 0), nil
	case p.accept("store_release"):
		return p.storeRelease()
	case p.accept(".insn"):
		return p.raw()
	}
	for _, jump := range []Op{OpJa, OpJa32, OpMayGoto} {
		if p.accept(jump.Info().Text) {
			wide := jump == OpJa32
			v, err := p.target(wide)
			if err != nil {
				return nil, err
			}
			return one(jump, 0, 0, int16(v), int32(v)), nil
		}
	}
	for _, op := range []Op{OpGotoX, OpCallX} {
		if p.accept(op.Info().Text) {
			d, _, err := p.reg()
			return one(op, d, 0, 0, 0), err
		}
	}
	return nil, expected("instruction", t)
}

// raw parses ".insn code, dst, src, off, imm".
func (p *parser) raw() ([]Insn, error) {
	var v [5]int64
	for i, bits := range []int{8, 4, 4, 16, 32} {
		if i > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
		n, err := p.number(bits)
		if err != nil {
			return nil, err
		}
		v[i] = n
	}
	return []Insn{{Code: uint8(v[0]), Dst: uint8(v[1]) & 0xf, Src: uint8(v[2]) & 0xf, Off: int16(v[3]), Imm: int32(v[4])}}, nil
}

// memType parses "u32 *)", after an opening parenthesis, and returns the type and its size in
// bytes.
func (p *parser) memType() (string, uint8, error) {
	t := p.peek(0)
	size, ok := map[string]uint8{"u8": 1, "u16": 2, "u32": 4, "u64": 8, "s8": 1, "s16": 2, "s32": 4}[t.text]
	if !ok {
		return "", 0, expected("memory type u8 to u64 or s8 to s32", t)
	}
	p.tokens = p.tokens[1:]
	return t.text, size, p.expect("*", ")")
}

// base parses "r1 + 8".
func (p *parser) base() (reg uint8, off int16, err error) {
	reg, width, err := p.reg()
	if err != nil {
		return 0, 0, err
	}
	if width != 64 {
		return 0, 0, errors.New("an address is an r register")
	}
	v, err := p.offset(16)
	return reg, int16(v), err
}

// deref parses "(u32 *)(r1 + 8)".
func (p *parser) deref() (text string, size uint8, reg uint8, off int16, err error) {
	if err = p.expect("("); err != nil {
		return
	}
	if text, size, err = p.memType(); err != nil {
		return
	}
	if err = p.expect("("); err != nil {
		return
	}
	if reg, off, err = p.base(); err != nil {
		return
	}
	return text, size, reg, off, p.expect(")")
}

// store parses the text after a leading "*": a plain store.
func (p *parser) store() ([]Insn, error) {
	text, _, reg, off, err := p.deref()
	if err != nil {
		return nil, err
	}
	if err := p.expect("="); err != nil {
		return nil, err
	}
	if _, _, ok := isReg(p.peek(0).text); ok {
		s, _, err := p.reg()
		if err != nil {
			return nil, err
		}
		op, err := p.find(FormStoreReg, text, 0, 0)
		return one(op, reg, s, off, 0), err
	}
	imm, err := p.imm()
	if err != nil {
		return nil, err
	}
	op, err := p.find(FormStoreImm, text, 0, 0)
	return one(op, reg, 0, off, imm), err
}

// atomic parses the text after "lock".
func (p *parser) atomic() ([]Insn, error) {
	if err := p.expect("*"); err != nil {
		return nil, err
	}
	_, size, reg, off, err := p.deref()
	if err != nil {
		return nil, err
	}
	op, err := p.find(FormAtomic, p.peek(0).text, 0, size)
	if err != nil {
		return nil, err
	}
	p.tokens = p.tokens[1:]
	s, _, err := p.reg()
	return one(op, reg, s, off, 0), err
}

func (p *parser) storeRelease() ([]Insn, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	text, _, reg, off, err := p.deref()
	if err != nil {
		return nil, err
	}
	if err := p.expect(","); err != nil {
		return nil, err
	}
	s, _, err := p.reg()
	if err != nil {
		return nil, err
	}
	op, err := p.find(FormStoreRel, text, 0, 0)
	if err != nil {
		return nil, err
	}
	return one(op, reg, s, off, 0), p.expect(")")
}

// condition parses the text after "if".
func (p *parser) condition() ([]Insn, error) {
	d, width, err := p.reg()
	if err != nil {
		return nil, err
	}
	text := p.peek(0).text
	p.tokens = p.tokens[min(1, len(p.tokens)):]
	form, s, imm := FormJumpImm, uint8(0), int32(0)
	if _, _, ok := isReg(p.peek(0).text); ok {
		form = FormJumpReg
		var sw uint8
		if s, sw, err = p.reg(); err == nil && sw != width {
			err = errors.New("registers of different width")
		}
	} else {
		imm, err = p.imm()
	}
	if err != nil {
		return nil, err
	}
	op, err := p.find(form, text, width, 0)
	if err != nil {
		return nil, err
	}
	if err := p.expect("goto"); err != nil {
		return nil, err
	}
	off, err := p.target(false)
	return one(op, d, s, int16(off), imm), err
}

// call parses the text after "call": a number or name#number (helper), pc+n or a label (local),
// kfunc [name]#n[, off].
func (p *parser) call() ([]Insn, error) {
	t := p.peek(0)
	hash := func() (int32, error) {
		if err := p.expect("#"); err != nil {
			return 0, err
		}
		return p.imm()
	}
	switch {
	case t.kind == tokenNumber || t.text == "-":
		imm, err := p.imm()
		return one(OpCallHelper, 0, 0, 0, imm), err
	case t.text == "kfunc":
		p.tokens = p.tokens[1:]
		if p.peek(0).kind == tokenIdent {
			p.tokens = p.tokens[1:]
		}
		imm, err := hash()
		if err != nil {
			return nil, err
		}
		off := int64(0)
		if p.accept(",") {
			off, err = p.number(16)
		}
		return one(OpCallKfunc, 0, 0, int16(off), imm), err
	case t.kind == tokenIdent && p.peek(1).text == "#":
		p.tokens = p.tokens[1:]
		imm, err := hash()
		return one(OpCallHelper, 0, 0, 0, imm), err
	}
	v, err := p.target(true)
	return one(OpCallLocal, 0, 0, 0, int32(v)), err
}
