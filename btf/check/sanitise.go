package check

import (
	"bytes"
	"fmt"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// Change is one replacement that libbpf makes for an older kernel.
type Change struct {
	// From is the kind that was replaced, Count the number of replaced types.
	From btf.Kind
	// What describes the replacement: "ENUM64 became a UNION".
	What  string
	Count int
}

// String returns "3 ENUM64 became a UNION".
func (c Change) String() string { return fmt.Sprintf("%d %s", c.Count, c.What) }

// Sanitise returns BTF as libbpf loads it into a kernel of that release: kinds and names that the
// kernel does not know are replaced (bpf_object__sanitize_btf). raw is not modified; without
// replacements it is returned itself. It fails with the [*Problem] that [BTF] finds in the header
// or in the sizes of types, since nothing can be replaced then.
func Sanitise(raw []byte, release Release) ([]byte, []Change, error) {
	return sanitise(raw, rulesOf(release))
}

func sanitise(raw []byte, r *rules) ([]byte, []Change, error) {
	c := newChecker(raw, Options{}, rulesOf(0)) // what is replaced is read as the newest kernels read it
	for _, step := range []func() *Problem{c.header, c.strings} {
		if p := step(); p != nil {
			return nil, nil, p
		}
	}
	if c.typeOff%4 != 0 {
		return nil, nil, c.metaAll()
	}
	s := sanitiser{checker: c, target: r, out: bytes.Clone(raw), counts: map[string]int{}}
	s.header(raw)
	if err := s.types(); err != nil {
		return nil, nil, err
	}
	if len(s.changes) == 0 {
		return raw, nil, nil
	}
	for i := range s.changes {
		s.changes[i].Count = s.counts[s.changes[i].What]
	}
	return s.out, s.changes, nil
}

type sanitiser struct {
	*checker
	target  *rules // of the kernel that gets the result
	out     []byte
	changes []Change
	counts  map[string]int
}

func (s *sanitiser) note(kind btf.Kind, what string) {
	if s.counts[what]++; s.counts[what] == 1 {
		s.changes = append(s.changes, Change{From: kind, What: what})
	}
}

// header drops the layout section for kernels that do not know it.
func (s *sanitiser) header(raw []byte) {
	if s.hdrLen < layoutSize || s.layoutBytes == 0 && s.layOff == 0 || s.target.has(since.LayoutSection) {
		return
	}
	at := s.hdrLen + s.typeOff + s.typeLen
	s.out = append(s.out[:at], raw[s.hdrLen+s.strOff:s.hdrLen+s.strOff+s.strLen]...)
	s.strOff = s.typeOff + s.typeLen
	s.put(16, s.strOff)
	s.put(24, 0)
	s.put(28, 0)
	s.note(btf.KindVoid, "layout section removed")
}

func (s *sanitiser) put(at, v uint32) { s.order.PutUint32(s.out[at:], v) }

func (s *sanitiser) types() error {
	at := s.hdrLen + s.typeOff
	end := at + s.typeLen
	count := uint32(0)
	var unions []uint32 // offsets of members whose type is the placeholder
	for ; at < end; count++ {
		if end-at < typeSize {
			return s.problem(btf.ID(count+1), RuleTruncated, "%d bytes are left, a type has %d", end-at, typeSize)
		}
		info := btf.Info(s.u32(s.out[at+4:]))
		kind, vlen := info.Kind(), info.Vlen()
		if kind == btf.KindVoid || kind > btf.KindEnum64 {
			return s.problem(btf.ID(count+1), RuleKind, "unknown kind %d", kind)
		}
		size := extra(kind, vlen)
		if size > uint64(end-at-typeSize) {
			return s.problem(btf.ID(count+1), RuleTruncated, "needs %d bytes after its header (vlen %d), %d are left", size, vlen, end-at-typeSize)
		}
		unions = append(unions, s.replace(at, info)...)
		at += typeSize + uint32(size)
	}
	if len(unions) > 0 {
		for _, m := range unions {
			s.put(m, count+1)
		}
		s.addPlaceholder(end)
	}
	return nil
}

// replace replaces the type at an offset of the output and returns the offsets to fill with the
// placeholder's id.
func (s *sanitiser) replace(at uint32, info btf.Info) (unions []uint32) {
	kind, vlen := info.Kind(), info.Vlen()
	lacks := func(r since.Rule) bool { return !s.target.has(r) }
	set := func(kind btf.Kind, vlen uint32) { s.put(at+4, uint32(btf.MakeInfo(kind, int(vlen), false))) }
	name := s.u32(s.out[at:])
	switch {
	case kind == btf.KindDeclTag && lacks(since.KindDeclTag):
		set(btf.KindInt, 0)
		s.put(at+8, 1)
		s.put(at+12, 8)
		s.note(kind, "DECL_TAG became an INT of one byte")
	case kind == btf.KindDatasec && lacks(since.PrintableSections) && s.byteAt(name) == '?':
		// libbpf probes whether the kernel accepts a name with a question mark.
		s.out[s.hdrLen+s.strOff+name] = '_'
		s.note(kind, "DATASEC has _ instead of ? in its name")
	case kind == btf.KindFloat && lacks(since.KindFloat):
		s.put(at, 0)
		set(btf.KindStruct, 0)
		s.note(kind, "FLOAT became a STRUCT without members")
	case kind == btf.KindTypeTag && lacks(since.KindTypeTag):
		s.put(at, 0)
		set(btf.KindConst, 0)
		s.note(kind, "TYPE_TAG became a CONST")
	case kind == btf.KindEnum && info.Flag() && lacks(since.SignedEnums):
		set(kind, vlen)
		s.note(kind, "ENUM lost its kind_flag")
	case kind == btf.KindEnum64 && lacks(since.KindEnum64):
		set(btf.KindUnion, vlen)
		for i := range vlen {
			m := at + typeSize + 12*i
			s.put(m+8, 0)
			unions = append(unions, m+4)
		}
		s.note(kind, "ENUM64 became a UNION")
	}
	return unions
}

func (s *sanitiser) byteAt(name uint32) byte {
	if name >= s.strLen {
		return 0
	}
	return s.out[s.hdrLen+s.strOff+name]
}

// addPlaceholder appends the INT that members of former ENUM64 have, after the types, which end at
// offset end.
func (s *sanitiser) addPlaceholder(end uint32) {
	const name = "enum64_placeholder\x00"
	var t [16]byte
	for i, w := range []uint32{s.strLen, uint32(btf.MakeInfo(btf.KindInt, 0, false)), 1, 8} {
		s.order.PutUint32(t[4*i:], w)
	}
	out := append([]byte(nil), s.out[:end]...)
	out = append(out, t[:]...)
	out = append(out, s.out[end:]...)
	s.out = append(out, name...)
	s.put(12, s.typeLen+uint32(len(t)))
	s.put(16, s.strOff+uint32(len(t)))
	s.put(20, s.strLen+uint32(len(name)))
}
