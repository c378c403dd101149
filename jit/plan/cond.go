package plan

import "github.com/bpfrun/bpfrun/decode"

// Cond is a condition on the result of a comparison, independent of the processor.
type Cond uint8

// Conditions; each is next to its opposite.
const (
	Equal Cond = iota
	NotEqual
	Less
	AtLeast
	AtMost
	Greater
	SignedLess
	SignedAtLeast
	SignedAtMost
	SignedGreater
)

// Not returns the opposite.
func (c Cond) Not() Cond { return c ^ 1 }

// Branch describes a conditional jump.
type Branch struct {
	Cond Cond // the jump is taken if it holds
	Wide bool // 64 bits
	Imm  bool // compare with Insn.Imm, else with Insn.Src
	Test bool // compare the common bits with 0, by NotEqual
}

var conds = map[string]Cond{
	"==": Equal, "!=": NotEqual, "<": Less, "<=": AtMost, ">": Greater, ">=": AtLeast, "s<": SignedLess, "s<=": SignedAtMost, "s>": SignedGreater,
	"s>=": SignedAtLeast, "&": NotEqual,
}

// branches are the conditional jumps of decode's table.
var branches = func() (t [decode.NumOps]Branch) {
	for i := range t {
		if info := decode.Op(i).Info(); info.Form == decode.FormJumpImm || info.Form == decode.FormJumpReg {
			t[i] = Branch{Cond: conds[info.Text], Wide: info.Width == 64, Imm: info.Form == decode.FormJumpImm, Test: info.Text == "&"}
		}
	}
	return t
}()
