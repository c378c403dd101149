package scopes

import (
	"bytes"
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/debuginfo"
	"github.com/bpfrun/bpfrun/internal/dwarfloc"
)

// Limits on the DWARF entries read from an object.
const (
	maxScopes  = 1 << 20
	maxPadding = 1 << 12
)

// MaxLine is the largest line number accepted from line information.
const MaxLine = 1 << 20

// Info holds the scopes, local variables and lines from an object's DWARF.
type Info struct {
	data     *dwarf.Data
	order    binary.ByteOrder
	Sections map[string]uint64 // base addresses by name
	Scopes   []*Scope          // functions, by section and address
	addr     []byte            // .debug_addr
	loclists []byte
	loc      []byte // .debug_loc
	rows     []lineRow
	types    *debuginfo.Maker
	Spec     *btf.Spec
}

// Scope is a function, a block in it, or an inlined function.
type Scope struct {
	Ranges  [][2]uint64
	Inlined string // name of the inlined function
	// CallFile and CallLine are the location of the call to the inlined function.
	CallFile string
	CallLine uint32
	Vars     []*Variable
	Inner    []*Scope
}

// Variable is one variable of one scope.
type Variable struct {
	Name     string
	Type     btf.ID // in Info.Spec
	Param    bool
	line     int64
	expr     []byte // the location, if it is the same everywhere
	section  []byte // of the location list, if there is one
	list     uint64 // offset of the list in the section
	version  uint16 // of DWARF, that decides the list's format
	Constant *int64
	unit     *unit
}

// unit holds the data of a compilation unit that location lists need.
type unit struct {
	dwarfloc.Unit
	files []string // by number
}

// Read reads the scopes and variables of an ELF object; nil without an error if it has no DWARF.
func Read(object []byte) (*Info, error) {
	f, err := elf.NewFile(bytes.NewReader(object))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Section(".debug_info") == nil || f.Section(".debug_abbrev") == nil {
		return nil, nil
	}
	d := &Info{order: f.ByteOrder, Sections: map[string]uint64{}}
	for i, s := range f.Sections {
		if _, seen := d.Sections[s.Name]; !seen && s.Flags&elf.SHF_EXECINSTR != 0 {
			d.Sections[s.Name] = uint64(i) << debuginfo.SectionShift
		}
	}
	sec, err := debuginfo.Sections(f)
	if err != nil {
		return nil, err
	}
	if d.data, err = debuginfo.Data(sec); err != nil {
		return nil, err
	}
	d.addr, d.loclists, d.loc = sec["addr"], sec["loclists"], sec["loc"]
	d.types = debuginfo.NewMaker(d.data, nil)
	if err := d.walk(); err != nil {
		return nil, fmt.Errorf("DWARF: %w", err)
	}
	d.sortRows()
	if d.Spec, err = d.types.Spec(d.order); err != nil {
		return nil, fmt.Errorf("DWARF types: %w", err)
	}
	return d, nil
}

// walk collects the scopes of all functions.
func (d *Info) walk() error {
	r := d.data.Reader()
	var u *unit
	var stack []*Scope // nil for entries other than scopes
	total, padding := 0, 0
	for {
		e, err := r.Next()
		if err != nil {
			return err
		}
		if e == nil {
			return nil
		}
		if total++; total > maxScopes { // damaged data can make the reader loop in place
			return errors.New("too many entries")
		}
		if e.Tag == 0 {
			if len(stack) > 0 {
				stack = stack[:len(stack)-1]
			} else if padding++; padding > maxPadding {
				return errors.New("too many end-of-children entries")
			}
			continue
		}
		var outer *Scope
		for i := len(stack) - 1; i >= 0 && outer == nil; i-- {
			outer = stack[i]
		}
		var made *Scope
		switch e.Tag {
		case dwarf.TagCompileUnit:
			u = d.newUnit(e)
			if err := d.readLines(e, u); err != nil {
				return err
			}
		case dwarf.TagSubprogram, dwarf.TagLexDwarfBlock, dwarf.TagInlinedSubroutine:
			if made = d.scope(e, u); made != nil {
				if outer != nil && e.Tag != dwarf.TagSubprogram {
					outer.Inner = append(outer.Inner, made)
				} else {
					d.Scopes = append(d.Scopes, made)
				}
			}
		case dwarf.TagVariable, dwarf.TagFormalParameter:
			if outer != nil && u != nil {
				if v := d.variable(e, u); v != nil {
					outer.Vars = append(outer.Vars, v)
				}
			}
		}
		if e.Children {
			stack = append(stack, made)
		}
	}
}

func (d *Info) newUnit(e *dwarf.Entry) *unit {
	u := &unit{Unit: dwarfloc.Unit{Order: d.order, AddrSize: 8, OffSize: 4, Addr: d.addr}}
	if v, ok := e.Val(dwarf.AttrLowpc).(uint64); ok {
		u.Base = v
	}
	if v, ok := e.Val(dwarf.AttrAddrBase).(int64); ok {
		u.AddrBase = uint64(v)
	}
	if v, ok := e.Val(dwarf.AttrLoclistsBase).(int64); ok {
		u.ListBase = uint64(v)
	}
	return u
}

// scope creates the scope of an entry that has code; nil for declarations and abstract functions.
func (d *Info) scope(e *dwarf.Entry, u *unit) *Scope {
	ranges, err := d.data.Ranges(e)
	if err != nil || len(ranges) == 0 {
		return nil
	}
	s := &Scope{Ranges: ranges}
	if e.Tag == dwarf.TagInlinedSubroutine {
		s.Inlined = "?"
		if o := d.origin(e); o != nil {
			if name, ok := o.Val(dwarf.AttrName).(string); ok {
				s.Inlined = name
			}
		}
		if n, ok := e.Val(dwarf.AttrCallLine).(int64); ok && n > 0 && n <= MaxLine {
			s.CallLine = uint32(n)
		}
		if n, ok := e.Val(dwarf.AttrCallFile).(int64); ok && u != nil && n >= 0 && n < int64(len(u.files)) {
			s.CallFile = u.files[n]
		}
	}
	return s
}

// origin follows DW_AT_abstract_origin and DW_AT_specification to the entry with the name.
func (d *Info) origin(e *dwarf.Entry) *dwarf.Entry {
	const deepest = 8
	for range deepest {
		off, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			if off, ok = e.Val(dwarf.AttrSpecification).(dwarf.Offset); !ok {
				return e
			}
		}
		r := d.data.Reader()
		r.Seek(off)
		next, err := r.Next()
		if err != nil || next == nil {
			return nil
		}
		e = next
	}
	return nil
}

func (d *Info) variable(e *dwarf.Entry, u *unit) *Variable {
	o := d.origin(e)
	if o == nil {
		return nil
	}
	name, _ := o.Val(dwarf.AttrName).(string)
	off, ok := o.Val(dwarf.AttrType).(dwarf.Offset)
	if name == "" || !ok {
		return nil
	}
	v := &Variable{Name: name, Type: d.types.At(off), Param: e.Tag == dwarf.TagFormalParameter, unit: u}
	v.line, _ = o.Val(dwarf.AttrDeclLine).(int64)
	if c, ok := e.Val(dwarf.AttrConstValue).(int64); ok {
		v.Constant = &c
	}
	f := e.AttrField(dwarf.AttrLocation)
	if f == nil {
		return v
	}
	switch val := f.Val.(type) {
	case []byte:
		v.expr = val
	case int64:
		d.locationList(v, f.Class, uint64(val))
	case uint64:
		d.locationList(v, f.Class, val)
	}
	if e.Tag == dwarf.TagVariable && isStatic(v.expr) {
		return nil // a global declared locally
	}
	return v
}

// isStatic reports whether a location is a fixed address.
func isStatic(expr []byte) bool {
	return len(expr) > 0 && (expr[0] == dwarfloc.OpAddr || expr[0] == dwarfloc.OpAddrx)
}

// locationList finds a list by its offset, or by its index in the unit's table.
func (d *Info) locationList(v *Variable, class dwarf.Class, val uint64) {
	data, off := d.loclists, val
	v.version = 5
	if len(d.loclists) == 0 {
		data, v.version = d.loc, 4
	} else if class == dwarf.ClassLocList {
		var err error
		if off, err = v.unit.ListAt(data, val); err != nil {
			return
		}
	}
	if off < uint64(len(data)) {
		v.section, v.list = data, off
	}
}

// Covers reports whether the scope has code at an address.
func (s *Scope) Covers(addr uint64) bool {
	for _, r := range s.Ranges {
		if addr >= r[0] && addr < r[1] {
			return true
		}
	}
	return false
}

// Visible returns the scopes that cover an address, innermost first.
func (d *Info) Visible(addr uint64) []*Scope {
	var out []*Scope
	list := d.Scopes
	for list != nil {
		var next []*Scope
		for _, s := range list {
			if s.Covers(addr) {
				out = append([]*Scope{s}, out...)
				next = s.Inner
				break
			}
		}
		list = next
	}
	return out
}
