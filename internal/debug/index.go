package debug

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/debug/scopes"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// codeMap finds the linked programs' instructions by source line and name. Its state follows from
// the object and its DWARF: line tables, source text and source directories. It has no knowledge of
// a run.
type codeMap struct {
	*subject
	dwarf    *scopes.Info
	dwarfErr error
	code     map[*loader.LinkedProgram]*code
	sources  map[string]source
	dirs     []string
	moved    []SourceMapping
}

// TextAddr returns the address of an instruction in the simulated kernel's text section.
func (cm *codeMap) TextAddr(p Place) (uint64, bool) {
	at, ok := cm.spot(p)
	if !ok || at.img == nil {
		return 0, false
	}
	return at.img.FuncAddr(at.pc), true
}

// useLines gives the functions of the object their lines from .debug_line, where it covers them.
func (cm *codeMap) useLines() {
	if cm.dwarf == nil || !cm.dwarf.HasLines() {
		return
	}
	texts := map[string]map[uint32]string{}
	cm.extLines(func(l btf.LineInfo) {
		if texts[l.File] == nil {
			texts[l.File] = map[uint32]string{}
		}
		texts[l.File][l.Line] = l.Text
	})
	known := slices.Sorted(maps.Keys(texts))
	names := map[string]string{}
	// DWARF may spell the name of a file differently: .BTF.ext's name is used for both.
	name := func(file string) string {
		n, ok := names[file]
		if !ok {
			n = file
			for _, k := range known {
				if c := path.Clean(k); c == file || strings.HasSuffix(file, "/"+c) || strings.HasSuffix(c, "/"+file) {
					n = k
					break
				}
			}
			names[file] = n
		}
		return n
	}
	text := func(file string, line uint32) string { return texts[file][line] }
	lines := map[*loader.Function][]btf.LineInfo{}
	for _, lp := range cm.linked.Programs {
		for i := range lp.Funcs {
			f := lp.Funcs[i].Function
			if f == nil {
				continue
			}
			l, seen := lines[f]
			if !seen {
				l = cm.dwarf.FunctionLines(f, name, text)
				useDeclaration(f, l)
				lines[f] = l
			}
			if len(l) > 0 {
				lp.Funcs[i].Lines = l
			}
		}
	}
	for _, sc := range cm.dwarf.Scopes {
		sc.Rename(name)
	}
}

// useDeclaration gives the first instruction of a function the line of .BTF.ext, which is that of
// its declaration, as in the verifier's log. DWARF has the line of the opening brace there.
func useDeclaration(f *loader.Function, lines []btf.LineInfo) {
	if len(lines) == 0 || lines[0].InsnOff != uint32(8*f.SectionOff) {
		return
	}
	l, ok := f.LineAt(0)
	if ok && l.InsnOff == lines[0].InsnOff && l.File == lines[0].File && l.Line != 0 && l.Line < lines[0].Line {
		lines[0] = l
	}
}

// extLines calls f for every record of .BTF.ext.
func (cm *codeMap) extLines(f func(btf.LineInfo)) {
	if ext := cm.linked.Object.Ext; ext != nil {
		for _, sec := range ext.Lines {
			for i := range sec.Len() {
				if l := sec.At(i); l.File != "" {
					f(l)
				}
			}
		}
	}
}

// eachLine calls f for every line with code: from .debug_line where it covers a function, otherwise
// from .BTF.ext.
func (cm *codeMap) eachLine(f func(btf.LineInfo)) {
	covered := false
	for _, lp := range cm.linked.Programs {
		for _, fn := range lp.Funcs {
			for _, l := range fn.Lines {
				if l.File != "" && l.Line > 0 {
					f(l)
				}
			}
			covered = covered || fn.Lines != nil
		}
	}
	cm.extLines(func(l btf.LineInfo) {
		if !covered || l.Line > 0 {
			f(l)
		}
	})
}

// CodeAt returns the instruction at a text address.
func (cm *codeMap) CodeAt(addr uint64) (Place, bool) {
	img, pc, ok := cm.codeAt(addr)
	if !ok {
		return Place{}, false
	}
	p := cm.place(img, pc)
	return p, p.Prog != nil
}

// codeAt finds the instruction at a text address.
func (cm *codeMap) codeAt(addr uint64) (*vm.Image, int, bool) {
	for _, name := range cm.m.Names() {
		if img, ok := cm.m.ImageOf(name); ok {
			return img.Text().Resolve(addr)
		}
	}
	return nil, 0, false
}

// callee returns the name of the helper or kfunc that an instruction calls, "" for other
// instructions.
func callee(lp *loader.LinkedProgram, pc int) string {
	switch in := lp.Insns[pc]; in.Op() {
	case decode.OpCallHelper:
		return uapi.FuncID(in.Imm).String()
	case decode.OpCallKfunc:
		return lp.Refs[pc].Name
	}
	return ""
}

func (cm *codeMap) calls(name string) []Place {
	var out []Place
	for _, lp := range cm.linked.Programs {
		for pc := 0; pc < len(lp.Insns); pc += lp.Insns[pc].Len() {
			if c := callee(lp, pc); c != "" && (c == name || c == "bpf_"+name) {
				out = append(out, Place{lp, pc})
			}
		}
	}
	return out
}

// HelperNames returns the names of the helpers and kfuncs that the programs call, sorted.
func (cm *codeMap) HelperNames() []string {
	seen := map[string]bool{}
	for _, lp := range cm.linked.Programs {
		for pc := 0; pc < len(lp.Insns); pc += lp.Insns[pc].Len() {
			if c := callee(lp, pc); c != "" {
				seen[c] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// lineOf returns the line record of a place; false if it has none.
func lineOf(p Place) (btf.LineInfo, bool) {
	l, ok := p.Line()
	return l, ok && l.Line > 0
}

// code holds a program's tables for stepping, by slot.
type code struct {
	lp *loader.LinkedProgram
	// line numbers the source lines: equal numbers are the same line of the same function; 0 means
	// no line.
	line []int32
	// starts marks the slots at which a line record begins.
	starts []bool
	fn     []int32 // index into lp.Funcs, -1 for none
	// inlined is the number of inlined functions around a slot.
	inlined []uint8
}

// codeOf returns the tables of a program, which are built on first use.
func (cm *codeMap) codeOf(lp *loader.LinkedProgram) *code {
	if c := cm.code[lp]; c != nil {
		return c
	}
	n := len(lp.Insns)
	c := &code{lp: lp, line: make([]int32, n), starts: make([]bool, n), fn: make([]int32, n), inlined: make([]uint8, n)}
	type key struct {
		fn   int32
		file string
		line uint32
	}
	seen := map[key]int32{}
	for i := range c.fn {
		c.fn[i] = -1
	}
	for i, f := range lp.Funcs {
		last := ^uint32(0)
		for pc := f.Start; pc < f.Start+f.Len && pc < n; pc++ {
			c.fn[pc] = int32(i)
			if cm.dwarf != nil {
				c.inlined[pc] = uint8(min(len(cm.inlinedAt(Place{lp, pc})), 255))
			}
			l, ok := lp.LineAt(pc)
			if !ok || l.Line == 0 {
				continue
			}
			k := key{int32(i), l.File, l.Line}
			if seen[k] == 0 {
				seen[k] = int32(len(seen) + 1)
			}
			c.line[pc] = seen[k]
			if l.InsnOff != last {
				c.starts[pc] = true
				last = l.InsnOff
			}
		}
	}
	cm.code[lp] = c
	return c
}

// hasLines reports whether the function at a slot has line information.
func (c *code) hasLines(pc int) bool {
	if pc < 0 || pc >= len(c.fn) || c.fn[pc] < 0 {
		return false
	}
	f := c.lp.Funcs[c.fn[pc]]
	for i := f.Start; i < f.Start+f.Len && i < len(c.line); i++ {
		if c.line[i] != 0 {
			return true
		}
	}
	return false
}

// place converts an image and slot to a Place.
func (cm *codeMap) place(img *vm.Image, pc int) Place {
	lp, ok := cm.m.ProgramOf(img)
	if !ok {
		return Place{}
	}
	return Place{lp, pc}
}

// Files returns the source files of the object's programs, sorted.
func (cm *codeMap) Files() []string {
	seen := map[string]bool{}
	cm.eachLine(func(l btf.LineInfo) { seen[l.File] = true })
	return slices.Sorted(maps.Keys(seen))
}

// Functions returns the names of all programs and subprograms, sorted.
func (cm *codeMap) Functions() []string {
	seen := map[string]bool{}
	for _, f := range cm.linked.Object.Functions {
		seen[f.Name] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// spot is an instruction as an image and slot.
type spot struct {
	img *vm.Image
	pc  int
}

func (cm *codeMap) spot(p Place) (spot, bool) {
	if p.Prog == nil {
		return spot{}, false
	}
	img, ok := cm.m.ImageOf(p.Prog.Name)
	return spot{img, p.PC}, ok
}

// noInline exceeds any count of inlined functions.
const noInline = 255

// NameOf returns the name of the instruction at a text address, "" for other addresses.
func (cm *codeMap) NameOf(addr uint64) string {
	img, pc, ok := cm.codeAt(addr)
	if !ok {
		return ""
	}
	f, ok := cm.place(img, pc).Func()
	switch {
	case !ok:
		return ""
	case pc == f.Start:
		return f.Name
	}
	return fmt.Sprintf("%s+%d", f.Name, pc-f.Start)
}
