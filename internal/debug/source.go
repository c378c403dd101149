package debug

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/debug/scopes"
	"github.com/bpfrun/bpfrun/loader"
)

// SourceLine is one line of a listing.
type SourceLine struct {
	File string
	Line uint32
	Text string
	// Known reports whether the text is known; without source files, only lines with code are.
	Known bool
	// Code reports whether the line has instructions, Current whether the session is stopped on it.
	Code, Current bool
	// Breakpoint is the number of a breakpoint on the line, 0 for none.
	Breakpoint int
}

// maxSource is the size of the largest source file that is read, in bytes.
const maxSource = 8 << 20

// source is the text of a source file by line number, from 1.
type source struct {
	lines []string
	whole bool   // read from the file, rather than pieced together from line information
	path  string // of that file
}

// sourceText returns the lines of a source file: from the file if it is found, otherwise from the
// text in line information.
func (cm *codeMap) sourceText(file string) source {
	if src, ok := cm.sources[file]; ok {
		return src
	}
	src := source{whole: true}
	src.lines, src.path = cm.readSource(file)
	if src.lines == nil {
		src = source{lines: cm.lineTexts(file)}
	}
	cm.sources[file] = src
	return src
}

func (cm *codeMap) readSource(file string) (lines []string, found string) {
	tries := []string{file}
	for _, m := range cm.moved {
		if rest, ok := strings.CutPrefix(path.Clean(file), path.Clean(m.From)); ok && (rest == "" || rest[0] == '/' || m.From == "/") {
			tries = append([]string{filepath.Join(m.To, filepath.FromSlash(rest))}, tries...)
		}
	}
	for _, dir := range cm.dirs {
		rest := strings.TrimLeft(file, "/")
		for rest != "" {
			tries = append(tries, filepath.Join(dir, filepath.FromSlash(rest)))
			_, after, ok := strings.Cut(rest, "/")
			if !ok {
				break
			}
			rest = after
		}
	}
	for _, name := range tries {
		st, err := os.Stat(name)
		if err != nil || !st.Mode().IsRegular() || st.Size() > maxSource {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		lines := strings.Split(strings.ReplaceAll(string(b), "\r\n", "\n"), "\n")
		if cm.agrees(file, lines) {
			return append([]string{""}, lines...), name
		}
	}
	return nil, ""
}

// agrees reports whether a file is the one the object was compiled from: it contains the lines
// recorded in line information.
func (cm *codeMap) agrees(file string, lines []string) bool {
	same := true
	cm.eachLine(func(l btf.LineInfo) {
		if l.File == file && l.Text != "" && (int(l.Line) > len(lines) || l.Line == 0 || strings.TrimSpace(lines[l.Line-1]) != strings.TrimSpace(l.Text)) {
			same = false
		}
	})
	return same
}

func (cm *codeMap) lineTexts(file string) []string {
	var out []string
	cm.eachLine(func(l btf.LineInfo) {
		if l.File != file || l.Line == 0 || l.Line > scopes.MaxLine {
			return
		}
		for uint32(len(out)) <= l.Line {
			out = append(out, "")
		}
		if l.Text != "" {
			out[l.Line] = l.Text
		}
	})
	return out
}

// List returns the source lines from to to (inclusive) of a file.
func (s *Session) List(file string, from, to uint32) ([]SourceLine, error) {
	src := s.sourceText(file)
	text := src.lines
	if len(text) == 0 {
		return nil, fmt.Errorf("no source text of %s", file)
	}
	if from >= uint32(len(text)) {
		return nil, fmt.Errorf("%s has %d lines", file, len(text)-1)
	}
	code := s.codeLines(file)
	var current Frame
	if frames, err := s.Frames(); err == nil && s.SelectedFrame() < len(frames) {
		current = frames[s.SelectedFrame()]
	}
	var out []SourceLine
	for n := max(from, 1); n <= to && n < uint32(len(text)); n++ {
		l := SourceLine{File: file, Line: n, Text: text[n], Code: code[n], Known: src.whole || code[n]}
		l.Current = s.live() && current.File == file && current.Line == n
		for _, b := range s.breaks {
			for _, p := range b.Places {
				if at, ok := lineOf(p); ok && at.File == file && at.Line == n {
					l.Breakpoint = b.ID
				}
			}
		}
		out = append(out, l)
	}
	return out, nil
}

func (cm *codeMap) codeLines(file string) map[uint32]bool {
	out := map[uint32]bool{}
	cm.eachLine(func(l btf.LineInfo) {
		if l.File == file {
			out[l.Line] = true
		}
	})
	return out
}

// ListAround returns the file and line at which a listing of a location begins.
func (s *Session) ListAround(location string) (file string, line uint32, err error) {
	if location == "" {
		if frames, err := s.Frames(); err == nil && s.SelectedFrame() < len(frames) {
			if f := frames[s.SelectedFrame()]; f.Line > 0 {
				return f.File, f.Line, nil
			}
		}
		if lp, ok := s.linked.Program(s.DefaultProgram()); ok {
			if l, ok := lineOf(Place{lp, 0}); ok {
				return l.File, l.Line, nil
			}
		}
		return "", 0, fmt.Errorf("no line information here: use disas")
	}
	if file, line, ok, err := s.exactLine(location, s.currentFile); ok || err != nil {
		return file, line, err
	}
	places, _, err := s.Locate(location)
	if err != nil {
		return "", 0, err
	}
	l, ok := lineOf(places[0])
	if !ok {
		return "", 0, fmt.Errorf("no line information at %s", places[0])
	}
	return l.File, l.Line, nil
}

// CodeLine is one instruction of a disassembly.
type CodeLine struct {
	Place Place
	Text  string
	// Source is the source line if it differs from the previous instruction's; "" otherwise.
	Source string
	// Reloc is set for instructions with a CO-RE relocation; Changed reports whether the relocation
	// changed the instruction.
	Reloc   *loader.Reloc
	Changed bool
	Current bool
	// Breakpoint is the number of a breakpoint here, 0 for none.
	Breakpoint int
	// Function is the name of the function that begins here.
	Function string
}

// Disassemble returns the instructions of a program from slot from up to, but not including, slot
// to.
func (s *Session) Disassemble(lp *loader.LinkedProgram, from, to int) []CodeLine {
	var out []CodeLine
	here := s.Here()
	last := ""
	if from > 0 && from < len(lp.Insns) && lp.Insns[from].Code == 0 && lp.Insns[from-1].IsLdImm64() {
		from-- // do not start inside an instruction
	}
	for pc := max(from, 0); pc < min(to, len(lp.Insns)); pc += lp.Insns[pc].Len() {
		p := Place{lp, pc}
		c := CodeLine{Place: p, Text: p.Insn(), Current: s.state != Idle && p == here}
		if f, ok := p.Func(); ok && f.Start == pc {
			c.Function = f.Name
		}
		if l, ok := lineOf(p); ok {
			text := strings.TrimSpace(l.Text)
			if text == "" {
				if all := s.sourceText(l.File).lines; int(l.Line) < len(all) {
					text = strings.TrimSpace(all[l.Line])
				}
			}
			if src := fmt.Sprintf("%s:%d: %s", filepath.Base(l.File), l.Line, text); src != last {
				c.Source, last = src, src
			}
		}
		if r, ok := lp.RelocAt(pc); ok && r.Relocation != nil {
			c.Reloc, c.Changed = r, r.Changed()
		}
		for _, b := range s.breaks {
			for _, at := range b.Places {
				if at == p {
					c.Breakpoint = b.ID
				}
			}
		}
		out = append(out, c)
	}
	return out
}

// LineAt returns the source line of a place; ok is false for compiler-generated code and without
// line information.
func (cm *codeMap) LineAt(p Place) (btf.LineInfo, bool) { return lineOf(p) }

// SourceLineText returns the text of a source line, "" if it is unknown.
func (cm *codeMap) SourceLineText(l btf.LineInfo) string {
	if l.Text != "" {
		return l.Text
	}
	if all := cm.sourceText(l.File).lines; int(l.Line) < len(all) {
		return all[l.Line]
	}
	return ""
}

// MapSource replaces a leading directory of source file names: files compiled under from are now
// under to.
func (cm *codeMap) MapSource(from, to string) {
	cm.moved = append(cm.moved, SourceMapping{From: from, To: to})
	clear(cm.sources)
}

// AddSourceDir adds a directory to search for source files.
func (cm *codeMap) AddSourceDir(dir string) {
	cm.dirs = append(cm.dirs, dir)
	clear(cm.sources)
}

// SourceDirs returns the directories searched for source files.
func (cm *codeMap) SourceDirs() []string { return cm.dirs }

// SourcePath returns the path of the file that provides the text of a source file, "" if none was
// found.
func (cm *codeMap) SourcePath(file string) string { return cm.sourceText(file).path }

// HasSource reports whether the text of a source file was read from a file.
func (cm *codeMap) HasSource(file string) bool { return cm.sourceText(file).whole }

// LineSource names the section that provides the lines of a place.
func (cm *codeMap) LineSource(p Place) string {
	if f, ok := p.Func(); ok && f.Lines != nil {
		return ".debug_line"
	}
	return ".BTF.ext"
}

// LineRange returns the slots around a place that belong to its line, from lo up to, but not
// including, hi.
func (cm *codeMap) LineRange(p Place) (lo, hi int) {
	c := cm.codeOf(p.Prog)
	lo, hi = p.PC, p.PC+1
	for lo > 0 && c.line[lo-1] == c.line[p.PC] && c.fn[lo-1] == c.fn[p.PC] {
		lo--
	}
	for hi < len(c.line) && c.line[hi] == c.line[p.PC] && c.fn[hi] == c.fn[p.PC] {
		hi++
	}
	return lo, hi
}
