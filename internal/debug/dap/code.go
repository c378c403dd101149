package dap

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/go-dap"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/debug"
)

// sourceOf describes a source file of the object: its path, or a reference to the text that is
// known.
func (c *conn) sourceOf(file string) *dap.Source {
	out := &dap.Source{Name: path.Base(file)}
	if p := c.s.SourcePath(file); p != "" {
		if abs, err := filepath.Abs(p); err == nil {
			out.Path = abs
			return out
		}
	}
	out.SourceReference = c.sourceNumber(file)
	out.Path = file
	out.Origin = "line information of the object"
	return out
}

// sourceNumber numbers the source files that were not found on disk, from 1.
func (c *conn) sourceNumber(file string) int {
	for i, f := range c.sources {
		if f == file {
			return i + 1
		}
	}
	c.sources = append(c.sources, file)
	return len(c.sources)
}

// fileOf returns the object's name for a source file.
func (c *conn) fileOf(src dap.Source) (string, error) {
	if n := src.SourceReference; n > 0 && n <= len(c.sources) {
		return c.sources[n-1], nil
	}
	if src.Path == "" {
		return "", errors.New("no source file given")
	}
	want, wantErr := os.Stat(src.Path)
	var same []string
	for _, f := range c.s.Files() {
		if f == src.Path {
			return f, nil
		}
		p := c.s.SourcePath(f)
		if p == "" {
			if path.Base(f) == filepath.Base(src.Path) {
				same = append(same, f)
			}
			continue
		}
		if have, err := os.Stat(p); err == nil && wantErr == nil && os.SameFile(have, want) {
			return f, nil
		}
	}
	switch {
	case len(same) == 1: // the object was compiled in another directory
		return same[0], nil
	case len(same) > 1:
		return "", fmt.Errorf("%s is ambiguous: %s (set sourceMap to where the sources are)", filepath.Base(src.Path), strings.Join(same, ", "))
	}
	return "", fmt.Errorf("no program of the object was compiled from %s, or not from this version of it (its sources: %s)", filepath.Base(src.Path), c.fileList())
}

func (c *conn) fileList() string {
	const most = 5
	files := c.s.Files()
	if len(files) == 0 {
		return "none, it has no line information"
	}
	text := strings.Join(files[:min(len(files), most)], ", ")
	if len(files) > most {
		text += ", ..."
	}
	return text
}

func (c *conn) loadedSources(m *dap.LoadedSourcesRequest) error {
	out := []dap.Source{}
	for _, f := range c.s.Files() {
		out = append(out, *c.sourceOf(f))
	}
	c.answer(m, &dap.LoadedSourcesResponse{Body: dap.LoadedSourcesResponseBody{Sources: out}})
	return nil
}

func (c *conn) source(m *dap.SourceRequest) error {
	n := m.Arguments.SourceReference
	if n == 0 && m.Arguments.Source != nil {
		n = m.Arguments.Source.SourceReference
	}
	if n < 1 || n > len(c.sources) {
		return fmt.Errorf("no source %d", n)
	}
	lines, err := c.s.List(c.sources[n-1], 1, maxLine)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, l := range lines {
		text.WriteString(l.Text + "\n")
	}
	c.answer(m, &dap.SourceResponse{Body: dap.SourceResponseBody{Content: text.String(), MimeType: "text/x-c"}})
	return nil
}

// reference formats the address of an instruction.
func (c *conn) reference(p debug.Place) string {
	addr, ok := c.s.TextAddr(p)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%#x", addr)
}

const slotBytes = 8

// placeOf finds the instruction at an instruction offset from a reference.
func (c *conn) placeOf(ref string, offset int) (debug.Place, error) {
	addr, err := strconv.ParseUint(ref, 0, 64)
	if err != nil {
		return debug.Place{}, fmt.Errorf("%q is not an address", ref)
	}
	p, ok := c.s.CodeAt(addr + uint64(int64(offset)))
	if !ok {
		return p, fmt.Errorf("no instruction at %#x", addr+uint64(int64(offset)))
	}
	return p, nil
}

// maxDisassembled limits the instructions in one response.
const maxDisassembled = 1 << 16

func (c *conn) disassemble(m *dap.DisassembleRequest) error {
	a := m.Arguments
	if a.InstructionCount < 0 || a.InstructionCount > maxDisassembled {
		return fmt.Errorf("%d instructions requested, the limit is %d at once", a.InstructionCount, maxDisassembled)
	}
	at, err := c.placeOf(a.MemoryReference, a.Offset)
	if err != nil {
		return err
	}
	base, _ := c.s.TextAddr(debug.Place{Prog: at.Prog})
	code := c.s.Disassemble(at.Prog, 0, len(at.Prog.Insns))
	first := 0
	for first < len(code) && code[first].Place.PC < at.PC {
		first++
	}
	out := make([]dap.DisassembledInstruction, 0, a.InstructionCount)
	// Clients expect as many instructions as they requested: those outside the program are marked
	// as such.
	for i := first + a.InstructionOffset; len(out) < a.InstructionCount; i++ {
		switch {
		case i < 0:
			out = append(out, dap.DisassembledInstruction{Address: fmt.Sprintf("%#x", base+uint64(int64(i)*slotBytes)), Instruction: "(before the program)"})
		case i >= len(code):
			past := uint64(len(at.Prog.Insns)+i-len(code)) * slotBytes
			out = append(out, dap.DisassembledInstruction{Address: fmt.Sprintf("%#x", base+past), Instruction: "(after the program)"})
		default:
			out = append(out, c.instruction(code[i]))
		}
	}
	c.answer(m, &dap.DisassembleResponse{Body: dap.DisassembleResponseBody{Instructions: out}})
	return nil
}

// instruction describes one instruction and its CO-RE relocation.
func (c *conn) instruction(l debug.CodeLine) dap.DisassembledInstruction {
	x := dap.DisassembledInstruction{Address: c.reference(l.Place), Instruction: l.Text, Symbol: l.Function}
	if l.Reloc != nil {
		x.Instruction += "  ; CO-RE " + c.s.RelocText(l.Reloc)
	}
	prog, pc := l.Place.Prog, l.Place.PC
	end := min(pc+prog.Insns[pc].Len(), len(prog.Insns))
	x.InstructionBytes = hex.EncodeToString(decode.Marshal(prog.Insns[pc:end], c.s.Linked().Object.ByteOrder))
	if line, ok := c.s.LineAt(l.Place); ok {
		x.Location, x.Line = c.sourceOf(line.File), c.lineOut(line.Line)
	}
	return x
}

func (c *conn) readMemory(m *dap.ReadMemoryRequest) error {
	a := m.Arguments
	addr, err := strconv.ParseUint(a.MemoryReference, 0, 64)
	if err != nil {
		return fmt.Errorf("%q is not an address", a.MemoryReference)
	}
	if a.Count < 0 {
		return fmt.Errorf("%d bytes cannot be read", a.Count)
	}
	addr += uint64(int64(a.Offset))
	data, err := c.s.ReadMemory(addr, a.Count)
	body := dap.ReadMemoryResponseBody{Address: fmt.Sprintf("%#x", addr), Data: base64.StdEncoding.EncodeToString(data)}
	if err != nil || len(data) < a.Count {
		body.UnreadableBytes = a.Count - len(data)
	}
	c.answer(m, &dap.ReadMemoryResponse{Body: body})
	return nil
}
