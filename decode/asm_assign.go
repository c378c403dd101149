package decode

import (
	"errors"
	"strings"
)

// assignment parses instructions that begin with a register.
func (p *parser) assignment() ([]Insn, error) {
	d, width, err := p.reg()
	if err != nil {
		return nil, err
	}
	text := p.peek(0).text
	if text != "=" || p.isOperand() {
		return p.alu(d, width, text)
	}
	p.tokens = p.tokens[1:]
	t := p.peek(0)
	switch {
	case p.accept("-"): // neg; negative numbers are parsed as operands
		s, sw, err := p.reg()
		if err == nil && (s != d || sw != width) {
			err = errors.New("negation is of one register")
		}
		if err != nil {
			return nil, err
		}
		op, err := p.find(FormNeg, "-", width, 0)
		return one(op, d, 0, 0, 0), err
	case p.accept("*"):
		return p.load(d)
	case t.text == "(":
		return p.movsx(d, width)
	case t.kind == tokenIdent:
		p.tokens = p.tokens[1:]
		return p.function(d, width, t.text)
	}
	return nil, expected("operand", t)
}

// isOperand reports whether the text after the operator is a plain register or a number.
func (p *parser) isOperand() bool {
	t := p.peek(1)
	if t.text == "-" || t.text == "+" {
		t = p.peek(2)
	} else if _, _, ok := isReg(t.text); ok {
		return true
	}
	return t.kind == tokenNumber
}

// alu parses "D += S", "D += imm" and "D = imm64 ll".
func (p *parser) alu(d, width uint8, text string) ([]Insn, error) {
	p.tokens = p.tokens[min(1, len(p.tokens)):]
	if _, _, ok := isReg(p.peek(0).text); ok {
		s, sw, err := p.reg()
		if err == nil && sw != width {
			err = errors.New("registers of different width")
		}
		if err != nil {
			return nil, err
		}
		op, err := p.find(FormALUReg, text, width, 0)
		return one(op, d, s, 0, 0), err
	}
	n := len(p.tokens)
	if text == "=" && width == 64 && n > 0 && p.tokens[n-1].text == "ll" {
		v, err := p.number(64)
		if err != nil {
			return nil, err
		}
		return wide(OpLdImm64, d, int32(v), int32(v>>32)), p.expect("ll")
	}
	imm, err := p.imm()
	if err != nil {
		return nil, err
	}
	op, err := p.find(FormALUImm, text, width, 0)
	return one(op, d, 0, 0, imm), err
}

func wide(op Op, d uint8, lo, hi int32) []Insn {
	return []Insn{op.Encode(d, 0, 0, lo), {Imm: hi}}
}

// load parses the text after "D = *": a load or a legacy packet load.
func (p *parser) load(d uint8) ([]Insn, error) {
	if p.peek(0).text == "(" && p.peek(4).text == "skb" {
		p.tokens = p.tokens[1:]
		text, _, err := p.memType()
		if err != nil {
			return nil, err
		}
		if d != 0 {
			return nil, errors.New("packet loads write r0")
		}
		return p.packetLoad(text)
	}
	text, _, reg, off, err := p.deref()
	if err != nil {
		return nil, err
	}
	op, err := p.find(FormLoad, text, 0, 0)
	return one(op, d, reg, off, 0), err
}

func (p *parser) packetLoad(text string) ([]Insn, error) {
	if err := p.expect("skb", "["); err != nil {
		return nil, err
	}
	form, s, imm := FormLdAbs, uint8(0), int64(0)
	var err error
	if _, _, ok := isReg(p.peek(0).text); ok {
		form = FormLdInd
		if s, _, err = p.reg(); err == nil {
			imm, err = p.offset(32)
		}
	} else {
		imm, err = p.number(32)
	}
	if err != nil {
		return nil, err
	}
	op, err := p.find(form, text, 0, 0)
	if err != nil {
		return nil, err
	}
	return one(op, 0, s, 0, int32(imm)), p.expect("]")
}

// movsx parses "(s8)S" after "D =".
func (p *parser) movsx(d, width uint8) ([]Insn, error) {
	p.tokens = p.tokens[1:]
	op, err := p.find(FormMovSX, p.peek(0).text, width, 0)
	if err != nil {
		return nil, err
	}
	p.tokens = p.tokens[1:]
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	s, sw, err := p.reg()
	if err == nil && sw != width {
		err = errors.New("registers of different width")
	}
	return one(op, d, s, 0, 0), err
}

// function parses "D = word ..." for every word that is not a register.
func (p *parser) function(d, width uint8, word string) ([]Insn, error) {
	if op, err := p.find(FormEnd, word, 0, 0); err == nil {
		s, _, err := p.reg()
		if err == nil && s != d {
			err = errors.New("byte order is changed in one register")
		}
		return one(op, d, 0, 0, 0), err
	}
	if err := p.expect("("); err != nil {
		return nil, err
	}
	in, err := p.arguments(d, word)
	if err != nil {
		return nil, err
	}
	return in, p.expect(")")
}

// arguments parses the right side of a function-like form up to the closing parenthesis.
func (p *parser) arguments(d uint8, word string) ([]Insn, error) {
	switch {
	case word == "addr_space_cast":
		return p.addrSpaceCast(d)
	case word == "load_acquire":
		text, _, reg, off, err := p.deref()
		if err != nil {
			return nil, err
		}
		op, err := p.find(FormLoadAcq, text, 0, 0)
		return one(op, d, reg, off, 0), err
	}
	if op, err := p.find(FormImm64, word, 0, 0); err == nil {
		return p.pseudo(op, d)
	}
	return p.fetch(d, word)
}

func (p *parser) addrSpaceCast(d uint8) ([]Insn, error) {
	s, _, err := p.reg()
	if err != nil {
		return nil, err
	}
	var as [2]int64
	for i := range as {
		if err := p.expect(","); err != nil {
			return nil, err
		}
		if as[i], err = p.number(16); err != nil {
			return nil, err
		}
	}
	return one(OpAddrSpaceCast, d, s, 0, int32(uint32(as[0])<<16|uint32(uint16(as[1])))), nil
}

// pseudo parses the arguments of a special kind of LD_IMM64.
func (p *parser) pseudo(op Op, d uint8) ([]Insn, error) {
	var lo int64
	var err error
	if op == OpLdFunc {
		lo, err = p.target(true)
	} else {
		lo, err = p.number(32)
	}
	var hi int32
	if err == nil && p.accept(",") {
		hi, err = p.imm()
	}
	return wide(op, d, int32(lo), hi), err
}

// fetch parses the arguments of an atomic with a result, in LLVM's or the kernel's notation.
func (p *parser) fetch(d uint8, word string) ([]Insn, error) {
	name, bits, kernel := kernelAtomic(word)
	form, size := FormFetch, bits/8
	switch {
	case kernel && (name == "xchg" || name == "cmpxchg"):
		word = map[uint8]string{8: name + "_64", 4: name + "32_32"}[size]
	case kernel:
		word = "atomic_" + name
	}
	if strings.HasPrefix(word, "xchg") {
		form = FormXchg
	} else if strings.HasPrefix(word, "cmpxchg") {
		form = FormCmpXchg
	}
	var reg uint8
	var off int16
	var err error
	if form == FormFetch || kernel {
		_, size, reg, off, err = p.deref()
	} else {
		reg, off, err = p.base()
	}
	if err != nil {
		return nil, err
	}
	if form != FormFetch {
		size = 0
	}
	op, err := p.find(form, word, 0, size)
	if err != nil {
		return nil, err
	}
	if err := p.expect(","); err != nil {
		return nil, err
	}
	if form == FormCmpXchg {
		if r0, _, err := p.reg(); err != nil || r0 != 0 || d != 0 {
			return nil, errors.New("compare-and-exchange compares with r0 and returns in r0")
		}
		if err := p.expect(","); err != nil {
			return nil, err
		}
	}
	s, _, err := p.reg()
	if err != nil {
		return nil, err
	}
	if form != FormCmpXchg && s != d {
		return nil, errors.New("the result is returned in the operand's register")
	}
	return one(op, reg, s, off, 0), nil
}

// kernelAtomic splits the kernel's names: atomic64_fetch_add, atomic64_xchg, atomic_cmpxchg. LLVM's
// atomic_fetch_add, whose size is in its pointer type, reads the same as the kernel's 32-bit one.
func kernelAtomic(word string) (name string, bits uint8, ok bool) {
	if rest, found := strings.CutPrefix(word, "atomic64_"); found {
		return rest, 64, true
	}
	if rest, found := strings.CutPrefix(word, "atomic_"); found && !strings.HasPrefix(rest, "fetch_") {
		return rest, 32, true
	}
	return "", 0, false
}
