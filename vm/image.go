package vm

import (
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/decode"
)

// inst is one predecoded slot. The meaning of the fields depends on the op: off is a memory offset
// or, for branches, the distance to the target in bytes of code from the next slot; imm is the
// immediate, sign-extended, or two 32-bit operands of a fused op, the first in the low half.
type inst struct {
	op  uint16
	dst uint8
	src uint8
	off int32
	imm uint64
}

// instSize is the size of inst, which scales slots to code bytes.
const instSize = 16

// LowerConfig describes the program to lower and how to bind its references.
type LowerConfig struct {
	Name  string
	Insns []decode.Insn // structurally valid (decode.Check); anything else is refused or faults when reached

	// Imm64 returns the value of a pseudo LD_IMM64 (map, map value, BTF object, map index) at slot
	// pc; Lower itself binds function addresses (decode.OpLdFunc). If it fails, the instruction
	// faults with NotSimulated and the error when it is reached.
	Imm64 func(pc int) (uint64, error)
	// Call returns the function that the helper or kfunc call at slot pc calls. If it returns an
	// error or nil, the call faults when it is reached.
	Call func(pc int, in decode.Insn) (*Func, error)
	// Big is set for a program that was compiled for a big-endian processor: its conversions of
	// byte order keep the numbers that those of others swap.
	Big bool
	// Fuse enables superinstructions, which do not affect results and counts.
	Fuse bool
	// Text assigns addresses to the image; nil creates a private one.
	Text *Text
	// Replaces is an image of the same program in Text, or nil: the new one gets its addresses, so
	// that function pointers stay valid.
	Replaces *Image
	// Divert returns the function that is called in place of the program's own function at slot
	// target, nil for none. It is like a helper: an [ActInvoke] of the function's address makes the
	// call after all.
	Divert func(target int) *Func
	// ExceptionCallback is the slot of the program's exception callback, or 0.
	ExceptionCallback int
	// Owner is for the caller's use.
	Owner any
}

// Image is a lowered program. It is immutable and may be run by several threads at once.
type Image struct {
	Name  string
	Owner any

	insns     []decode.Insn
	plain     []inst // slot i is instruction i; two end markers follow
	fused     []inst // as plain, with superinstructions where they fit
	funcs     []*Func
	traps     []Fault
	starts    []int // first slots of subprograms, ascending, 0 included
	exception int
	stack     bool // r10 is used
	calls     bool // contains a bpf-to-bpf call, or a function that helpers call
	inlines   bool // a function has Inline
	text      *Text
	textBase  uint64
	ways      ways
}

// Len returns the number of slots.
func (img *Image) Len() int { return len(img.insns) }

// Insns returns the instructions that the image was created from; they must not be modified.
func (img *Image) Insns() []decode.Insn { return img.insns }

// FuncAddr returns the text address of slot pc, the value of a function pointer to it.
func (img *Image) FuncAddr(pc int) uint64 { return img.textBase + uint64(pc)*slotSize }

// Text returns the address space that contains the image.
func (img *Image) Text() *Text { return img.text }

// Func returns the function that a call at slot pc is bound to, or nil.
func (img *Image) Func(pc int) *Func {
	if pc < 0 || pc >= len(img.insns) {
		return nil
	}
	if in := img.plain[pc]; in.op == opCallFunc {
		return img.funcs[in.imm]
	}
	return nil
}

// Inlines reports whether the program calls functions with an Inline.
func (img *Image) Inlines() bool { return img.inlines }

// Subprograms returns the first slots of all functions of the program, ascending.
func (img *Image) Subprograms() []int { return img.starts }

// begins reports whether a function of the program begins at slot pc.
func (img *Image) begins(pc int) bool {
	if pc == 0 {
		return true
	}
	_, ok := slices.BinarySearch(img.starts, pc)
	return ok
}

// subprog returns the range of slots of the function that contains pc.
func (img *Image) subprog(pc int) (lo, hi int) {
	hi = len(img.insns)
	for _, s := range img.starts {
		if s > pc {
			return lo, s
		}
		lo = s
	}
	return lo, hi
}

// LowerError refuses a program that cannot run at all.
type LowerError struct {
	Name string
	PC   int
	Text string
}

// Error names program, slot and reason.
func (e *LowerError) Error() string {
	return fmt.Sprintf("vm: %s insn %d: %s", e.Name, e.PC, e.Text)
}
