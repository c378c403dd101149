package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/decode"
)

// Names of the operands of an instruction in the loop.
const (
	dst = "regs[in.dst]"
	src = "regs[in.src]"
	imm = "in.imm"
	// advance makes the next instruction of a fused sequence the current one.
	advance = "in = (*inst)(ip)\nip = unsafe.Add(ip, instSize)\n"
)

// binary maps operators of decode's table to Go's.
var binary = map[string]string{
	"+=": "+", "-=": "-", "*=": "*", "|=": "|", "&=": "&", "^=": "^", "<<=": "<<", ">>=": ">>", "s>>=": ">>",
	"/=": "/", "s/=": "/", "%=": "%", "s%=": "%",
}

// Orders of handlers that keep those executed most often close to each other.
var (
	aluOrder  = []string{"+=", "-=", "*=", "|=", "&=", "^=", "/=", "s/=", "%=", "s%=", "<<=", ">>=", "s>>=", "="}
	jumpOrder = []string{"==", "!=", ">", ">=", "<", "<=", "s>", "s>=", "s<", "s<=", "&"}
)

// order sorts instructions by their operators.
func order(list []*decode.Info, operators []string) {
	slices.SortStableFunc(list, func(a, b *decode.Info) int {
		return slices.Index(operators, a.Text) - slices.Index(operators, b.Text)
	})
}

// comparison maps operators of conditional jumps to Go's; signed ones compare converted operands.
var comparison = map[string]string{
	"==": "==", "!=": "!=", ">": ">", ">=": ">=", "<": "<", "<=": "<=", "s>": ">", "s>=": ">=", "s<": "<", "s<=": "<=",
}

// isSigned reports whether an operator works on signed numbers.
func isSigned(text string) bool { return strings.HasPrefix(text, "s") }

// operand returns the 64-bit right operand of an instruction.
func operand(i *decode.Info) string {
	if i.Form == decode.FormALUImm || i.Form == decode.FormJumpImm || i.Form == decode.FormStoreImm {
		return imm
	}
	return src
}

// low returns x in the width of an instruction: all of it, or its lower half.
func low(i *decode.Info, x string) string {
	if i.Width == 32 {
		return "uint32(" + x + ")"
	}
	return x
}

// compute returns the result of an ALU instruction that cannot divide by zero, in its own width: a
// uint64 or, for 32 bits, a uint32. x is the left operand in that width. Shift counts are taken
// modulo the width.
func compute(i *decode.Info, x string) string {
	y := operand(i)
	switch i.Text {
	case "<<=", ">>=":
		return fmt.Sprintf("%s %s (%s & %d)", x, binary[i.Text], y, i.Width-1)
	case "s>>=":
		if i.Width == 32 {
			return fmt.Sprintf("uint32(int32(%s) >> (%s & 31))", strings.TrimSuffix(strings.TrimPrefix(x, "uint32("), ")"), y)
		}
		return fmt.Sprintf("uint64(int64(%s) >> (%s & 63))", x, y)
	case "=":
		return low(i, y)
	}
	return fmt.Sprintf("%s %s %s", x, binary[i.Text], low(i, y))
}

// extend converts a result in the width of an instruction to a register value.
func extend(i *decode.Info, result string) string {
	if i.Width != 32 || strings.HasPrefix(result, "uint64(") {
		return result
	}
	return "uint64(" + result + ")"
}

// alu returns the handler of an instruction that computes.
func alu(i *decode.Info) string {
	switch i.Text {
	case "/=", "s/=", "%=", "s%=":
		return divide(i)
	case "+=", "-=", "*=", "|=", "&=", "^=":
		if i.Width == 64 {
			return fmt.Sprintf("%s %s %s\n", dst, i.Text, operand(i))
		}
	}
	return dst + " = " + extend(i, compute(i, low(i, dst))) + "\n"
}

// divide returns the handler of a division or modulo.
func divide(i *decode.Info) string {
	kind := fmt.Sprintf("uint%d", i.Width)
	if isSigned(i.Text) {
		kind = fmt.Sprintf("int%d", i.Width)
	}
	x, y := kind+"("+dst+")", kind+"("+operand(i)+")"
	if kind == "uint64" {
		x, y = dst, operand(i)
	}
	result := fmt.Sprintf("%s %s v", x, binary[i.Text])
	switch kind {
	case "int64", "uint32":
		result = "uint64(" + result + ")"
	case "int32":
		result = "uint64(uint32(" + result + "))"
	}
	text := fmt.Sprintf("if v := %s; v != 0 {\n%s = %s\n}", y, dst, result)
	switch {
	case binary[i.Text] == "/":
		text += fmt.Sprintf(" else {\n%s = 0\n}", dst)
	case i.Width == 32:
		text += fmt.Sprintf(" else {\n%s = uint64(uint32(%s))\n}", dst, dst)
	}
	return text + "\n"
}

// unary returns the handler of a negation, a sign-extending move or a change of byte order, as in a
// little-endian program.
func unary(i *decode.Info) string {
	bits := i.SubValue
	switch {
	case i.Form == decode.FormNeg && i.Width == 64:
		return dst + " = -" + dst + "\n"
	case i.Form == decode.FormNeg:
		return dst + " = uint64(-uint32(" + dst + "))\n"
	case i.Form == decode.FormMovSX && i.Width == 64:
		return fmt.Sprintf("%s = uint64(int64(int%d(%s)))\n", dst, bits, src)
	case i.Form == decode.FormMovSX:
		return fmt.Sprintf("%s = uint64(uint32(int32(int%d(%s))))\n", dst, bits, src)
	case strings.HasPrefix(i.Text, "le") && bits == 64:
		return ""
	case strings.HasPrefix(i.Text, "le"):
		return fmt.Sprintf("%s = uint64(uint%d(%s))\n", dst, bits, dst)
	}
	return fmt.Sprintf("%s = uint64(bits.ReverseBytes%d(uint%d(%s)))\n", dst, bits, bits, dst)
}

// condition returns the Go condition of a conditional jump whose left operand is x, a register.
func condition(i *decode.Info, x string) string {
	y := operand(i)
	if isSigned(i.Text) {
		kind := fmt.Sprintf("int%d", i.Width)
		return fmt.Sprintf("%s(%s) %s %s(%s)", kind, x, comparison[i.Text], kind, y)
	}
	x, y = low(i, x), low(i, y)
	if i.Text == "&" {
		return x + "&" + y + " != 0"
	}
	return x + " " + comparison[i.Text] + " " + y
}

// branch jumps if the condition holds for x, and continues otherwise.
func branch(i *decode.Info, x string) string {
	return "if " + condition(i, x) + " {\ngoto taken\n}\n"
}

// check branches to the precise path unless the access of an instruction at the address in base
// register r is certainly valid. Otherwise o, or the variable named so, is its offset in the arena.
// A load ignores the shadow bit for stores.
func check(i *decode.Info, r, o string) string {
	load := i.Has(decode.FlagLoad) && !i.Has(decode.FlagStore)
	s := fmt.Sprintf("%s := %s + uint64(int64(in.off)) - base\nif %s >= lim {\ngoto slow\n}\n", o, r, o)
	assign := ":="
	if o != "o" {
		assign = "="
	}
	s += fmt.Sprintf("s %s *(*uint8)(unsafe.Add(shadow, %s>>3))", assign, o)
	if i.Size > 1 && !i.Has(decode.FlagAtomic) {
		s += fmt.Sprintf(" | *(*uint8)(unsafe.Add(shadow, (%s+%d)>>3))", o, i.Size-1)
	}
	s += "\n"
	if i.Has(decode.FlagAtomic) { // does not cross a granule, since it must be aligned
		s += fmt.Sprintf("if %s&%d != 0 {\ngoto slow\n}\n", o, i.Size-1)
	}
	partial := fmt.Sprintf("s != 0 && (s > 7 || %s&7+%d > uint64(s))", o, i.Size)
	switch {
	case i.Size == 8 && load:
		s += "if s&^storeTrap != 0 {\n"
	case i.Size == 8:
		s += "if s != 0 {\n"
	case load:
		s += "if s &^= storeTrap; " + partial + " {\n"
	default:
		s += "if " + partial + " {\n"
	}
	return s + "goto slow\n}\n"
}

// cell returns the expression for the memory of an access at offset o.
func cell(i *decode.Info, o string) string {
	return fmt.Sprintf("*(*uint%d)(unsafe.Add(data, %s))", int(i.Size)*8, o)
}

// ordered converts a number in the size of an access between memory and registers.
func (g *generator) ordered(i *decode.Info, x string) string {
	if !g.swapped || i.Size == 1 {
		return x
	}
	return fmt.Sprintf("bits.ReverseBytes%d(%s)", int(i.Size)*8, x)
}

// read returns the expression for the number in the memory of an access at offset o.
func (g *generator) read(i *decode.Info, o string) string { return g.ordered(i, cell(i, o)) }

// loaded returns the expression that a load at offset o puts into its register.
func (g *generator) loaded(i *decode.Info, o string) string {
	switch {
	case i.Signed():
		return fmt.Sprintf("uint64(int64(int%d(%s)))", int(i.Size)*8, g.read(i, o))
	case i.Size == 8:
		return g.read(i, o)
	}
	return "uint64(" + g.read(i, o) + ")"
}

// stored returns the expression that a store writes, in its size.
func (g *generator) stored(i *decode.Info) string {
	if i.Size == 8 {
		return g.ordered(i, operand(i))
	}
	return g.ordered(i, fmt.Sprintf("uint%d(%s)", int(i.Size)*8, operand(i)))
}

func (g *generator) load(i *decode.Info) string {
	return check(i, src, "o") + dst + " = " + g.loaded(i, "o") + "\n"
}

func (g *generator) store(i *decode.Info) string {
	return check(i, dst, "o") + cell(i, "o") + " = " + g.stored(i) + "\n"
}

// atomicAdd returns the handler of an atomic addition, which may fetch.
func (g *generator) atomicAdd(i *decode.Info) string {
	s := check(i, dst, "o") + "v := " + g.read(i, "o") + "\n" + cell(i, "o") + " = " + g.ordered(i, "v + "+low(i, src)) + "\n"
	if i.Has(decode.FlagFetch) {
		s += src + " = " + extend(i, "v") + "\n"
	}
	return s
}

// forms returns the instructions of decode's table with one of the forms, in the order of the
// table.
func forms(want ...decode.Form) []*decode.Info {
	var list []*decode.Info
	for op := decode.OpInvalid + 1; op < decode.NumOps; op++ {
		if i := op.Info(); slices.Contains(want, i.Form) {
			list = append(list, i)
		}
	}
	return list
}

// plain writes the handlers of single instructions.
func (g *generator) plain() {
	g.comment("Arithmetic, RFC 9669 section 4.1. 32-bit operations zero the upper half.")
	list := forms(decode.FormALUImm, decode.FormALUReg)
	order(list, aluOrder)
	for _, i := range slices.Concat(list, forms(decode.FormMovSX), forms(decode.FormNeg)) {
		switch i.Op {
		case decode.OpDiv64Imm:
			g.comment("Division by zero gives 0, modulo by zero leaves the dividend; the smallest", "number divided by -1 is itself.")
		case decode.OpLsh64Imm:
			g.comment("Shift counts are taken modulo the width.")
		}
		if i.Form == decode.FormALUImm || i.Form == decode.FormALUReg {
			g.handler(alu(i), i.Op)
		} else {
			g.handler(unary(i), i.Op)
		}
	}
	g.comment("Byte order, as in little-endian programs: Lower exchanges the conversions of others.")
	g.byteOrder()
	g.handler(dst+" = "+imm+"\nip = unsafe.Add(ip, instSize)\nleft += instSize // two slots, one instruction\n", decode.OpLdImm64)

	g.blank()
	g.comment("Branches, RFC 9669 section 4.3.")
	g.end("goto taken\n", decode.OpJa, decode.OpJa32)
	jumps := forms(decode.FormJumpImm, decode.FormJumpReg)
	order(jumps, jumpOrder)
	for _, i := range jumps {
		g.handler(branch(i, dst), i.Op)
	}

	g.blank()
	g.comment("Loads. Invariant of every pointer below: o < lim, so data, shadow and the bytes of an access of",
		"eight bytes from there are committed (mem.ArenaInfo); the shadow says that the bytes", "accessed are valid.")
	for _, i := range forms(decode.FormLoad) {
		g.handler(g.load(i), i.Op)
	}

	g.blank()
	g.comment("Stores.")
	stores := forms(decode.FormStoreImm, decode.FormStoreReg)
	slices.SortStableFunc(stores, func(a, b *decode.Info) int { return int(a.Size) - int(b.Size) })
	for _, i := range stores {
		g.handler(g.store(i), i.Op)
	}

	g.blank()
	g.comment("The common atomics; a thread is alone on its memory, so plain operations are atomic.", "Misaligned ones go to the precise path, which refuses them.")
	common := []decode.Op{decode.OpAtomicAddW, decode.OpAtomicFetchAddW, decode.OpAtomicAddDW, decode.OpAtomicFetchAddDW}
	for _, op := range common {
		g.handler(g.atomicAdd(op.Info()), op)
	}
	var other []decode.Op
	for _, i := range forms(decode.FormAtomic, decode.FormFetch, decode.FormXchg, decode.FormCmpXchg, decode.FormLoadAcq, decode.FormStoreRel) {
		if !slices.Contains(common, i.Op) {
			other = append(other, i.Op)
		}
	}
	g.end("goto slow\n", other...)
}

// byteOrder writes one handler for instructions that do the same: to big endian, and swap.
func (g *generator) byteOrder() {
	var order []string
	same := map[string][]decode.Op{}
	for _, i := range forms(decode.FormEnd) {
		text := unary(i)
		if same[text] == nil {
			order = append(order, text)
		}
		same[text] = append(same[text], i.Op)
	}
	for _, text := range order {
		g.handler(text, same[text]...)
	}
}
