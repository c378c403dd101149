package debug

import (
	"debug/dwarf"
	"errors"
	"io"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/loader"
)

// lineRow is a row of .debug_line.
type lineRow struct {
	addr      uint64
	file      string
	line, col uint32
	end       bool // the first address after a sequence
}

// maxRows bounds the rows that are read of an object.
const maxRows = 1 << 21

// readLines reads the line table of a compilation unit. One that cannot be read is as good as none: .BTF.ext has lines too.
func (d *dwarfInfo) readLines(e *dwarf.Entry, u *unit) error {
	r, err := d.data.LineReader(e)
	if err != nil || r == nil {
		return nil
	}
	var row dwarf.LineEntry
	for {
		if err := r.Next(&row); err != nil {
			if !errors.Is(err, io.EOF) {
				return nil
			}
			break
		}
		if len(d.rows) >= maxRows {
			return errors.New("too many rows in .debug_line")
		}
		l := lineRow{addr: row.Address, line: uint32(max(row.Line, 0)), col: uint32(max(row.Column, 0)), end: row.EndSequence}
		if row.File != nil {
			l.file = path.Clean(row.File.Name)
		}
		d.rows = append(d.rows, l)
	}
	for _, f := range r.Files() {
		name := ""
		if f != nil {
			name = path.Clean(f.Name)
		}
		u.files = append(u.files, name)
	}
	return nil
}

// sortRows puts the rows in the order of addresses; what ends comes before what begins there.
func (d *dwarfInfo) sortRows() {
	sort.SliceStable(d.rows, func(i, j int) bool {
		if d.rows[i].addr != d.rows[j].addr {
			return d.rows[i].addr < d.rows[j].addr
		}
		return d.rows[i].end && !d.rows[j].end
	})
}

// functionLines returns the rows of a function as line information, nil when the table does not cover it.
func (d *dwarfInfo) functionLines(f *loader.Function, name func(file string) string, text func(file string, line uint32) string) []btf.LineInfo {
	base, ok := d.sections[f.Section]
	if !ok {
		return nil
	}
	lo := base + 8*uint64(f.SectionOff)
	hi := lo + 8*uint64(len(f.Insns))
	i := sort.Search(len(d.rows), func(i int) bool { return d.rows[i].addr > lo })
	if i > 0 && !d.rows[i-1].end && d.rows[i-1].addr >= base {
		i-- // the row that covers the start
	}
	var out []btf.LineInfo
	for ; i < len(d.rows) && d.rows[i].addr < hi; i++ {
		r := d.rows[i]
		if r.end || r.line == 0 {
			continue // code of no line stays with the line before it
		}
		l := btf.LineInfo{InsnOff: uint32(max(r.addr, lo) - base), File: name(r.file), Line: r.line, Col: r.col}
		l.Text = text(l.File, l.Line)
		if n := len(out); n > 0 && out[n-1].InsnOff == l.InsnOff {
			out[n-1] = l // the last row of an address counts
			continue
		}
		out = append(out, l)
	}
	return out
}

// useLines gives the functions of the object the lines of .debug_line, where it has them.
func (s *Session) useLines() {
	if s.dwarf == nil || len(s.dwarf.rows) == 0 {
		return
	}
	texts := map[string]map[uint32]string{}
	s.extLines(func(l btf.LineInfo) {
		if texts[l.File] == nil {
			texts[l.File] = map[uint32]string{}
		}
		texts[l.File][l.Line] = l.Text
	})
	known := slices.Sorted(maps.Keys(texts))
	names := map[string]string{}
	// DWARF may say the same file in other words: .BTF.ext's name stands for both.
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
	for _, lp := range s.linked.Programs {
		for i := range lp.Funcs {
			f := lp.Funcs[i].Function
			if f == nil {
				continue
			}
			l, seen := lines[f]
			if !seen {
				l = s.dwarf.functionLines(f, name, text)
				lines[f] = l
			}
			if len(l) > 0 {
				lp.Funcs[i].Lines = l
			}
		}
	}
	for _, sc := range s.dwarf.scopes {
		sc.rename(name)
	}
}

// rename gives the places scopes are called from the names files have in line information.
func (s *scope) rename(name func(string) string) {
	if s.callFile != "" {
		s.callFile = name(s.callFile)
	}
	for _, in := range s.inner {
		in.rename(name)
	}
}

// extLines calls f for every record of .BTF.ext.
func (s *Session) extLines(f func(btf.LineInfo)) {
	if ext := s.linked.Object.Ext; ext != nil {
		for _, sec := range ext.Lines {
			for _, l := range sec.Records {
				if l.File != "" {
					f(l)
				}
			}
		}
	}
}

// eachLine calls f for every line that code belongs to: of .debug_line where it covers a function, else of .BTF.ext.
func (s *Session) eachLine(f func(btf.LineInfo)) {
	covered := false
	for _, lp := range s.linked.Programs {
		for _, fn := range lp.Funcs {
			for _, l := range fn.Lines {
				if l.File != "" && l.Line > 0 {
					f(l)
				}
			}
			covered = covered || fn.Lines != nil
		}
	}
	s.extLines(func(l btf.LineInfo) {
		if !covered || l.Line > 0 {
			f(l)
		}
	})
}

// inlinedAt returns the inlined functions that an instruction belongs to, innermost first.
func (s *Session) inlinedAt(p Place) []*scope {
	addr, ok := s.codeAddress(p)
	if !ok {
		return nil
	}
	return slices.DeleteFunc(s.dwarf.visible(addr), func(sc *scope) bool { return sc.inlined == "" })
}

// placesOfInlined finds where the code of an inlined function begins, in every function it was inlined into.
func (s *Session) placesOfInlined(name string) []Place {
	if s.dwarf == nil {
		return nil
	}
	var out []Place
	var walk func(list []*scope)
	walk = func(list []*scope) {
		for _, sc := range list {
			if sc.inlined == name {
				lo := sc.ranges[0][0]
				for _, r := range sc.ranges {
					lo = min(lo, r[0])
				}
				out = append(out, s.placesAt(lo)...)
			}
			walk(sc.inner)
		}
	}
	walk(s.dwarf.scopes)
	return out
}

// placesAt returns the instructions of the linked programs that an address of the object's code became.
func (s *Session) placesAt(addr uint64) []Place {
	var out []Place
	for _, lp := range s.linked.Programs {
		for _, f := range lp.Funcs {
			if f.Function == nil {
				continue
			}
			base, ok := s.dwarf.sections[f.Function.Section]
			lo := base + 8*uint64(f.Function.SectionOff)
			if ok && addr >= lo && addr < lo+8*uint64(f.Len) {
				out = append(out, Place{lp, f.Start + int(addr-lo)/8})
			}
		}
	}
	return out
}

// inlinedNames lists the functions that were inlined somewhere.
func (s *Session) inlinedNames() []string {
	if s.dwarf == nil {
		return nil
	}
	seen := map[string]bool{}
	var walk func(list []*scope)
	walk = func(list []*scope) {
		for _, sc := range list {
			if sc.inlined != "" && sc.inlined != "?" {
				seen[sc.inlined] = true
			}
			walk(sc.inner)
		}
	}
	walk(s.dwarf.scopes)
	return slices.Sorted(maps.Keys(seen))
}

// InlinedFunctions returns the names of the functions that the compiler inlined, sorted, as far as DWARF says.
func (s *Session) InlinedFunctions() []string { return s.inlinedNames() }
