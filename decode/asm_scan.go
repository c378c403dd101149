package decode

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

type tokenKind uint8

const (
	tokenIdent tokenKind = iota
	tokenNumber
	tokenSymbol
)

type token struct {
	kind tokenKind
	text string
}

// operators are the operators of more than one character, longest first.
var operators = []string{"s>>=", "<<=", ">>=", "s>=", "s<=", "s/=", "s%=", "s>", "s<", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "==", "!=", ">=", "<="}

func isIdentByte(c byte, first bool) bool {
	switch {
	case c == '_' || c == '.' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		return true
	case c >= '0' && c <= '9':
		return !first
	}
	return false
}

// scan splits a statement into tokens. A sign is a token of its own.
func scan(s string) ([]token, error) {
	var out []token
next:
	for len(s) > 0 {
		c := s[0]
		if c == ' ' || c == '\t' || c == '\r' {
			s = s[1:]
			continue
		}
		for _, op := range operators {
			if strings.HasPrefix(s, op) {
				out = append(out, token{tokenSymbol, op})
				s = s[len(op):]
				continue next
			}
		}
		n := 1
		switch {
		case isIdentByte(c, true), c >= '0' && c <= '9':
			for n < len(s) && isIdentByte(s[n], false) {
				n++
			}
			kind := tokenIdent
			if c >= '0' && c <= '9' {
				kind = tokenNumber
			}
			out = append(out, token{kind, s[:n]})
		case strings.IndexByte("+-*/%|&^=<>()[],:#", c) >= 0:
			out = append(out, token{tokenSymbol, s[:1]})
		default:
			return nil, fmt.Errorf("unexpected character %q", c)
		}
		s = s[n:]
	}
	return out, nil
}

// parser takes tokens from the front.
type parser struct {
	a      *assembler
	tokens []token
}

func (p *parser) peek(i int) token {
	if i < len(p.tokens) {
		return p.tokens[i]
	}
	return token{kind: tokenSymbol}
}

// accept consumes the next tokens if they match want.
func (p *parser) accept(want ...string) bool {
	for i, w := range want {
		if p.peek(i).text != w {
			return false
		}
	}
	p.tokens = p.tokens[len(want):]
	return true
}

func (p *parser) expect(want ...string) error {
	for i, w := range want {
		if t := p.peek(i); t.text != w {
			return expected(strconv.Quote(w), t)
		}
	}
	p.tokens = p.tokens[len(want):]
	return nil
}

func expected(what string, got token) error {
	if got.text == "" {
		return fmt.Errorf("%s expected at the end", what)
	}
	return fmt.Errorf("%s expected, found %q", what, got.text)
}

// isReg parses "r5" or "w5".
func isReg(s string) (n uint8, width uint8, ok bool) {
	if len(s) < 2 || len(s) > 3 || s[0] != 'r' && s[0] != 'w' || s[1] == '0' && len(s) > 2 {
		return 0, 0, false
	}
	v, err := strconv.ParseUint(s[1:], 10, 8)
	if err != nil || v >= NumRegs {
		return 0, 0, false
	}
	width = 64
	if s[0] == 'w' {
		width = 32
	}
	return uint8(v), width, true
}

func (p *parser) reg() (n uint8, width uint8, err error) {
	t := p.peek(0)
	n, width, ok := isReg(t.text)
	if !ok || t.kind != tokenIdent {
		return 0, 0, expected("register r0 to r10 or w0 to w10", t)
	}
	p.tokens = p.tokens[1:]
	return n, width, nil
}

// number parses an optionally signed integer that fits the given number of bits, signed or
// unsigned.
func (p *parser) number(bits int) (int64, error) {
	neg := false
	switch {
	case p.accept("-"):
		neg = true
	case p.accept("+"):
	}
	t := p.peek(0)
	if t.kind != tokenNumber {
		return 0, expected("number", t)
	}
	u, err := strconv.ParseUint(t.text, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", t.text)
	}
	p.tokens = p.tokens[1:]
	limit := uint64(math.MaxUint64)
	if bits < 64 {
		limit = 1<<bits - 1
	}
	if neg {
		if u > 1<<(bits-1) {
			return 0, fmt.Errorf("-%s does not fit %d bits", t.text, bits)
		}
		return -int64(u), nil
	}
	if u > limit {
		return 0, fmt.Errorf("%s does not fit %d bits", t.text, bits)
	}
	return int64(u) << (64 - bits) >> (64 - bits), nil
}

func (p *parser) imm() (int32, error) {
	v, err := p.number(32)
	return int32(v), err
}

// offset parses the "+ 8" or "- 8" after a base register; a missing offset is 0.
func (p *parser) offset(bits int) (int64, error) {
	if t := p.peek(0).text; t != "+" && t != "-" {
		return 0, nil
	}
	// Hand-written format strings with %+d after a plus produce "r1 +-8".
	if p.peek(0).text == "+" && p.peek(1).text == "-" {
		p.tokens = p.tokens[1:]
	}
	return p.displacement(bits)
}

// target parses a label, "+3", "-3" or "pc+3".
func (p *parser) target(wide bool) (int64, error) {
	t := p.peek(0)
	if t.kind == tokenIdent && t.text != "pc" {
		p.tokens = p.tokens[1:]
		p.a.fixups = append(p.a.fixups, fixup{pc: len(p.a.insns), label: t.text, wide: wide})
		return 0, nil
	}
	p.accept("pc")
	if s := p.peek(0).text; s != "+" && s != "-" {
		return 0, expected("label, +offset or -offset", p.peek(0))
	}
	bits := 16
	if wide {
		bits = 32
	}
	return p.displacement(bits)
}

// displacement parses a number with a mandatory sign.
func (p *parser) displacement(bits int) (int64, error) {
	neg := p.peek(0).text == "-"
	v, err := p.number(bits)
	if err == nil && !neg && v < 0 {
		return 0, fmt.Errorf("offset does not fit %d bits", bits)
	}
	return v, err
}
