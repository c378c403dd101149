package debug

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// Locate finds the instructions at a location:
//
//	LINE, FILE:LINE      the first instruction of the line, in every function that has it
//	FUNCTION             the first instruction of a program or subprogram
//	FUNCTION+N           N instruction slots after it
//	*N                   slot N of the running program, as disassembly counts
//	HELPER               every call of a helper or kfunc, by its name
//	core                 every instruction that CO-RE changed
//	core:TEXT            those whose field contains TEXT ("core:task_struct.tgid")
//
// note describes how the place found differs from the location given. The errors are
// *[UnknownError] and syntax errors.
func (s *Session) Locate(location string) (places []Place, note string, err error) {
	location = strings.TrimSpace(location)
	switch {
	case location == "":
		return nil, "", fmt.Errorf("no location given")
	case location == "core" || strings.HasPrefix(location, "core:"):
		_, text, _ := strings.Cut(location, ":")
		return s.locateCore(text)
	case location[0] == '*':
		return s.locateSlot(location[1:])
	}
	if n, err := strconv.ParseUint(location, 10, 31); err == nil {
		file := s.currentFile()
		if file == "" {
			return nil, "", fmt.Errorf("no source file is current: write FILE:%d", n)
		}
		return s.locateLine(file, uint32(n))
	}
	if i := strings.LastIndexByte(location, ':'); i > 0 {
		n, err := strconv.ParseUint(location[i+1:], 10, 31)
		if err != nil {
			return nil, "", fmt.Errorf("%s: %q is not a line number", location, location[i+1:])
		}
		file, err := s.sourceFile(location[:i])
		if err != nil {
			return nil, "", err
		}
		return s.locateLine(file, uint32(n))
	}
	return s.locateName(location)
}

// exactLine parses LINE and FILE:LINE, including lines without code; ok is false for other
// locations.
func (cm *codeMap) exactLine(location string, current func() string) (file string, line uint32, ok bool, err error) {
	digits := location
	if i := strings.LastIndexByte(location, ':'); i > 0 {
		file, digits = location[:i], location[i+1:]
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil {
		return "", 0, false, nil
	}
	if file == "" {
		if file = current(); file == "" {
			return "", 0, false, fmt.Errorf("no source file is current: write FILE:%d", n)
		}
		return file, uint32(n), true, nil
	}
	file, err = cm.sourceFile(file)
	return file, uint32(n), err == nil, err
}

// sourceFile finds a file by its full path or the trailing part of one.
func (cm *codeMap) sourceFile(name string) (string, error) {
	files := cm.Files()
	var found []string
	for _, f := range files {
		if f == name {
			return f, nil
		}
		if strings.HasSuffix(f, "/"+name) {
			found = append(found, f)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		bases := make([]string, len(files))
		for i, f := range files {
			bases[i] = path.Base(f)
		}
		if len(files) == 0 {
			return "", fmt.Errorf("no source file %q: the object has no line information", name)
		}
		return "", &expr.UnknownError{What: "source file", Name: name, Nearest: expr.Near(name, bases)}
	}
	return "", fmt.Errorf("%q is ambiguous: %s", name, strings.Join(found, ", "))
}

// currentFile returns the file of the selected place or, without one, of the main program's first
// line.
func (s *Session) currentFile() string {
	if file, _, err := s.ListAround(""); err == nil && s.live() {
		return file
	}
	for _, lp := range s.linked.Programs {
		if s.prog != "" && lp.Name != s.prog {
			continue
		}
		for pc := range lp.Insns {
			if l, ok := lp.LineAt(pc); ok && l.File != "" {
				return l.File
			}
		}
	}
	return ""
}

func (cm *codeMap) locateLine(file string, line uint32) ([]Place, string, error) {
	best := ^uint32(0) // the first line with code at or after the one given
	var out []Place
	for _, lp := range cm.linked.Programs {
		c := cm.codeOf(lp)
		for _, f := range lp.Funcs {
			first := true
			for pc := f.Start; pc < f.Start+f.Len && pc < len(c.starts); pc++ {
				if !c.starts[pc] {
					continue
				}
				l, _ := lp.LineAt(pc)
				if l.File != file || l.Line < line || l.Line > best {
					continue
				}
				if l.Line < best {
					best, out, first = l.Line, nil, true
				}
				if first {
					out, first = append(out, Place{lp, pc}), false
				}
			}
		}
	}
	if len(out) == 0 {
		return nil, "", fmt.Errorf("no code at or after line %d of %s", line, file)
	}
	note := ""
	if best != line {
		note = fmt.Sprintf("line %d has no code; the next line with code is %d", line, best)
	}
	return out, note, nil
}

func (s *Session) locateSlot(text string) ([]Place, string, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 0, 31)
	if err != nil {
		return nil, "", fmt.Errorf("*%s: want an instruction number", text)
	}
	lp := s.Here().Prog
	if lp == nil {
		if l, ok := s.linked.Program(s.DefaultProgram()); ok {
			lp = l
		}
	}
	if lp == nil {
		return nil, "", ErrIdle
	}
	return slot(lp, int(n))
}

func slot(lp *loader.LinkedProgram, n int) ([]Place, string, error) {
	switch {
	case n < 0 || n >= len(lp.Insns):
		return nil, "", fmt.Errorf("%s has no instruction %d; the last one is %d", lp.Name, n, len(lp.Insns)-1)
	case n > 0 && lp.Insns[n-1].IsLdImm64() && lp.Insns[n].Code == 0:
		return nil, "", fmt.Errorf("%d is the second slot of instruction %d", n, n-1)
	}
	return []Place{{lp, n}}, "", nil
}

func (cm *codeMap) locateName(name string) ([]Place, string, error) {
	base, off := name, 0
	if i := strings.LastIndexByte(name, '+'); i > 0 {
		n, err := strconv.ParseUint(name[i+1:], 0, 31)
		if err != nil {
			return nil, "", fmt.Errorf("%s: %q is not an instruction count", name, name[i+1:])
		}
		base, off = name[:i], int(n)
	}
	var out []Place
	for _, lp := range cm.linked.Programs {
		for _, f := range lp.Funcs {
			if f.Name != base {
				continue
			}
			if off >= f.Len {
				return nil, "", fmt.Errorf("%s has %d instructions", base, f.Len)
			}
			if _, _, err := slot(lp, f.Start+off); err != nil {
				return nil, "", err
			}
			out = append(out, Place{lp, f.Start + off})
		}
	}
	if len(out) > 0 {
		return out, "", nil
	}
	if inlined := cm.placesOfInlined(base); len(inlined) > 0 {
		if off > 0 {
			return nil, "", fmt.Errorf("%s was inlined: write FUNCTION+N with the enclosing function", base)
		}
		return inlined, base + " was inlined", nil
	}
	if calls := cm.calls(base); len(calls) > 0 {
		return calls, "", nil
	}
	if _, ok := uapi.ParseFuncID(base); ok {
		return nil, "", fmt.Errorf("no program calls %s", base)
	}
	return nil, "", &expr.UnknownError{What: "function, helper or line", Name: base, Nearest: expr.Near(base, slices.Concat(cm.Functions(), cm.inlinedNames(), cm.HelperNames()))}
}

func (cm *codeMap) locateCore(text string) ([]Place, string, error) {
	var out []Place
	var fields []string
	for _, lp := range cm.linked.Programs {
		for i := range lp.Relocs {
			r := &lp.Relocs[i]
			if r.Relocation == nil {
				continue
			}
			field := r.Local.Field()
			fields = append(fields, field)
			if text == "" && !r.Changed() || text != "" && !strings.Contains(field, text) {
				continue
			}
			out = append(out, Place{lp, r.Insn})
		}
	}
	switch {
	case len(out) > 0:
		return out, "", nil
	case text == "":
		return nil, "", fmt.Errorf("CO-RE changed no instruction on this kernel")
	}
	return nil, "", &expr.UnknownError{What: "CO-RE relocation of", Name: text, Nearest: expr.Near(text, fields)}
}

// AmbiguousError is a location with several places where only one is allowed.
type AmbiguousError struct {
	Location string
	Places   []Place
}

// Error lists the places in a form that selects each of them.
func (e *AmbiguousError) Error() string {
	const most = 6
	var list []string
	for _, p := range e.Places[:min(len(e.Places), most)] {
		text := fmt.Sprintf("%s+%d", p.funcName(), p.PC)
		if f, ok := p.Func(); ok {
			text = fmt.Sprintf("%s+%d", f.Name, p.PC-f.Start)
		}
		list = append(list, text+" of "+p.Prog.Name)
	}
	if len(e.Places) > most {
		list = append(list, "...")
	}
	return fmt.Sprintf("%s is ambiguous: %s", e.Location, strings.Join(list, ", "))
}
