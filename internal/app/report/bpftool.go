package report

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/jit"
	"github.com/bpfrun/bpfrun/loader"
)

// BpftoolLine is the source line that starts at an instruction, in bpftool's form
// (btf_dump_linfo_json, with linum).
type BpftoolLine struct {
	Src     *string `json:"src,omitempty"` // nil without a line, empty for code that the compiler generated
	File    string  `json:"file,omitempty"`
	LineNum uint32  `json:"line_num,omitempty"`
	LineCol uint32  `json:"line_col,omitempty"`
}

// BpftoolInsn is an instruction in the JSON of `bpftool prog dump xlated linum` (dump_xlated_json).
type BpftoolInsn struct {
	Proto string `json:"proto,omitempty"` // prototype of the function that starts here
	BpftoolLine
	Disasm  string          `json:"disasm"`
	Opcodes *BpftoolOpcodes `json:"opcodes,omitempty"`
}

// BpftoolOpcodes are the fields of an instruction, each byte in hexadecimal.
type BpftoolOpcodes struct {
	Code   string   `json:"code"`
	SrcReg string   `json:"src_reg"`
	DstReg string   `json:"dst_reg"`
	Off    []string `json:"off"`
	Imm    []string `json:"imm"`
}

// BpftoolFunction is a function in the JSON of `bpftool prog dump jited linum`.
type BpftoolFunction struct {
	Proto string              `json:"proto,omitempty"`
	Name  string              `json:"name"`
	Insns []BpftoolNativeInsn `json:"insns"`
}

// BpftoolNativeInsn is a native instruction. Operands holds one null if it has none.
type BpftoolNativeInsn struct {
	BpftoolLine
	PC        string    `json:"pc"`
	Operation string    `json:"operation"`
	Operands  []*string `json:"operands"`
	Opcodes   []string  `json:"opcodes,omitempty"`
}

// bpftoolLines returns a function that gives the line record that starts at an instruction.
func bpftoolLines(lp *loader.LinkedProgram) func(pc int) BpftoolLine {
	last, any := btf.LineInfo{}, false
	return func(pc int) BpftoolLine {
		line, ok := lp.LineAt(pc)
		if !ok || any && line == last {
			return BpftoolLine{}
		}
		last, any = line, true
		src := strings.TrimLeft(line.Text, " \t")
		return BpftoolLine{Src: &src, File: line.File, LineNum: line.Line, LineCol: line.Col}
	}
}

// prototype returns a function's prototype as bpftool writes it: with a space after each star, and
// without void for no parameters.
func prototype(l *loader.Linked, f loader.Func) string {
	text := strings.ReplaceAll(signature(l.Object.BTF, f.Type), "*", "* ")
	if rest, ok := strings.CutSuffix(text, "(void)"); ok {
		return rest + "()"
	}
	return text
}

// bytesOf formats bytes as bpftool does: "0x7f".
func bytesOf(b []byte) []string {
	out := make([]string, len(b))
	for i, c := range b {
		out[i] = "0x" + hex.EncodeToString([]byte{c})
	}
	return out
}

// NewBpftoolXlated describes a program as bpftool does: one list of instructions, one function
// after the other.
func NewBpftoolXlated(l *loader.Linked, lp *loader.LinkedProgram, opcodes bool) []BpftoolInsn {
	out := []BpftoolInsn{}
	kfunc := func(i int) string { return lp.Refs[i].Name }
	for _, f := range lp.Funcs {
		lines := bpftoolLines(lp)
		for pc := f.Start; pc < f.Start+f.Len; pc += lp.Insns[pc].Len() {
			in := BpftoolInsn{BpftoolLine: lines(pc), Disasm: fmt.Sprintf("(%02x) %s", lp.Insns[pc].Code, verifier.InsnText(lp.Insns, pc, kfunc))}
			if pc == f.Start {
				in.Proto = prototype(l, f)
			}
			if opcodes {
				in.Opcodes = bpftoolOpcodes(l, lp.Insns, pc)
			}
			out = append(out, in)
		}
	}
	return out
}

func bpftoolOpcodes(l *loader.Linked, insns []decode.Insn, pc int) *BpftoolOpcodes {
	in := insns[pc]
	raw := decode.Marshal(insns[pc:pc+in.Len()], l.Object.ByteOrder)
	return &BpftoolOpcodes{
		Code: fmt.Sprintf("%#02x", in.Code), SrcReg: fmt.Sprintf("%#x", in.Src), DstReg: fmt.Sprintf("%#x", in.Dst), Off: bytesOf(raw[2:4]), Imm: bytesOf(raw[4:]),
	}
}

// NewBpftoolJited describes the native code of a program as bpftool does. Out-of-line code is a
// separate function at the end.
func NewBpftoolJited(l *loader.Linked, lp *loader.LinkedProgram, c *jit.Compiled, opcodes bool) []BpftoolFunction {
	var out []BpftoolFunction
	for _, f := range lp.Funcs {
		fn := BpftoolFunction{Proto: prototype(l, f), Name: f.Name, Insns: []BpftoolNativeInsn{}}
		lines, start := bpftoolLines(lp), c.Start(f.Start)
		for pc := f.Start; pc < f.Start+f.Len; pc += lp.Insns[pc].Len() {
			list := bpftoolNative(c, c.Start(pc), c.Start(pc+lp.Insns[pc].Len()), start, opcodes)
			if len(list) > 0 {
				list[0].BpftoolLine = lines(pc)
			}
			fn.Insns = append(fn.Insns, list...)
		}
		out = append(out, fn)
	}
	return append(out, BpftoolFunction{Name: "out of line", Insns: bpftoolNative(c, int(c.Cold), len(c.Text), int(c.Cold), opcodes)})
}

func bpftoolNative(c *jit.Compiled, from, to, start int, opcodes bool) []BpftoolNativeInsn {
	list := []BpftoolNativeInsn{}
	for at := from; at < to; {
		text, n := c.Disassemble(at, to)
		operation, rest, _ := strings.Cut(text, " ")
		in := BpftoolNativeInsn{PC: fmt.Sprintf("%#x", at-start), Operation: operation, Operands: operands(rest)}
		if opcodes {
			in.Opcodes = bytesOf(c.Text[at : at+n])
		}
		list = append(list, in)
		at += n
	}
	return list
}

// operands splits at commas outside brackets.
func operands(text string) []*string {
	var out []*string
	depth, from := 0, 0
	add := func(to int) {
		if s := strings.TrimSpace(text[from:to]); s != "" {
			out = append(out, &s)
		}
		from = to + 1
	}
	for i, c := range text {
		switch c {
		case '[', '{', '(':
			depth++
		case ']', '}', ')':
			depth--
		case ',':
			if depth == 0 {
				add(i)
			}
		}
	}
	if add(len(text)); out == nil {
		return []*string{nil}
	}
	return out
}
