package btf

import (
	"bufio"
	"io"
	"strconv"
)

// DumpRaw writes the types of s, without its base, byte for byte as `bpftool btf dump file X format
// raw` does.
func DumpRaw(w io.Writer, s *Spec) error {
	d := rawDumper{s: s, w: bufio.NewWriterSize(w, 1<<16)}
	for i, off := range s.offs {
		d.dump(s.decode(s.first+ID(i), off))
	}
	return d.w.Flush()
}

// DumpRawType writes one type as [DumpRaw] does.
func DumpRawType(w io.Writer, s *Spec, id ID) error {
	t, err := s.Type(id)
	if err != nil {
		return err
	}
	d := rawDumper{s: s, w: bufio.NewWriter(w)}
	d.dump(t)
	return d.w.Flush()
}

type rawDumper struct {
	s   *Spec
	w   *bufio.Writer
	num [24]byte
}

func (d *rawDumper) str(s string) { d.w.WriteString(s) }

func (d *rawDumper) uint(label string, v uint64) {
	d.w.WriteString(label)
	d.w.Write(strconv.AppendUint(d.num[:0], v, 10))
}

func (d *rawDumper) int(label string, v int64) {
	d.w.WriteString(label)
	d.w.Write(strconv.AppendInt(d.num[:0], v, 10))
}

func (d *rawDumper) name(before, name string) {
	if name == "" {
		name = "(anon)"
	}
	d.w.WriteString(before)
	d.w.WriteByte('\'')
	d.w.WriteString(name)
	d.w.WriteByte('\'')
}

var linkageNames = [...]string{"static", "global", "extern"}

func linkageName(n uint32) string {
	if int(n) < len(linkageNames) {
		return linkageNames[n]
	}
	return "(unknown)"
}

func intEncoding(e uint8) string {
	switch e {
	case 0:
		return "(none)"
	case IntSigned:
		return "SIGNED"
	case IntChar:
		return "CHAR"
	case IntBool:
		return "BOOL"
	}
	return "UNKN"
}

func (d *rawDumper) dump(t *Type) {
	d.uint("[", uint64(t.ID))
	d.str("] ")
	d.str(kindNames[t.Kind])
	d.name(" ", t.Name)
	switch t.Kind {
	case KindInt:
		d.uint(" size=", uint64(t.Size))
		d.uint(" bits_offset=", uint64(t.Int.Offset))
		d.uint(" nr_bits=", uint64(t.Int.Bits))
		d.str(" encoding=" + intEncoding(t.Int.Encoding))
	case KindPtr, KindConst, KindVolatile, KindRestrict, KindTypedef, KindTypeTag:
		d.uint(" type_id=", uint64(t.Ref))
	case KindArray:
		d.uint(" type_id=", uint64(t.Ref))
		d.uint(" index_type_id=", uint64(t.Array.Index))
		d.uint(" nr_elems=", uint64(t.Array.Nelems))
	case KindStruct, KindUnion:
		d.uint(" size=", uint64(t.Size))
		d.uint(" vlen=", uint64(len(t.Members)))
		for _, m := range t.Members {
			d.name("\n\t", m.Name)
			d.uint(" type_id=", uint64(m.Type))
			d.uint(" bits_offset=", uint64(m.BitOffset))
			if m.BitfieldSize != 0 {
				d.uint(" bitfield_size=", uint64(m.BitfieldSize))
			}
		}
	case KindEnum, KindEnum64:
		d.enum(t)
	case KindFwd:
		kind := "struct"
		if t.Flag {
			kind = "union"
		}
		d.str(" fwd_kind=" + kind)
	case KindFunc:
		d.uint(" type_id=", uint64(t.Ref))
		d.str(" linkage=" + linkageName(t.Linkage))
	case KindFuncProto:
		d.uint(" ret_type_id=", uint64(t.Ref))
		d.uint(" vlen=", uint64(len(t.Params)))
		for _, p := range t.Params {
			d.name("\n\t", p.Name)
			d.uint(" type_id=", uint64(p.Type))
		}
	case KindVar:
		d.uint(" type_id=", uint64(t.Ref))
		d.str(", linkage=" + linkageName(t.Linkage))
	case KindDatasec:
		d.uint(" size=", uint64(t.Size))
		d.uint(" vlen=", uint64(len(t.Vars)))
		for _, v := range t.Vars {
			d.uint("\n\ttype_id=", uint64(v.Type))
			d.uint(" offset=", uint64(v.Offset))
			d.uint(" size=", uint64(v.Size))
			if k := d.s.Kind(v.Type); k == KindVar || k == KindFunc {
				d.str(" (" + k.String())
				d.name(" ", d.s.Name(v.Type))
				d.str(")")
			}
		}
	case KindFloat:
		d.uint(" size=", uint64(t.Size))
	case KindDeclTag:
		d.uint(" type_id=", uint64(t.Ref))
		d.int(" component_idx=", int64(t.ComponentIdx))
	}
	d.str("\n")
}

func (d *rawDumper) enum(t *Type) {
	encoding, suffix := "UNSIGNED", "ULL"
	if t.Flag {
		encoding, suffix = "SIGNED", "LL"
	}
	d.str(" encoding=" + encoding)
	d.uint(" size=", uint64(t.Size))
	d.uint(" vlen=", uint64(len(t.Values)))
	for _, v := range t.Values {
		d.name("\n\t", v.Name)
		if t.Flag {
			d.int(" val=", int64(v.Value))
		} else {
			d.uint(" val=", v.Value)
		}
		if t.Kind == KindEnum64 {
			d.str(suffix)
		}
	}
}
