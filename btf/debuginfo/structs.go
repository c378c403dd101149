// Package debuginfo reads the types of BPF objects from DWARF. Compilers emit BTF only for types
// that maps, functions and global variables refer to; a struct that a program sends through a ring
// buffer is described by DWARF alone.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package debuginfo

import (
	"bytes"
	"debug/dwarf"
	"debug/elf"
	"errors"
	"path/filepath"

	"github.com/bpfrun/bpfrun/btf"
)

// Limits of the DWARF that is read.
const (
	maxInfo    = 4 << 20 // bytes of .debug_info
	maxEntries = 1 << 20
)

// Structs returns base with the named structs of an object's DWARF appended, or nil when there are
// none to add. It leaves out structs that base has with the same name and size, and the structs of
// headers that declare one of the kernel types named by kernels: such a header (vmlinux.h)
// describes a kernel, not the object.
func Structs(object []byte, base *btf.Spec, kernels map[string]bool) (*btf.Spec, error) {
	f, err := elf.NewFile(bytes.NewReader(object))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info := f.Section(".debug_info")
	if info == nil || info.Size > maxInfo || f.Section(".debug_abbrev") == nil {
		return nil, nil
	}
	sec, err := Sections(f)
	if err != nil {
		return nil, err
	}
	data, err := Data(sec)
	if err != nil {
		return nil, err
	}
	found, err := declared(data)
	if err != nil {
		return nil, err
	}
	headers := map[place]bool{}
	for _, s := range found {
		if kernels[s.name] && s.file != s.unit.source {
			headers[s.place] = true
		}
	}
	m := NewMaker(data, base)
	seen := map[key]bool{}
	for _, s := range found {
		if !seen[s.key] && !s.in(base) && !headers[s.place] {
			seen[s.key] = true
			m.At(s.off)
		}
	}
	if len(seen) == 0 {
		return nil, nil
	}
	return m.Spec(f.ByteOrder)
}

// declaration is a struct with a name and members.
type declaration struct {
	key
	place
	off dwarf.Offset
}

// place is a file, by its number in a compilation unit.
type place struct {
	unit *unit
	file int64
}

// unit is a compilation unit with the number of its source file.
type unit struct{ source int64 }

// declared lists the structs of all compilation units.
func declared(data *dwarf.Data) ([]declaration, error) {
	var out []declaration
	u := &unit{}
	r := data.Reader()
	for n := 0; ; n++ {
		e, err := r.Next()
		switch {
		case err != nil:
			return nil, err
		case n > maxEntries: // damaged DWARF can keep the reader at one offset
			return nil, errors.New("DWARF: too many entries")
		case e == nil:
			return out, nil
		case e.Tag == dwarf.TagCompileUnit:
			u = &unit{source: source(data, e)}
		case e.Tag == dwarf.TagStructType:
			name, _ := e.Val(dwarf.AttrName).(string)
			size, _ := e.Val(dwarf.AttrByteSize).(int64)
			file, _ := e.Val(dwarf.AttrDeclFile).(int64)
			if name != "" && size > 0 {
				out = append(out, declaration{key{name, size}, place{u, file}, e.Offset})
			}
		}
	}
}

// source returns the number of the file that a unit was compiled from, -1 if unknown.
func source(data *dwarf.Data, cu *dwarf.Entry) int64 {
	name, _ := cu.Val(dwarf.AttrName).(string)
	lines, err := data.LineReader(cu)
	if err != nil || lines == nil || name == "" {
		return -1
	}
	for i, f := range lines.Files() {
		if f != nil && filepath.Base(f.Name) == filepath.Base(name) {
			return int64(i)
		}
	}
	return -1
}

// key identifies a struct across compilation units.
type key struct {
	name string
	size int64
}

func (k key) in(s *btf.Spec) bool {
	if s == nil {
		return false
	}
	t, ok := s.Find(btf.KindStruct, k.name)
	return ok && int64(t.Size) == k.size
}
