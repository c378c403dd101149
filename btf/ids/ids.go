// Package ids reads and resolves .BTF_ids: the lists and sets of BTF ids of functions and types
// that kernels and modules provide for the verifier, labelled by symbols (include/linux/btf_ids.h).
//
// It finds the entries by their symbols, checks them against BTF, and writes them as resolve_btfids
// does. It does not know what the lists are used for.
//
// Start at [Read], [Section.Check] and [Section.Resolve].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package ids

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
)

// Errors; test with [errors.Is].
var (
	// ErrNotELF: the file is not an ELF file, or is malformed.
	ErrNotELF = errors.New("not an ELF file")
	// ErrNoSection: the file has no .BTF_ids.
	ErrNoSection = errors.New("no section .BTF_ids")
	// ErrNoSymbols: the symbols that name the entries of .BTF_ids are missing; the file was
	// stripped.
	ErrNoSymbols = errors.New("no symbols for .BTF_ids")
	// ErrResolved: the ids are already set. Sets are then sorted, so that symbols no longer label
	// their own entries.
	ErrResolved = errors.New(".BTF_ids is already resolved")
	// ErrMalformed: symbols and section are inconsistent.
	ErrMalformed = errors.New("malformed .BTF_ids")
)

const (
	sectionName = ".BTF_ids"
	prefix      = "__BTF_ID__"
	maxSection  = 64 << 20
)

// ListKind is the layout of a list.
type ListKind uint8

// Kinds of lists.
const (
	List ListKind = iota // ids
	Set                  // a count, then ascending ids
	Set8                 // a count and flags, then ascending ids with flags
)

// String returns "list", "set" or "set8".
func (k ListKind) String() string { return [...]string{"list", "set", "set8"}[k] }

// Group is a list or set.
type Group struct {
	Kind   ListKind
	Name   string
	Offset uint32
	// Count is a set's count by the size of its symbol; Stored and Flags are the values in the
	// file.
	Count, Stored, Flags uint32
	Entries              []Entry
}

// Entry is one id in the file.
type Entry struct {
	Kind   btf.Kind // of the named type; VOID for an unused entry
	Name   string
	Offset uint32
	ID     btf.ID
	Flags  uint32 // of a set8
}

// Section is the .BTF_ids section of a file.
type Section struct {
	Order  binary.ByteOrder
	Groups []Group

	data []byte // the section's contents
	file []byte // nil when only the section was read
	at   uint64 // offset of the section in the file
	size uint32
}

var kinds = []struct {
	name string
	kind btf.Kind
}{{"struct", btf.KindStruct}, {"union", btf.KindUnion}, {"typedef", btf.KindTypedef}, {"func", btf.KindFunc}}

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// Read finds the lists and sets of an ELF file. The Section keeps file, which must not change.
// Errors are [ErrNotELF], [ErrNoSection], [ErrNoSymbols] and [ErrMalformed].
func Read(file []byte) (s *Section, err error) {
	defer guard(&err)
	f, err := elf.NewFile(bytes.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotELF, err)
	}
	if s, err = ReadELF(f); err != nil {
		return nil, err
	}
	if s.at > uint64(len(file)) || uint64(s.size) > uint64(len(file))-s.at {
		return nil, malformed("the section has %d bytes at %d of %d", s.size, s.at, len(file))
	}
	s.file = file
	return s, nil
}

func guard(err *error) {
	// A panic in debug/elf must not end the process.
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: %v", ErrNotELF, r)
	}
}

// ReadELF is [Read] for an open file. It reads only the parts it needs, so its Section cannot be
// resolved.
func ReadELF(f *elf.File) (s *Section, err error) {
	defer guard(&err)
	index := slices.IndexFunc(f.Sections, func(s *elf.Section) bool { return s.Name == sectionName })
	if index < 0 {
		return nil, fmt.Errorf("%w; only kernels and modules with BTF have one", ErrNoSection)
	}
	sec := f.Sections[index]
	switch {
	case sec.Type == elf.SHT_NOBITS || sec.Flags&elf.SHF_COMPRESSED != 0:
		return nil, fmt.Errorf("%w: its bytes are not in the file; it may be the debug file of a stripped kernel", ErrNoSection)
	case sec.Size > maxSection:
		return nil, malformed("the section has %d bytes", sec.Size)
	}
	data, err := sec.Data()
	if err != nil {
		return nil, malformed("%v", err)
	}
	s = &Section{Order: f.ByteOrder, data: data, at: sec.Offset, size: uint32(len(data))}
	syms, err := f.Symbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, malformed("symbols: %v", err)
	}
	return s, s.collect(syms, index, sec.Addr)
}

// symbol is a symbol of the section.
type symbol struct {
	name      string
	off, size uint32
}

func (s *Section) collect(all []elf.Symbol, index int, addr uint64) error {
	var labels, entries []symbol
	for _, sym := range all {
		if int(sym.Section) != index || elf.ST_TYPE(sym.Info) == elf.STT_SECTION || sym.Name == "" {
			continue
		}
		off := sym.Value - addr
		if off > uint64(s.size) || sym.Size > uint64(s.size) {
			return malformed("symbol %s is at %d with %d bytes, the section has %d", sym.Name, off, sym.Size, s.size)
		}
		v := symbol{sym.Name, uint32(off), uint32(sym.Size)}
		if strings.HasPrefix(sym.Name, prefix) && !strings.HasPrefix(sym.Name, prefix+"set") {
			entries = append(entries, v)
		} else {
			labels = append(labels, v)
		}
	}
	if len(entries) == 0 && len(labels) == 0 {
		return fmt.Errorf("%w: take the file before it was stripped", ErrNoSymbols)
	}
	byPlace := func(a, b symbol) int { return cmp.Or(cmp.Compare(a.off, b.off), strings.Compare(a.name, b.name)) }
	slices.SortFunc(labels, byPlace)
	slices.SortFunc(entries, byPlace)
	for _, l := range labels {
		if err := s.group(l); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if err := s.entry(e); err != nil {
			return err
		}
	}
	s.unused()
	return nil
}

// group adds the list or set that starts at a label.
func (s *Section) group(l symbol) error {
	g := Group{Name: l.name, Offset: l.off}
	if rest, ok := strings.CutPrefix(l.name, prefix); ok {
		head := uint32(4)
		switch {
		case strings.HasPrefix(rest, "set8__"):
			g.Kind, g.Name, head = Set8, rest[len("set8__"):], 8
		case strings.HasPrefix(rest, "set__"):
			g.Kind, g.Name = Set, rest[len("set__"):]
		default:
			return malformed("symbol %s is of unknown kind", l.name)
		}
		if l.size < head || l.size%head != 0 || l.off+l.size > s.size || l.off%4 != 0 {
			return malformed("set %s has %d bytes at %d", g.Name, l.size, l.off)
		}
		g.Count = l.size/head - 1
		g.Stored = s.word(l.off)
		if g.Kind == Set8 {
			g.Flags = s.word(l.off + 4)
		}
	}
	if n := len(s.Groups); n > 0 && s.Groups[n-1].Offset == g.Offset {
		// A set also has a label of its own name at the same offset.
		if s.Groups[n-1].Kind == List {
			s.Groups[n-1] = g
		}
		return nil
	}
	s.Groups = append(s.Groups, g)
	return nil
}

// entry adds the id labelled by a symbol __BTF_ID__KIND__NAME__UNIQUE.
func (s *Section) entry(v symbol) error {
	rest := v.name[len(prefix):]
	e := Entry{Offset: v.off}
	for _, k := range kinds {
		if name, ok := strings.CutPrefix(rest, k.name+"__"); ok {
			end := strings.LastIndex(name, "__")
			if end < 1 {
				return malformed("symbol %s names no type", v.name)
			}
			e.Kind, e.Name = k.kind, name[:end]
		}
	}
	if e.Kind == btf.KindVoid {
		return malformed("symbol %s is of unknown kind", v.name)
	}
	if v.off%4 != 0 || v.off+4 > s.size {
		return malformed("symbol %s is at %d, the section has %d bytes", v.name, v.off, s.size)
	}
	e.ID = btf.ID(s.word(v.off))
	i, found := slices.BinarySearchFunc(s.Groups, v.off, func(g Group, off uint32) int { return cmp.Compare(g.Offset, off) })
	if !found {
		i--
	}
	if i < 0 {
		s.Groups = slices.Insert(s.Groups, 0, Group{Offset: 0})
		i = 0
	}
	g := &s.Groups[i]
	if g.Kind == Set8 && v.off+8 <= s.size {
		e.Flags = s.word(v.off + 4)
	}
	g.Entries = append(g.Entries, e)
	return nil
}

// unused adds the entries of lists that have no symbol (BTF_ID_UNUSED).
func (s *Section) unused() {
	for i := range s.Groups {
		g := &s.Groups[i]
		if g.Kind != List || len(g.Entries) == 0 {
			continue
		}
		var all []Entry
		next := g.Offset
		for _, e := range g.Entries {
			for ; next < e.Offset && e.Offset-next <= 4*64; next += 4 {
				all = append(all, Entry{Offset: next})
			}
			all = append(all, e)
			next = e.Offset + 4
		}
		g.Entries = all
	}
}

func (s *Section) word(off uint32) uint32 { return s.Order.Uint32(s.data[off:]) }

// flagNames are the flags of kfuncs in set8s (include/linux/btf.h), without KF_.
var flagNames = []string{
	"ACQUIRE", "RELEASE", "RET_NULL", "KPTR_GET", "TRUSTED_ARGS", "SLEEPABLE", "DESTRUCTIVE", "RCU", "ITER_NEW", "ITER_NEXT", "ITER_DESTROY",
	"RCU_PROTECTED", "FASTCALL", "ARENA_RET", "ARENA_ARG1", "ARENA_ARG2", "IMPLICIT_ARGS",
}

// FlagNames returns the names of a kfunc's flags without KF_, joined by "|"; flags without a name
// are shown as a number.
func FlagNames(flags uint32) string {
	var out []string
	for i, name := range flagNames {
		if flags>>i&1 != 0 {
			out = append(out, name)
		}
	}
	if rest := flags >> len(flagNames) << len(flagNames); rest != 0 {
		out = append(out, fmt.Sprintf("%#x", rest))
	}
	return strings.Join(out, "|")
}
