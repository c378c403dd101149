// Package debuginfo reads the types of BPF objects from DWARF. Compilers put into BTF only what maps, functions and global variables
// lead to: the struct a program sends through a ring buffer is in DWARF alone.
package debuginfo

import (
	"bytes"
	"debug/dwarf"
	"debug/elf"
	"errors"

	"github.com/bpfrun/bpfrun/btf"
)

// Limits of what is read for the sake of types.
const (
	maxInfo    = 4 << 20 // of .debug_info
	maxEntries = 1 << 20
)

// Structs returns base with the named structs of an object's DWARF behind its types, and nil when there is none to add. A struct
// that base has under the same name and of the same size is left out.
func Structs(object []byte, base *btf.Spec) (*btf.Spec, error) {
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
	m := NewMaker(data, base)
	seen := map[key]bool{}
	r := data.Reader()
	for n := 0; ; n++ {
		e, err := r.Next()
		switch {
		case err != nil:
			return nil, err
		case n > maxEntries: // damaged data can make the reader stay where it is
			return nil, errors.New("DWARF: too many entries")
		case e == nil:
			if len(seen) == 0 {
				return nil, nil
			}
			return m.Spec(f.ByteOrder)
		case e.Tag == dwarf.TagStructType:
			name, _ := e.Val(dwarf.AttrName).(string)
			size, _ := e.Val(dwarf.AttrByteSize).(int64)
			if k := (key{name, size}); name != "" && size > 0 && !seen[k] && !k.in(base) {
				seen[k] = true
				m.At(e.Offset)
			}
		}
	}
}

// key tells structs of several compilation units apart.
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
