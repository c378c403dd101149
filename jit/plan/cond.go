package plan

import "github.com/bpfrun/bpfrun/decode"

// Cond is a condition on what was compared, whatever the processor. Signed ones say so.
type Cond uint8

// Conditions; each has its opposite beside it.
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

// Branch is what a conditional jump compares.
type Branch struct {
	Cond Cond // taken if it holds
	Wide bool // 64 bits
	Imm  bool // with Insn.Imm, else with Insn.Src
	Test bool // common bits, compared with NotEqual to 0
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
