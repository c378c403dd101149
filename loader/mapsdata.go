package loader

import (
	"debug/elf"
	"math"
	"sort"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Flags of maps created from data sections (include/uapi/linux/bpf.h).
const (
	mapRdonlyProg = 1 << 7
	mapMmapable   = 1 << 10
)

// maxData limits the image, in bytes, of a data section without contents in the file.
const maxData = 256 << 20

// isLegacyMaps reports whether a section contains struct bpf_map_def records.
func isLegacyMaps(name string) bool {
	return name == "maps" || strings.HasPrefix(name, "maps/") || strings.HasSuffix(name, "/maps")
}

// readLegacyMaps reads struct bpf_map_def {type, key_size, value_size, max_entries, flags, ...} of
// 16 bytes and more. Their length is the distance between symbols. Fields after the first five
// differ between loaders and are ignored (iproute2: id, pinning, inner_id, inner_idx; ir-keytable:
// inner map index and node).
func (o *Object) readLegacyMaps(f *file) error {
	for i := range f.sections {
		s := &f.sections[i]
		if s.Type != elf.SHT_PROGBITS || s.IsCode || s.Flags&elf.SHF_ALLOC == 0 || !isLegacyMaps(s.Name) || len(s.Data) == 0 {
			continue
		}
		syms := f.symbolsIn(i)
		sort.SliceStable(syms, func(a, b int) bool { return syms[a].Value < syms[b].Value })
		for n, sym := range syms {
			end := uint64(len(s.Data))
			if n+1 < len(syms) {
				end = min(end, syms[n+1].Value)
			}
			if sym.Size != 0 {
				end = min(end, sym.Value+sym.Size)
			}
			if sym.Value >= end || end-sym.Value < 16 {
				return failf(ErrMapDef, "map %s at %d: fewer than the 16 bytes of a struct bpf_map_def", sym.Name, sym.Value).section(s.Name)
			}
			def := s.Data[sym.Value:end]
			m := &Map{
				Name: sym.Name, Section: s.Name, Autocreate: true,
				Type: uapi.MapType(f.order.Uint32(def)), KeySize: f.order.Uint32(def[4:]),
				ValueSize: f.order.Uint32(def[8:]), MaxEntries: f.order.Uint32(def[12:]),
				secIndex: i, secOff: sym.Value, secSize: end - sym.Value,
			}
			if len(def) >= 20 {
				m.Flags = f.order.Uint32(def[16:])
			}
			o.addMap(m)
		}
		if len(syms) == 0 {
			o.warnf("section %s has no symbols: ignoring its maps", s.Name)
		} else {
			o.warnf("section %s holds legacy map definitions, which libbpf 1.0 and later refuse", s.Name)
		}
	}
	return nil
}

// hasWord reports whether name is word, or word followed by a dot and more.
func hasWord(name, word string) bool {
	return name == word || strings.HasPrefix(name, word+".")
}

// dataKindOf recognises data sections as libbpf does (bpf_object__elf_collect).
func dataKindOf(s *section) DataKind {
	switch {
	case s.Flags&elf.SHF_ALLOC == 0 || s.IsCode:
		return DataNone
	case s.Type == elf.SHT_NOBITS && hasWord(s.Name, ".bss"):
		return DataBSS
	case s.Type != elf.SHT_PROGBITS:
		return DataNone
	case s.Name == secArena:
		return DataArena
	case hasWord(s.Name, ".data"):
		return DataData
	case hasWord(s.Name, ".rodata"):
		return DataRodata
	case isStructOps(s.Name):
		return DataStructOps
	}
	return DataNone
}

// readDataMaps creates a one-element array map for each data section.
func (o *Object) readDataMaps(f *file) error {
	for i := range f.sections {
		s := &f.sections[i]
		kind := dataKindOf(s)
		if kind == DataNone || kind == DataStructOps || s.Size == 0 {
			continue
		}
		if s.Size > maxData || s.Size > math.MaxUint32 {
			return failf(ErrTooLarge, "%d bytes of data", s.Size).section(s.Name)
		}
		data := s.Data
		if data == nil {
			data = make([]byte, s.Size)
		}
		if kind == DataArena {
			if err := o.bindArena(f, s, data); err != nil {
				return err
			}
			continue
		}
		m := &Map{
			Name: s.Name, Section: s.Name, Autocreate: true, Type: uapi.MapTypeArray, KeySize: 4, ValueSize: uint32(s.Size), MaxEntries: 1,
			Data: data, DataKind: kind, secIndex: i, secSize: s.Size,
		}
		if kind == DataRodata {
			m.Flags |= mapRdonlyProg
		}
		if ds := o.datasec(s.Name); ds != nil {
			m.Datasec, m.ValueType, m.Vars = ds.ID, ds.ID, o.dataVars(f, i, ds)
			if o.hasExportedVar(ds) {
				m.Flags |= mapMmapable
			}
		}
		o.addMap(m)
	}
	return nil
}

// hasExportedVar reports whether user space can see a variable of the section; libbpf then makes
// the map mappable (map_is_mmapable).
func (o *Object) hasExportedVar(ds *btf.Type) bool {
	for _, v := range ds.Vars {
		if t, err := o.BTF.Type(v.Type); err == nil && t.Kind == btf.KindVar && t.Linkage != btf.LinkageStatic {
			return true
		}
	}
	return false
}

// bindArena sets the arena map's image to the variables that live in it.
func (o *Object) bindArena(f *file, s *section, data []byte) error {
	for _, m := range o.Maps {
		if m.Type == uapi.MapTypeArena {
			m.Data, m.DataKind = data, DataArena
			if ds := o.datasec(s.Name); ds != nil {
				m.Datasec, m.Vars = ds.ID, o.dataVars(f, s.Index, ds)
			}
			o.mapBySec[s.Index] = append(o.mapBySec[s.Index], m)
			return nil
		}
	}
	return failf(ErrMapDef, "variables of an arena, but the object defines no arena map").section(s.Name)
}

// readDataRelocs records the pointers in data sections: R_BPF_64_ABS64 and R_BPF_64_ABS32.
func (o *Object) readDataRelocs(f *file) error {
	for i := range f.sections {
		s := &f.sections[i]
		kind := dataKindOf(s)
		if kind == DataNone || kind == DataStructOps || len(f.relocs[i]) == 0 {
			continue
		}
		maps := o.mapBySec[i]
		if len(maps) == 0 {
			continue
		}
		m := maps[0]
		for n, r := range f.relocs[i] {
			size, addend := 8, uint64(0)
			switch r.Type {
			case relNone:
				continue
			case relABS64, rel64:
			case relABS32, relNoDyld32:
				size = 4
			default:
				return failf(ErrRelocation, "record %d: type %d in data", n, r.Type).section(s.Name)
			}
			if uint64(len(s.Data)) < uint64(size) || r.Off > uint64(len(s.Data))-uint64(size) {
				return failf(ErrRelocation, "record %d at %#x of %d bytes", n, r.Off, len(s.Data)).section(s.Name)
			}
			if size == 8 {
				addend = f.order.Uint64(s.Data[r.Off:])
			} else {
				addend = uint64(f.order.Uint32(s.Data[r.Off:]))
			}
			addend += uint64(r.Add)
			d := DataReloc{Off: r.Off, Size: size, Symbol: r.Sym.Name, Value: r.Sym.Value + addend, Func: o.functionBySymbol(f, r.Sym, addend)}
			if d.Symbol == "" {
				d.Symbol = f.sectionName(r.Sym.Section)
			}
			if ms := o.mapBySec[r.Sym.Section]; d.Func == nil && len(ms) > 0 && ms[0].DataKind != DataNone {
				d.Map = ms[0]
			}
			m.DataRelocs = append(m.DataRelocs, d)
		}
	}
	return nil
}
