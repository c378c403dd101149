package btf

import (
	"encoding/binary"
	"fmt"
)

// Ext is a parsed .BTF.ext section (btf.rst 4.2): function, line and CO-RE records for the
// instructions of each ELF section.
type Ext struct {
	ByteOrder binary.ByteOrder
	Funcs     []ExtSection[FuncInfo]
	Lines     []LineSection
	CORE      []ExtSection[CORERelo]
}

// ExtSection holds the records of one ELF section, in file order.
type ExtSection[T any] struct {
	Name    string
	Records []T
}

// FuncInfo marks the first instruction of a function. InsnOff is in bytes from the start of the ELF
// section; TypeID is a FUNC.
type FuncInfo struct {
	InsnOff uint32
	TypeID  ID
}

// LineInfo maps instructions, starting at InsnOff (bytes from the start of the ELF section), to a
// source line. Line and Col count from 1; 0 means unknown.
type LineInfo struct {
	InsnOff    uint32
	File, Text string
	Line, Col  uint32
}

// LineSection holds the line records of one ELF section, in file order. Line records are the bulk
// of most .BTF.ext sections, and few are ever used, so they are decoded on demand.
type LineSection struct {
	Name string

	data   []byte
	size   int // bytes per record
	reader *extReader
}

// Len returns the number of records.
func (l *LineSection) Len() int { return len(l.data) / max(l.size, 1) }

// InsnOff returns LineInfo.InsnOff of record i.
func (l *LineSection) InsnOff(i int) uint32 { return l.reader.order.Uint32(l.data[i*l.size:]) }

// At decodes record i.
func (l *LineSection) At(i int) LineInfo {
	li, _ := l.reader.lineInfo(l.data[i*l.size:]) // ParseExt has already validated it
	return li
}

// All decodes all records.
func (l *LineSection) All() []LineInfo {
	out := make([]LineInfo, l.Len())
	for i := range out {
		out[i] = l.At(i)
	}
	return out
}

// CORERelo is a CO-RE relocation record. InsnOff is in bytes from the start of the ELF section,
// Access is the access string, Kind a BPF_CORE_* number.
type CORERelo struct {
	InsnOff uint32
	TypeID  ID
	Access  string
	Kind    uint32
}

// ParseExt parses a .BTF.ext section. spec is the .BTF of the same file, which holds the strings.
// The byte order is that of the section's own magic. Accepted are headers without the CO-RE part,
// records longer than the known ones, and empty parts without a record size (GCC). The error is an
// *[Error] with ErrExt, ErrTruncated, ErrBadString or ErrBadID.
func ParseExt(raw []byte, spec *Spec) (*Ext, error) {
	bo, ok := byteOrderOf(raw)
	switch {
	case len(raw) < headerSize:
		return nil, headerError(ErrTruncated, ".BTF.ext has %d bytes, less than its header of %d", len(raw), headerSize)
	case !ok:
		return nil, headerError(ErrExt, "it starts with %02x %02x, want 9f eb or eb 9f", raw[0], raw[1])
	case raw[2] != 1:
		return nil, headerError(ErrVersion, ".BTF.ext version %d, want 1", raw[2])
	}
	hdrLen := bo.Uint32(raw[4:])
	if hdrLen < headerSize || hdrLen%4 != 0 {
		return nil, headerError(ErrExt, "header length %d", hdrLen)
	}
	if uint64(hdrLen) > uint64(len(raw)) {
		return nil, headerError(ErrTruncated, ".BTF.ext header length %d of %d bytes", hdrLen, len(raw))
	}
	r := extReader{raw: raw, body: raw[hdrLen:], order: bo, spec: spec}
	e := &Ext{ByteOrder: bo}
	var err error
	if e.Funcs, err = readExt(&r, "func_info", 8, 8, r.funcInfo); err != nil {
		return nil, err
	}
	if err = eachExt(&r, "line_info", 16, 16, func(name string, size int, data []byte) (int, error) {
		e.Lines = append(e.Lines, LineSection{name, data, size, &r})
		for i := 0; i < len(data); i += size {
			if err := r.checkLine(data[i:]); err != nil {
				return i / size, err
			}
		}
		return 0, nil
	}); err != nil {
		return nil, err
	}
	if hdrLen >= headerSize+8 {
		if e.CORE, err = readExt(&r, "core_relo", 24, 16, r.coreRelo); err != nil {
			return nil, err
		}
	}
	return e, nil
}

type extReader struct {
	raw, body []byte
	order     binary.ByteOrder
	spec      *Spec
}

func (r *extReader) str(off uint32) (string, error) {
	if s, ok := r.spec.String(off); ok {
		return s, nil
	}
	return "", fmt.Errorf("string offset %d: %w", off, ErrBadString)
}

func (r *extReader) id(n uint32) (ID, error) {
	if uint64(n) >= uint64(r.spec.NumTypes()) {
		return 0, fmt.Errorf("type [%d], the last one is [%d]: %w", n, r.spec.NumTypes()-1, ErrBadID)
	}
	return ID(n), nil
}

func (r *extReader) funcInfo(b []byte) (FuncInfo, error) {
	id, err := r.id(r.order.Uint32(b[4:]))
	return FuncInfo{InsnOff: r.order.Uint32(b), TypeID: id}, err
}

// checkLine returns the error that lineInfo would return.
func (r *extReader) checkLine(b []byte) error {
	file, text := r.order.Uint32(b[4:]), r.order.Uint32(b[8:])
	if r.spec.hasString(file) && r.spec.hasString(text) {
		return nil
	}
	_, err := r.lineInfo(b)
	return err
}

func (r *extReader) lineInfo(b []byte) (LineInfo, error) {
	li := LineInfo{InsnOff: r.order.Uint32(b)}
	var err error
	if li.File, err = r.str(r.order.Uint32(b[4:])); err != nil {
		return li, err
	}
	if li.Text, err = r.str(r.order.Uint32(b[8:])); err != nil {
		return li, err
	}
	lc := r.order.Uint32(b[12:])
	li.Line, li.Col = lc>>10, lc&0x3ff
	return li, nil
}

func (r *extReader) coreRelo(b []byte) (CORERelo, error) {
	c := CORERelo{InsnOff: r.order.Uint32(b), Kind: r.order.Uint32(b[12:])}
	var err error
	if c.TypeID, err = r.id(r.order.Uint32(b[4:])); err != nil {
		return c, err
	}
	c.Access, err = r.str(r.order.Uint32(b[8:]))
	return c, err
}

// readExt reads one part. field is the position in the header of its offset and length; minRec is
// the known record size in bytes.
func readExt[T any](r *extReader, part string, field, minRec int, decode func([]byte) (T, error)) ([]ExtSection[T], error) {
	var secs []ExtSection[T]
	err := eachExt(r, part, field, minRec, func(name string, size int, data []byte) (i int, err error) {
		recs := make([]T, len(data)/size)
		for i := range recs {
			if recs[i], err = decode(data[i*size:]); err != nil {
				return i, err
			}
		}
		secs = append(secs, ExtSection[T]{Name: name, Records: recs})
		return 0, nil
	})
	if err != nil {
		return nil, err
	}
	return secs, nil
}

// eachExt calls f with the records of each section of a part, each size bytes long. Errors of f are
// wrapped with the record's number.
func eachExt(r *extReader, part string, field, minRec int, f func(name string, size int, data []byte) (int, error)) error {
	fail := func(kind error, format string, args ...any) error {
		return headerError(kind, ".BTF.ext %s: %s", part, fmt.Sprintf(format, args...))
	}
	bo := r.order
	off, length := uint64(bo.Uint32(r.raw[field:])), uint64(bo.Uint32(r.raw[field+4:]))
	if length == 0 {
		return nil
	}
	if off%4 != 0 {
		return fail(ErrExt, "offset %d is not aligned to 4", off)
	}
	if off+length > uint64(len(r.body)) {
		return fail(ErrTruncated, "needs %d bytes after the header, but there are only %d", off+length, len(r.body))
	}
	b := r.body[off : off+length]
	if len(b) < 4 {
		return fail(ErrTruncated, "%d bytes, no record size", len(b))
	}
	rec := uint64(bo.Uint32(b))
	if rec < uint64(minRec) || rec%4 != 0 {
		return fail(ErrExt, "record size %d, want at least %d", rec, minRec)
	}
	for b = b[4:]; len(b) > 0; {
		if len(b) < 8 {
			return fail(ErrTruncated, "%d bytes left, a section header needs 8", len(b))
		}
		name, err := r.str(bo.Uint32(b))
		if err != nil {
			return fail(ErrBadString, "section name: %v", err)
		}
		n := uint64(bo.Uint32(b[4:]))
		b = b[8:]
		if n == 0 {
			return fail(ErrExt, "section %q has no records", name)
		}
		if n > uint64(len(b))/rec {
			return fail(ErrTruncated, "section %q: %d records of %d bytes, %d bytes left", name, n, rec, len(b))
		}
		if i, err := f(name, int(rec), b[:n*rec]); err != nil {
			return &Error{Offset: -1, Detail: fmt.Sprintf(".BTF.ext %s: section %q record %d: %v", part, name, i, err), Err: ErrExt}
		}
		b = b[n*rec:]
	}
	return nil
}
