package ebpfspec

import (
	"encoding/binary"
	"fmt"

	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// Sizes in bytes of the records of .BTF.ext (Documentation/bpf/btf.rst).
const (
	funcRecord = 8
	lineRecord = 16
	coreRecord = 16
)

// extWriter collects function, line and CO-RE records by section.
type extWriter struct{ sections []extSection }

type extSection struct {
	name         string
	funcs, lines []byte
	cores        []coreRelo
}

type coreRelo struct {
	off    uint32
	typ    btf.Type
	access string
	kind   uint32
}

// add appends the records of a section's instructions.
func (e *extWriter) add(w *writer, name string, insns asm.Instructions) error {
	s := extSection{name: name}
	var err error
	if s.funcs, s.lines, err = btf.MarshalExtInfos(insns, w.types); err != nil {
		return err
	}
	// Records for the kernel count instructions, in this machine's byte order; those in objects
	// count bytes, in the object's byte order.
	s.funcs, s.lines = w.records(s.funcs, funcRecord), w.records(s.lines, lineRecord)
	iter := insns.Iterate()
	for iter.Next() {
		relo := btf.CORERelocationMetadata(iter.Ins)
		if relo == nil {
			continue
		}
		kind, access, id, err := coreOf(relo)
		if err != nil {
			return err
		}
		if w.spec.Types == nil {
			return fmt.Errorf("instruction %d: %v needs types, but the spec has none", iter.Index, relo)
		}
		typ, err := w.spec.Types.TypeByID(id)
		if err != nil {
			return fmt.Errorf("instruction %d: %v: %w", iter.Index, relo, err)
		}
		s.cores = append(s.cores, coreRelo{uint32(iter.Offset) * insnSize, typ, access, kind})
	}
	e.sections = append(e.sections, s)
	return nil
}

// records converts instruction offsets to byte offsets, in the object's byte order.
func (w *writer) records(b []byte, size int) []byte {
	out := make([]byte, len(b))
	for i := 0; i+4 <= len(b); i += 4 {
		v := binary.NativeEndian.Uint32(b[i:])
		if i%size == 0 {
			v *= insnSize
		}
		w.order.PutUint32(out[i:], v)
	}
	return out
}

// finish writes .BTF.ext and adds its strings to .BTF.
func (e *extWriter) finish(w *writer, raw []byte) (types, ext []byte, err error) {
	const header, extHeader = 24, 32
	if len(raw) < header {
		return nil, nil, fmt.Errorf("types: %d bytes that are not BTF", len(raw))
	}
	strOff, strLen := w.order.Uint32(raw[16:]), w.order.Uint32(raw[20:])
	if int(strOff)+int(strLen)+header != len(raw) {
		return nil, nil, fmt.Errorf("types: the strings are not at the end of the BTF")
	}
	added := map[string]uint32{}
	str := func(s string) uint32 {
		off, ok := added[s]
		if !ok {
			off = uint32(len(raw) - header - int(strOff))
			raw = append(append(raw, s...), 0)
			added[s] = off
		}
		return off
	}
	u32 := func(b []byte, v uint32) []byte {
		b = append(b, 0, 0, 0, 0)
		w.order.PutUint32(b[len(b)-4:], v)
		return b
	}
	part := func(size uint32, of func(s *extSection) ([]byte, error)) ([]byte, error) {
		var out []byte
		for i := range e.sections {
			records, err := of(&e.sections[i])
			if err != nil {
				return nil, err
			}
			if len(records) == 0 {
				continue
			}
			if out == nil {
				out = u32(nil, size)
			}
			out = u32(u32(out, str(e.sections[i].name)), uint32(len(records))/size)
			out = append(out, records...)
		}
		return out, nil
	}
	funcs, _ := part(funcRecord, func(s *extSection) ([]byte, error) { return s.funcs, nil })
	lines, _ := part(lineRecord, func(s *extSection) ([]byte, error) { return s.lines, nil })
	cores, err := part(coreRecord, func(s *extSection) ([]byte, error) {
		var out []byte
		for _, c := range s.cores {
			id, err := w.types.Add(c.typ) // already added: this finds its id
			if err != nil {
				return nil, err
			}
			out = u32(u32(u32(u32(out, c.off), uint32(id)), str(c.access)), c.kind)
		}
		return out, nil
	})
	if err != nil {
		return nil, nil, err
	}
	w.order.PutUint32(raw[20:], uint32(len(raw)-header-int(strOff)))
	ext = make([]byte, extHeader)
	w.order.PutUint16(ext, 0xeb9f)
	ext[2] = 1
	w.order.PutUint32(ext[4:], extHeader)
	at := uint32(0)
	for i, p := range [][]byte{funcs, lines, cores} {
		w.order.PutUint32(ext[8+8*i:], at)
		w.order.PutUint32(ext[12+8*i:], uint32(len(p)))
		at += uint32(len(p))
		ext = append(ext, p...)
	}
	return raw, ext, nil
}
