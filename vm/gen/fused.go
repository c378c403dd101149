package main

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/decode"
)

// shape returns the handler of a sequence and the conditions (vm's fuseCond) on its registers.
// Handlers forward the result of the first instruction to the second, which is what saves time. An
// instruction that needs the precise path runs on its own: those before it are complete, and
// execution continues after it.
func (g *generator) shape(ops seq) (body string, cond []string) {
	a, b := ops[0].Info(), ops[1].Info()
	if len(ops) == 3 {
		return g.triple(a, b, ops[2].Info())
	}
	switch {
	case isMove(a) && isMove(b):
		return move(a) + advance + move(b) + "continue\n", nil
	case a.Op == decode.OpMov64Imm && b.Op == decode.OpJa:
		return move(a) + advance + "goto taken\n", nil
	case a.Op == decode.OpMov64Imm && b.Op == decode.OpExit:
		return move(a) + "ip = unsafe.Add(ip, instSize)\ngoto leave\n", nil
	case a.Op == decode.OpMov64Reg && b.Op == decode.OpAdd64Imm:
		return dst + " = " + src + " + (*inst)(ip).imm\nip = unsafe.Add(ip, instSize)\ncontinue\n", []string{"sameDst"}
	case a.Op == decode.OpMov64Reg && b.Form == decode.FormALUReg:
		return fmt.Sprintf("v := %s %s regs[(*inst)(ip).src]\n%s = v\nip = unsafe.Add(ip, instSize)\ncontinue\n", src, binary[b.Text], dst),
			[]string{"sameDst", "otherSrc"}
	case isMove(a) && isALU(b):
		return "x := " + low(a, src) + "\n" + advance + dst + " = " + extend(b, compute(b, "x")) + "\ncontinue\n", []string{"sameDst"}
	case isALU(a) && isBranch(b):
		return addBranch(a, b) + "continue\n", []string{"sameDst"}
	case a.Op == decode.OpAdd64Imm && b.Op == decode.OpAdd64Imm, a.Op == decode.OpAdd64Imm && isMove(b):
		return alu(a) + advance + alu(b) + "continue\n", nil
	case isALU(a) && isALU(b):
		cond = []string{"sameDst"}
		if b.Form == decode.FormALUReg {
			cond = append(cond, "otherSrc")
		}
		return "v := " + compute(a, low(a, dst)) + "\n" + advance + dst + " = " + extend(b, compute(b, "v")) + "\ncontinue\n", cond
	case a.Op == decode.OpAdd64Reg && isLoad(b):
		return "v := " + compute(a, dst) + "\n" + dst + " = v\n" + advance + check(b, "v", "o") + dst + " = " + g.loaded(b, "o") + "\ncontinue\n", []string{"srcIsDst"}
	case isBranch(a) && b.Op == decode.OpJa:
		return branch(a, dst) + advance + "goto taken\n", nil
	case isBranch(a) && isLoad(b):
		return branch(a, dst) + advance + g.load(b) + "continue\n", nil
	case isBranch(a) && isMove(b):
		return branch(a, dst) + advance + move(b) + "continue\n", nil
	case isLoad(a) && b.Op == decode.OpAdd64Imm:
		return check(a, src, "o") + "v := " + g.loaded(a, "o") + "\n" + advance + dst + " = v + in.imm\ncontinue\n", []string{"sameDst"}
	case isLoad(a) && isBranch(b):
		return g.loadValue(a) + advance + branch(b, "v") + "continue\n", []string{"sameDst"}
	case isLoad(a) && b.Form == decode.FormALUReg:
		result := fmt.Sprintf("%s %s %s", low(b, dst), binary[b.Text], low(b, "v"))
		return g.loadValue(a) + advance + dst + " = " + extend(b, result) + "\ncontinue\n", []string{"srcIsDst", "otherDst"}
	case isLoad(a) && isLoad(b):
		return g.load(a) + advance + check(b, src, "p") + dst + " = " + g.loaded(b, "p") + "\ncontinue\n", nil
	case a.Form == decode.FormStoreReg && b.Form == decode.FormStoreReg:
		return g.store(a) + advance + check(b, dst, "p") + cell(b, "p") + " = " + g.stored(b) + "\ncontinue\n", nil
	}
	panic(fmt.Sprintf("no handler for %s, %s", a.Name, b.Name))
}

// triple is shape for sequences of three.
func (g *generator) triple(a, b, c *decode.Info) (body string, cond []string) {
	switch {
	case a.Op == decode.OpMov64Reg && b.Op == decode.OpAdd64Reg && (isLoad(c) || c.Form == decode.FormStoreReg):
		body = fmt.Sprintf("v := %s + regs[(*inst)(ip).src]\n%s = v\nin = (*inst)(unsafe.Add(ip, instSize))\nip = unsafe.Add(ip, 2*instSize)\n", src, dst) + check(c, "v", "o")
		if isLoad(c) {
			return body + dst + " = " + g.loaded(c, "o") + "\ncontinue\n", []string{"sameDst", "otherSrc", "thirdSrcIsDst"}
		}
		return body + cell(c, "o") + " = " + g.stored(c) + "\ncontinue\n", []string{"sameDst", "otherSrc", "thirdDstIsDst"}
	case isALU(a) && isBranch(b) && c.Op == decode.OpJa:
		return addBranch(a, b) + advance + "goto taken\n", []string{"sameDst"}
	case isMove(a) && isBranch(b) && c.Op == decode.OpJa:
		return move(a) + advance + branch(b, dst) + advance + "goto taken\n", nil
	case a.Op == decode.OpMov64Reg && b.Op == decode.OpLsh64Imm && c.Op == decode.OpRsh64Imm:
		return "v := " + src + "\n" + advance + "v <<= in.imm & 63\n" + dst + " = v >> ((*inst)(ip).imm & 63)\nip = unsafe.Add(ip, instSize)\ncontinue\n",
			[]string{"sameDst", "thirdSameDst"}
	}
	panic(fmt.Sprintf("no handler for %s, %s, %s", a.Name, b.Name, c.Name))
}

func isLoad(i *decode.Info) bool { return i.Form == decode.FormLoad }

func isBranch(i *decode.Info) bool {
	return i.Form == decode.FormJumpImm || i.Form == decode.FormJumpReg
}

func isMove(i *decode.Info) bool { return isALUForm(i) && i.Text == "=" }

// isALU reports whether the instruction computes its register and cannot divide by zero.
func isALU(i *decode.Info) bool {
	return isALUForm(i) && i.Text != "=" && !strings.ContainsAny(i.Text, "/%")
}

func isALUForm(i *decode.Info) bool {
	return i.Form == decode.FormALUImm || i.Form == decode.FormALUReg
}

func move(i *decode.Info) string { return dst + " = " + extend(i, low(i, operand(i))) + "\n" }

// loadValue loads into a register and also keeps the value in v.
func (g *generator) loadValue(i *decode.Info) string {
	return check(i, src, "o") + "v := " + g.loaded(i, "o") + "\n" + dst + " = v\n"
}

// addBranch computes, and branches on the result.
func addBranch(a, b *decode.Info) string {
	return "v := " + extend(a, compute(a, low(a, dst))) + "\n" + dst + " = v\n" + advance + branch(b, "v")
}

// text returns the names of a sequence's instructions.
func (s seq) text() string {
	names := make([]string, len(s))
	for i, op := range s {
		names[i] = op.Info().Name
	}
	return strings.Join(names, ", ")
}

// fused writes the handlers of superinstructions.
func (g *generator) fused() {
	g.comment("Superinstructions, see fuse.go. The slots they cover keep their operands; only the op of the",
		"first one differs. A part that needs the precise path runs alone: what precedes it", "is done, and execution continues after it.")
	for _, f := range fusions {
		body, _ := g.shape(f.ops)
		fmt.Fprintf(g, "case %s: // %s\n%s", f.name, f.ops.text(), body)
	}
}

// list writes the constants of superinstructions, and the rules by which vm finds their sequences.
func (g *generator) list() {
	g.comment("Superinstructions, each with its sequence.")
	g.WriteString("const (\nopFirstFused = opFused + iota - 1\n")
	for _, f := range fusions {
		fmt.Fprintf(g, "%s // %s\n", f.name, f.ops.text())
	}
	g.WriteString(")\n\n")
	g.comment("fuseRules lists all sequences, longer ones before the pairs they start with.")
	g.WriteString("var fuseRules = []fuseRule{\n")
	for _, n := range []int{3, 2} {
		for _, f := range fusions {
			if len(f.ops) != n {
				continue
			}
			names := make([]string, n)
			for i, op := range f.ops {
				names[i] = "decode." + g.names[op]
			}
			_, cond := g.shape(f.ops)
			if len(cond) == 0 {
				cond = []string{"0"}
			}
			fmt.Fprintf(g, "{%s, [3]decode.Op{%s}, %s},\n", f.name, strings.Join(names, ", "), strings.Join(cond, " | "))
		}
	}
	g.WriteString("}\n")
}
