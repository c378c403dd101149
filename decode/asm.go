package decode

import (
	"errors"
	"fmt"
	"strings"
)

// ErrSyntax is wrapped by every *AsmError.
var ErrSyntax = errors.New("assembly syntax error")

// AsmError is an error in assembly text. It wraps ErrSyntax.
type AsmError struct {
	Line   int    // from 1
	Text   string // the line
	Detail string // what was expected or found
}

// Error returns "line N: detail: text".
func (e *AsmError) Error() string { return fmt.Sprintf("line %d: %s: %q", e.Line, e.Detail, e.Text) }

// Unwrap returns ErrSyntax.
func (e *AsmError) Unwrap() error { return ErrSyntax }

// Assemble translates assembly text, as Disassemble writes it, to instructions. Instructions are
// separated by newlines or semicolons. `name:` defines a label, which goto, gotol, may_goto, if,
// call, call pc and func() can use as a target. Comments begin with // and end with the line.
// Numbers are decimal, 0x, 0o or 0b, and may be written signed or unsigned if they fit the field.
// The error is an *[AsmError].
//
// It also accepts other common spellings: r and w registers interchangeably where the operation
// determines the width, "goto pc+3", `r1 = 5 ll` with a hexadecimal number, skb[r1] without an
// immediate, the kernel's atomics (`r0 = atomic64_cmpxchg((u64 *)(r1 +0), r0, r2)`), and verifier
// log lines that start with a slot number and "(b7)" opcode.
//
// Instructions are encoded as written; Check reports whether a kernel would accept them.
func Assemble(text string) ([]Insn, error) {
	insns, _, err := AssembleLines(text)
	return insns, err
}

// AssembleLines is [Assemble] that also returns the line of the text, from 1, of each slot.
func AssembleLines(text string) (insns []Insn, lines []int, err error) {
	a := assembler{labels: map[string]int{}}
	for n, line := range strings.Split(text, "\n") {
		a.current = n + 1
		if i := strings.Index(line, "//"); i >= 0 {
			line = line[:i]
		}
		for _, stmt := range strings.Split(line, ";") {
			if err := a.statement(stmt); err != nil {
				return nil, nil, &AsmError{Line: n + 1, Text: strings.TrimSpace(stmt), Detail: err.Error()}
			}
		}
	}
	for _, f := range a.fixups {
		if err := a.fix(f); err != nil {
			return nil, nil, &AsmError{Line: a.line[f.pc], Text: f.label, Detail: err.Error()}
		}
	}
	return a.insns, a.line, nil
}

type assembler struct {
	insns   []Insn
	line    []int // source line by slot
	current int
	labels  map[string]int
	fixups  []fixup
}

// fixup is a reference to a label, resolved after the last line.
type fixup struct {
	pc    int
	label string
	wide  bool // the target is in imm, else in off
}

func (a *assembler) fix(f fixup) error {
	target, ok := a.labels[f.label]
	if !ok {
		return errors.New("no such label")
	}
	delta := target - f.pc - 1
	if f.wide {
		a.insns[f.pc].Imm = int32(delta)
		return nil
	}
	if delta != int(int16(delta)) {
		return fmt.Errorf("label is %d slots away, goto reaches 32767 (use gotol)", delta)
	}
	a.insns[f.pc].Off = int16(delta)
	return nil
}

// statement assembles one instruction, after any labels before it.
func (a *assembler) statement(stmt string) error {
	tokens, err := scan(stmt)
	if err != nil {
		return err
	}
	p := &parser{a: a, tokens: tokens}
	for len(p.tokens) >= 2 && p.tokens[1].text == ":" {
		switch first := p.tokens[0]; first.kind {
		case tokenIdent:
			if _, twice := a.labels[first.text]; twice {
				return fmt.Errorf("label %s is defined twice", first.text)
			}
			a.labels[first.text] = len(a.insns)
		case tokenNumber: // slot number in a listing
		default:
			return errors.New("label expected before ':'")
		}
		p.tokens = p.tokens[2:]
	}
	if len(p.tokens) >= 3 && p.tokens[0].text == "(" && p.tokens[2].text == ")" && isOpcodeByte(p.tokens[1].text) {
		p.tokens = p.tokens[3:]
	}
	if len(p.tokens) == 0 {
		return nil
	}
	in, err := p.instruction()
	if err != nil {
		return err
	}
	if len(p.tokens) > 0 {
		return fmt.Errorf("unexpected %q after the instruction", p.tokens[0].text)
	}
	for _, slot := range in {
		a.insns = append(a.insns, slot)
		a.line = append(a.line, a.current)
	}
	return nil
}

// isOpcodeByte recognises the two hex digits that a verifier log puts in parentheses.
func isOpcodeByte(s string) bool {
	return len(s) == 2 && strings.Trim(s, "0123456789abcdef") == ""
}
