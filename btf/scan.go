package btf

import (
	"fmt"
	"strconv"
)

func utoa(n int) string { return strconv.Itoa(n) }

// scanRule describes, for one kind, the data after the type header and which of its words are
// string offsets and type ids. It is a table and not a switch because kinds follow each other in an
// order that no branch predictor can learn.
type scanRule struct {
	fixed, stride uint32 // bytes after the header: fixed + vlen * stride
	third         uint32 // all ones if the third word is a type id
	named         uint32 // stride of entries that start with a string offset, else 0
	entryRef      uint32 // all ones if the second word of an entry is a type id
	other         bool   // has ids elsewhere, or needs a closer look
	symbol        bool
}

var scanRules = func() (rules [kindCount]scanRule) {
	for k := KindVoid; k < kindCount; k++ {
		r := &rules[k]
		r.fixed = k.extra(0)
		r.stride = k.extra(1) - r.fixed
		if k.hasRef() {
			r.third = ^uint32(0)
		}
		if k.IsComposite() || k == KindFuncProto {
			r.entryRef = ^uint32(0)
		}
		if k.IsComposite() || k == KindFuncProto || k.IsEnum() {
			r.named = r.stride
		}
		r.other = k == KindArray || k == KindDatasec || k == KindInt
		r.symbol = k.isSymbol()
	}
	return rules
}()

// scan makes the single pass over the type section: it records where each type starts and checks
// that every string offset and type id exists. The largest offset and id are compared once at the
// end; only if one is too large is the section searched for the culprit.
func (s *Spec) scan() error {
	b := s.types
	offs := make([]uint32, 0, len(b)/24+1)
	named := make([]uint32, 0, len(b)/192+1)
	var maxName, maxRef uint32
	selfRef := false
	for off := 0; off < len(b); {
		if len(b)-off < typeSize {
			return s.scanError(len(offs), off, KindVoid, ErrTruncated, "%d bytes left, a type needs %d", len(b)-off, typeSize)
		}
		h := b[off : off+typeSize : off+typeSize]
		name, info, third := u32(h[0:4]), Info(u32(h[4:8])), u32(h[8:12])
		kind, vlen := info.Kind(), info.Vlen()
		if kind == KindVoid || kind >= kindCount {
			return s.scanError(len(offs), off, kind, ErrUnknownKind, "kind %d, but this version of bpfrun knows only 1 to %d", kind, kindCount-1)
		}
		r := &scanRules[kind]
		end := off + typeSize + int(r.fixed+vlen*r.stride)
		if end > len(b) {
			return s.scanError(len(offs), off, kind, ErrTruncated, "needs %d bytes (vlen %d), %d are left", end-off, vlen, len(b)-off)
		}
		maxName = max(maxName, name)
		maxRef = max(maxRef, third&r.third)
		for i, last := off+typeSize, off+typeSize+int(vlen*r.named); i < last; i += int(r.named) {
			e := b[i : i+8 : i+8]
			maxName = max(maxName, u32(e[0:4]))
			maxRef = max(maxRef, u32(e[4:8])&r.entryRef)
		}
		id := uint32(s.first) + uint32(len(offs))
		if third == id && r.third != 0 && kind != KindFuncProto {
			selfRef = true
		}
		if r.other {
			x := b[off+typeSize : end]
			switch {
			case kind == KindDatasec:
				for ; len(x) >= 12; x = x[12:] {
					maxRef = max(maxRef, u32(x))
				}
			case kind == KindArray:
				elem := u32(x)
				maxRef = max(maxRef, elem, u32(x[4:]))
				selfRef = selfRef || elem == id
			case s.ptrSize == 0 && (third == 4 || third == 8) && isLong(s.str(name)):
				s.ptrSize = int(third)
			}
		}
		if name != 0 && !r.symbol {
			named = append(named, uint32(len(offs)))
		}
		offs = append(offs, uint32(off))
		off = end
	}
	s.offs, s.namedTypes = offs, named
	if selfRef || uint64(maxRef) >= uint64(s.NumTypes()) || !s.validName(maxName) {
		return s.findCulprit()
	}
	return nil
}

func (s *Spec) validName(off uint32) bool {
	return uint64(off) < uint64(s.strBase)+uint64(len(s.strs)) || off == 0
}

func (s *Spec) scanError(n, off int, k Kind, kind error, format string, args ...any) error {
	if k >= kindCount {
		k = KindVoid
	}
	return &Error{ID: s.first + ID(n), Kind: k, Offset: int64(s.hdr.typeOff) + int64(off),
		Detail: fmt.Sprintf(format, args...), Err: kind}
}

// findCulprit names the first type with a string offset or type id that does not exist, or that
// refers to itself.
func (s *Spec) findCulprit() error {
	limit := uint64(s.NumTypes())
	for i, o := range s.offs {
		off := int(o)
		id := s.first + ID(i)
		kind := s.kindAt(o)
		info, third := Info(u32(s.types[off+4:])), u32(s.types[off+8:])
		x := s.types[off+typeSize : off+typeSize+int(kind.extra(info.Vlen()))]
		var err error
		name := func(what string, v uint32) {
			if err == nil && !s.validName(v) {
				err = s.scanError(i, off, kind, ErrBadString, "%s at string offset %d, the table ends at %d", what, v, uint64(s.strBase)+uint64(len(s.strs)))
			}
		}
		ref := func(what string, v uint32) {
			if err == nil && uint64(v) >= limit {
				err = s.scanError(i, off, kind, ErrBadID, "%s is type [%d], the last one is [%d]", what, v, limit-1)
			}
		}
		self := func(v uint32) {
			if err == nil && ID(v) == id {
				err = s.scanError(i, off, kind, ErrCycle, "it can never be resolved")
			}
		}
		name("name", u32(s.types[off:]))
		stride := int(kind.extra(1))
		for j := 0; j < len(x) && err == nil; j += stride {
			switch kind {
			case KindStruct, KindUnion, KindFuncProto:
				name("entry "+utoa(j/stride), u32(x[j:]))
				ref("entry "+utoa(j/stride), u32(x[j+4:]))
			case KindEnum, KindEnum64:
				name("enumerator "+utoa(j/stride), u32(x[j:]))
			case KindDatasec:
				ref("variable "+utoa(j/stride), u32(x[j:]))
			case KindArray:
				ref("element", u32(x[j:]))
				ref("index", u32(x[j+4:]))
				self(u32(x[j:]))
			}
		}
		if kind.hasRef() {
			ref("referenced type", third)
			if kind != KindFuncProto {
				self(third)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isLong reports whether a name is a spelling of long or unsigned long, whose size is that of a
// pointer (libbpf btf.c determine_ptr_size).
func isLong(name string) bool {
	switch name {
	case "long", "long int", "int long", "unsigned long", "long unsigned", "unsigned long int",
		"unsigned int long", "long unsigned int", "long int unsigned", "int unsigned long", "int long unsigned":
		return true
	}
	return false
}
