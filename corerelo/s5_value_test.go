package corerelo

import (
	"encoding/binary"
	"testing"
)

func TestFieldValue(t *testing.T) {
	s := func(m ...mem) *ty { return structure("s", m...) }
	local := s(member("a", tInt), member("b", tU16), member("arr", array(3, tU16)), member("p", ptr(tInt)))
	target := s(member("x", tLong), member("a", tLong), member("b", tS8), member("arr", array(5, tU32)), member("p", ptr(tInt)))
	e := s(member("e", enum("e", 4, true, val{"A", -1})))
	ue := s(member("e", enum("e", 4, false, val{"A", 1})))
	runRules(t, []rule{
		{name: "S5.1 field_exists", target: []*ty{s(member("a", tInt))}, steps: []step{exists(local, "0:0", is(1)), exists(local, "0:1", is(0))}},
		{name: "S5.1 no match is poison", target: []*ty{s(member("a", tInt))}, steps: []step{
			field(local, "0:1", poisoned), field(local, "0:1", poisoned).as(FieldByteSize), field(local, "0:1", poisoned).as(FieldSigned),
			field(local, "0:1", poisoned).as(FieldLShiftU64), field(local, "0:1", poisoned).as(FieldRShiftU64),
		}},
		{name: "S5.1 element", target: []*ty{target}, steps: []step{
			field(local, "0:2:1", is(24)), field(local, "0:2:1", is(4)).as(FieldByteSize),
		}},
		{name: "S5.1 root element", target: []*ty{target}, steps: []step{
			field(local, "1", is(48)), field(local, "0", is(48)).as(FieldByteSize),
		}},
		{name: "S5.1 sign of an element", target: []*ty{target}, steps: []step{field(local, "0:2:1", fails(ErrArrayAccess)).as(FieldSigned)}},
		{name: "S5.1 left shift of an element", target: []*ty{target}, steps: []step{field(local, "0:2:1", fails(ErrArrayAccess)).as(FieldLShiftU64)}},
		{name: "S5.1 right shift of an element", target: []*ty{target}, steps: []step{field(local, "0:2:1", fails(ErrArrayAccess)).as(FieldRShiftU64)}},
		{name: "S5.2 plain member", target: []*ty{target}, steps: []step{
			field(local, "0:0", is(8)), field(local, "0:0", is(8)).as(FieldByteSize), field(local, "0:0", is(1)).as(FieldSigned),
			field(local, "0:1", is(16)), field(local, "0:1", is(1)).as(FieldSigned), field(local, "0:1", is(1)).as(FieldByteSize),
			field(local, "0:1", is(56)).as(FieldLShiftU64), field(local, "0:1", is(56)).as(FieldRShiftU64),
			field(local, "0:2", is(20)).as(FieldByteSize),
		}},
		{name: "S5.2 sign of a pointer is 0", target: []*ty{target}, steps: []step{field(local, "0:3", is(0)).as(FieldSigned)}},
		{name: "S5.2 sign of an enum", target: []*ty{ue}, steps: []step{field(e, "0:0", is(0)).as(FieldSigned)}},
	})
}

func TestBitfieldValue(t *testing.T) {
	s := func(m ...mem) *ty { return structure("s", m...) }
	kinds := []Kind{FieldByteOffset, FieldByteSize, FieldSigned, FieldLShiftU64, FieldRShiftU64}
	all := func(root *ty, access string, values ...uint64) []step {
		var steps []step
		for i, k := range kinds {
			steps = append(steps, field(root, access, is(values[i])).as(k))
		}
		return steps
	}
	plain := s(member("x", tInt), member("f", tInt))
	bits := func(typ *ty, at int, n uint32) *ty { return s(member("x", tInt), bitfield("f", typ, at, n)) }
	packed := func(at int, n uint32, typ *ty) *ty {
		st := s(member("x", tInt), bitfield("f", typ, at, n))
		st.size = 32
		return st
	}
	runRules(t, []rule{
		{name: "S5.2 bitfield to bitfield, little endian", target: []*ty{bits(tU32, 37, 7)}, steps: all(bits(tU32, 32, 3), "0:1", 4, 4, 0, 64-12, 57)},
		{
			name: "S5.2 bitfield to bitfield, big endian", order: binary.BigEndian, deviates: true,
			target: []*ty{bits(tU32, 37, 7)}, steps: all(bits(tU32, 32, 3), "0:1", 4, 4, 0, 32+5, 57),
		},
		{name: "S5.2 bitfield to plain", target: []*ty{plain}, steps: all(bits(tInt, 35, 3), "0:1", 4, 4, 1, 32, 32)},
		{name: "S5.2 plain to bitfield", target: []*ty{bits(tInt, 35, 3)}, steps: all(plain, "0:1", 4, 4, 1, 64-6, 61)},
		{name: "S5.2 bitfield across its type", target: []*ty{packed(28, 8, tU32)}, steps: all(bits(tU32, 32, 8), "0:1", 0, 8, 0, 64-36, 56)},
		{name: "S5.2 char bitfield", target: []*ty{packed(38, 4, tU8)}, steps: all(bits(tU8, 32, 4), "0:1", 4, 2, 0, 64-10, 60)},
		{name: "S5.2 64-bit bitfield", target: []*ty{packed(64, 40, tU64)}, steps: all(bits(tU64, 64, 40), "0:1", 8, 8, 0, 64-40, 24)},
		{name: "S5.2 no load is wide enough", target: []*ty{packed(60, 8, tU32)}, steps: []step{field(bits(tU32, 32, 8), "0:1", fails(ErrBitfield)).as(FieldByteSize)}},
		{name: "S5.1 existence of a bitfield no load holds", target: []*ty{packed(60, 8, tU32)}, steps: []step{exists(bits(tU32, 32, 8), "0:1", is(1))}},
		{name: "S5.7 a local bitfield too wide comes before poison", target: []*ty{s(member("x", tInt))}, steps: []step{
			field(packed(60, 8, tU32), "0:1", fails(ErrBitfield)).with(mov(0)),
		}},
	})
}

func TestTypeValue(t *testing.T) {
	s := structure("s", member("a", tInt))
	grown := structure("s", member("a", tInt), member("b", tLong))
	td := typedef("s_t", s)
	fn := typedef("fn", proto(tInt))
	var all []step
	for _, k := range []Kind{TypeIDTarget, TypeExists, TypeSize, TypeMatches} {
		all = append(all, typ(s, k, is(0)))
	}
	runRules(t, []rule{
		{name: "S5.4 nothing matches: 0, never poison", target: []*ty{tInt}, steps: all},
		{name: "S5.4 size", target: []*ty{grown}, steps: []step{typ(s, TypeSize, is(16))}},
		{name: "S5.4 size of a typedef", target: []*ty{typedef("s_t", grown)}, steps: []step{typ(td, TypeSize, is(16))}},
		{name: "S5.4 size of a function", target: []*ty{fn}, steps: []step{typ(fn, TypeSize, fails(ErrUnsized))}},
		{name: "S5.4 target id", target: []*ty{tLong, tInt, grown}, steps: []step{typ(s, TypeIDTarget, is(3))}},
		{name: "S5.4 target id of a typedef", target: []*ty{tLong, typedef("s_t", s)}, steps: []step{typ(td, TypeIDTarget, is(2))}},
		{name: "S5.4 local id", target: []*ty{tLong}, steps: []step{typ(grown, TypeIDLocal, is(1)), typ(td, TypeIDLocal, is(4))}},
	})
}

func TestEnumeratorValue(t *testing.T) {
	e := func(v ...val) *ty { return enum("e", 4, false, v...) }
	signedE := func(v ...val) *ty { return enum("e", 4, true, v...) }
	neg := enum("n", 4, true, val{"NEG", -1})
	big := val{"BIG", 0x80000000}
	runRules(t, []rule{
		{name: "S5.5 existence", target: []*ty{e(val{"A", 0})}, steps: []step{
			enumval(e(val{"A", 5}), "0", is(1)).as(EnumvalExists), enumval(e(val{"Z", 5}), "0", is(0)).as(EnumvalExists),
		}},
		{name: "S5.5 signed value", target: []*ty{signedE(val{"A", -7})}, steps: []step{enumval(signedE(val{"A", -3}), "0", is(^uint64(6)))}},
		{name: "S5.5 enum64", target: []*ty{enum64("e", false, val{"A", -1 << 63})}, steps: []step{enumval(enum64("e", false, val{"A", 1 << 40}), "0", is(1<<63))}},
		{
			name: "S5.5 unsigned value of 2^31 and more, target knows signs", deviates: true,
			target: []*ty{e(val{"BIG", 0xfffffffe}), neg},
			steps:  []step{enumval(e(big), "0", is(0xfffffffe)).wide(0x80000000)},
		},
		{
			name: "S5.5 unsigned value, object knows signs", deviates: true,
			target: []*ty{e(val{"BIG", 0xfffffffe})},
			steps:  []step{enumval(e(big), "0", is(0xfffffffe)).wide(0x80000000), enumval(neg, "0", poisoned)},
		},
		{
			name: "S5.5 unsigned value, nothing knows signs: the instruction does", deviates: true,
			target: []*ty{e(val{"BIG", 0xfffffffe})},
			steps:  []step{enumval(e(big), "0", is(0xfffffffe)).wide(0x80000000)},
		},
		{
			name:   "S5.5 negative value in BTF without signs",
			target: []*ty{e(val{"BIG", 0xfffffffe})},
			steps:  []step{enumval(e(val{"BIG", -1}), "0", is(^uint64(1))).wide(^uint64(0))},
		},
		{
			name:   "S5.5 negative value, old object, new kernel",
			target: []*ty{signedE(val{"BIG", -2})},
			steps:  []step{enumval(e(val{"BIG", -1}), "0", is(^uint64(1))).wide(^uint64(0))},
		},
		{
			name:   "S5.5 negative value in a 32-bit move",
			target: []*ty{signedE(val{"BIG", -2})},
			steps:  []step{enumval(signedE(val{"BIG", -1}), "0", is(^uint64(1))).with(mov(-1))},
		},
	})
}

func TestSeveralCandidates(t *testing.T) {
	s := func(name string, m ...mem) *ty { return structure(name, m...) }
	local := s("s", member("a", tInt), member("b", tInt))
	e := enum("e", 4, false, val{"A", 1})
	runRules(t, []rule{
		{name: "S5.6 equal answers", target: []*ty{s("s___1", member("a", tInt)), s("s___2", member("a", tLong))}, steps: []step{field(local, "0:0", is(0))}},
		{name: "S5.6 offsets differ", target: []*ty{s("s___1", member("a", tInt)), s("s___2", member("z", tInt), member("a", tInt))}, steps: []step{field(local, "0:0", fails(ErrAmbiguous))}},
		{name: "S5.6 offsets must agree for existence", target: []*ty{s("s___1", member("a", tInt)), s("s___2", member("z", tInt), member("a", tInt))}, steps: []step{exists(local, "0:0", fails(ErrAmbiguous))}},
		{name: "S5.6 sizes differ", target: []*ty{s("s___1", member("a", tInt)), s("s___2", member("a", tLong))}, steps: []step{field(local, "0:0", fails(ErrAmbiguous)).as(FieldByteSize)}},
		{name: "S5.6 type_exists of two flavors", target: []*ty{s("s___1", member("a", tInt)), s("s___2", member("a", tLong))}, steps: []step{typ(local, TypeExists, is(1))}},
		{name: "S5.6 type_size of two flavors", target: []*ty{s("s___1", member("a", tInt)), s("s___2", member("a", tLong))}, steps: []step{typ(local, TypeSize, fails(ErrAmbiguous))}},
		{name: "S5.6 target ids differ", target: []*ty{s("s___1", member("a", tInt)), s("s___2", member("a", tInt))}, steps: []step{typ(local, TypeIDTarget, fails(ErrAmbiguous))}},
		{name: "S5.6 enumerators differ", target: []*ty{enum("e___1", 4, false, val{"A", 1}), enum("e___2", 4, false, val{"A", 2})}, steps: []step{enumval(e, "0", fails(ErrAmbiguous))}},
		{name: "S5.6 a non-matching one does not count", target: []*ty{s("s___1", member("z", tInt)), s("s___2", member("z", tInt), member("a", tInt))}, steps: []step{field(local, "0:0", is(4))}},
	})
}
