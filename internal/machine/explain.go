package machine

import (
	"fmt"
	"path"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// explain adds what is known about a fault's position: function, instruction, source line, and what
// to do next.
func (m *Machine) explain(f *vm.Fault) *Fault {
	out := &Fault{Fault: f, Insn: f.PC}
	p, ok := owner(f.Image)
	if !ok {
		return out
	}
	out.Program, out.Function = p.lp.Name, p.lp.Name
	if fn, ok := p.lp.FuncAt(f.PC); ok {
		out.Function = fn.Name
	}
	if f.PC >= 0 && f.PC < len(p.lp.Insns) {
		out.Text = decode.Disassemble(p.lp.Insns, f.PC, p.lp.Symbols())
	}
	if line, ok := p.lp.LineAt(f.PC); ok {
		out.Source, out.Line = sourceOfLine(line), line.Text
	}
	out.Hint = m.hint(p, f)
	if f.Mem != nil && f.Mem.Kind == mem.UseAfterFree {
		m.recall(out, f.Mem)
	}
	return out
}

// recall adds what is known of freed memory: the call that ended its life, and what it contained
// then.
func (m *Machine) recall(out *Fault, f *mem.Fault) {
	out.Last = m.mem.LastBytes(f.Addr, MostLast)
	if f.Region == nil || m.env.Run == nil {
		return
	}
	if t, ok := m.env.Run.Held.Given(f.Region.Base); ok {
		if p, ok := owner(t.Image); ok {
			out.Released = p.place(t.PC)
		}
	}
}

// sourceOfLine returns "file:line:col".
func sourceOfLine(line btf.LineInfo) string {
	return fmt.Sprintf("%s:%d:%d", line.File, line.Line, line.Col)
}

// lineOf returns the position and the text of an instruction's source line, empty without line
// information.
func (p *program) lineOf(pc int) (source, text string) {
	if line, ok := p.lp.LineAt(pc); ok && line.Line != 0 {
		return sourceOfLine(line), line.Text
	}
	return "", ""
}

// place names an instruction and its source line: "insn 4 (file.c:12: x = f();)".
func (p *program) place(pc int) string {
	text := fmt.Sprintf("insn %d", pc)
	if line, ok := p.lp.LineAt(pc); ok && line.Line != 0 {
		text += fmt.Sprintf(" (%s:%d: %s)", path.Base(line.File), line.Line, strings.TrimSpace(line.Text))
	}
	return text
}

// hint suggests what to do about a fault.
func (m *Machine) hint(p *program, f *vm.Fault) string {
	switch f.Kind {
	case vm.Poison:
		if r, ok := p.lp.RelocAt(f.PC); ok {
			return p.lp.Linked().Explain(r)
		}
		return p.lp.PoisonText(f.PC)
	case vm.BudgetExceeded:
		return "raise the limit with --max-insns if the loop is meant to be that long"
	case vm.LeakedReference:
		return "release it on every path to exit"
	case vm.Memory:
		return memoryHint(f.Mem)
	}
	return ""
}

func memoryHint(f *mem.Fault) string {
	switch {
	case f == nil:
		return ""
	case f.Kind == mem.UserPointer:
		return "read user memory with bpf_probe_read_user"
	case f.Kind == mem.NullPointer:
		return "check the pointer against NULL before it is used"
	case f.Kind == mem.NotPermitted && f.Write && f.Region != nil && f.Region.Kind == mem.KernelObject:
		return "programs of this type may not write kernel memory, except for the fields the kernel permits"
	case f.Kind == mem.NotPermitted && f.Region != nil && f.Region.Kind == mem.KernelObject:
		return "read kernel memory with bpf_probe_read_kernel or BPF_CORE_READ"
	case f.Kind == mem.UseAfterFree && f.Region != nil && f.Region.Kind == mem.Packet:
		return "helpers that may change the packet invalidate all pointers into it: reload data and data_end from the context and check them again"
	case f.Kind == mem.OutOfBounds:
		return "check the offset against the size of the memory first"
	}
	return ""
}
