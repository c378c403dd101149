package scopes

import (
	"debug/dwarf"
	"errors"
	"io"
	"path"
	"sort"

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

// maxRows limits the rows read from an object.
const maxRows = 1 << 21

// readLines reads the line table of a compilation unit. An unreadable table is ignored, since
// .BTF.ext has lines too.
func (d *Info) readLines(e *dwarf.Entry, u *unit) error {
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

// sortRows sorts the rows by address; the end of a sequence precedes the start of another at the
// same address.
func (d *Info) sortRows() {
	sort.SliceStable(d.rows, func(i, j int) bool {
		if d.rows[i].addr != d.rows[j].addr {
			return d.rows[i].addr < d.rows[j].addr
		}
		return d.rows[i].end && !d.rows[j].end
	})
}

// FunctionLines returns the rows of a function as line information, nil if the table does not cover
// it.
func (d *Info) FunctionLines(f *loader.Function, name func(file string) string, text func(file string, line uint32) string) []btf.LineInfo {
	base, ok := d.Sections[f.Section]
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
			continue // code without a line belongs to the preceding line
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

// Rename replaces the file names of calls by those that line information uses.
func (s *Scope) Rename(name func(string) string) {
	if s.CallFile != "" {
		s.CallFile = name(s.CallFile)
	}
	for _, in := range s.Inner {
		in.Rename(name)
	}
}

// HasLines reports whether the object has a line table.
func (d *Info) HasLines() bool { return len(d.rows) > 0 }
