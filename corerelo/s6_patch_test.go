package corerelo

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
)

func mov(imm int32) decode.Insn { return decode.Insn{Code: 0xb7, Dst: 1, Imm: imm} }

func TestPatch(t *testing.T) {
	s := func(m ...mem) *ty { return structure("s", m...) }
	u32 := s(member("a", tU32), member("b", tU32))
	signedPair := s(member("a", tInt), member("b", tInt))
	far := s(memberAt("pad", array(40000, tChar), 0), memberAt("b", tU32, 40000*8))
	store := func(code uint8) decode.Insn { return decode.Insn{Code: code, Dst: 1, Src: 2, Off: 4} }
	one := func(name string, target *ty, st step) rule {
		return rule{name: name, target: []*ty{target}, steps: []step{st}}
	}
	b64 := s(member("x", tLong), member("b", tU64))
	runRules(t, []rule{
		one("S6.2 ALU with a register operand", u32, field(u32, "0:1", fails(ErrInsn)).with(decode.Insn{Code: 0xbf, Dst: 1, Src: 2})),
		one("S6.2 ALU32", b64, field(u32, "0:1", is(8)).with(decode.Insn{Code: 0xb4, Dst: 1, Imm: 4})),
		one("S6.2 addition", b64, field(u32, "0:1", is(8)).with(decode.Insn{Code: 0x07, Dst: 1, Imm: 4})),
		one("S6.2 ALU holds another value", b64, field(u32, "0:1", fails(ErrUnexpectedValue)).with(mov(5))),
		one("S6.2 ALU has no range check", far, field(u32, "0:1", is(40000))),
		one("S5.3 target id is not validated", u32, typ(u32, TypeIDTarget, is(1)).with(mov(77))),
		one("S5.3 target id without a match is not validated", tInt, typ(u32, TypeIDTarget, is(0)).with(mov(77))),
		one("S5.3 local id is not validated", u32, typ(u32, TypeIDLocal, is(1)).with(mov(77))),
		one("S5.3 existence is validated", u32, exists(u32, "0:0", fails(ErrUnexpectedValue)).with(mov(0))),
		one("S5.3 bitfield offset is not validated", s(bitfield("a", tU32, 3, 4)), field(s(bitfield("a", tU32, 0, 4)), "0:0", is(0)).with(mov(9))),
		one("S5.3 bitfield right shift is validated", s(bitfield("a", tU32, 3, 4)), field(s(bitfield("a", tU32, 0, 4)), "0:0", fails(ErrUnexpectedValue)).as(FieldRShiftU64).with(mov(9))),
		one("S6.3 load", s(member("x", tU32), member("y", tU32), member("b", tU32)), field(u32, "0:1", is(8)).load(4, 4)),
		one("S6.3 store of a register", s(member("x", tLong), member("b", tU32)), field(u32, "0:1", is(8)).with(store(0x63))),
		one("S6.3 store of an immediate", s(member("x", tLong), member("b", tU32)), field(u32, "0:1", is(8)).with(store(0x62))),
		one("S6.3 atomic keeps its mode", b64, field(u32, "0:1", resized(8, 4, 8)).with(decode.Insn{Code: 0xc3, Dst: 1, Src: 2, Off: 4})),
		one("S6.3 load holds another offset", u32, field(u32, "0:1", fails(ErrUnexpectedValue)).load(4, 0)),
		one("S6.3 offset too big", far, field(u32, "0:1", fails(ErrRange)).load(4, 4)),
		one("S6.3 offset too big comes before poison by size", s(memberAt("pad", array(40000, tChar), 0), memberAt("b", tLong, 40000*8)), field(signedPair, "0:1", fails(ErrRange)).load(4, 4)),
		one("S6.3 largest offset", s(memberAt("b", tU32, 32767*8)), field(u32, "0:1", is(32767)).load(4, 4)),
		one("S6.3 width of the instruction is not the field's", b64, field(u32, "0:1", fails(ErrMemSize)).load(2, 4)),
		one("S6.3 no load of that width", s(member("b", integer("u128", 16, 0))), field(u32, "0:1", fails(ErrMemSize)).load(4, 4)),
		one("S6.3 no match", s(member("z", tInt)), field(u32, "0:1", poisoned).load(4, 4)),
		one("S6.5 LD_IMM64", b64, field(u32, "0:1", is(8)).wide(4)),
		one("S6.5 LD_IMM64 holds another value", b64, field(u32, "0:1", fails(ErrUnexpectedValue)).wide(5)),
		one("S6.5 LD_IMM64 of a map", b64, field(u32, "0:1", fails(ErrInsn)).with(decode.Insn{Code: opLdImm64, Dst: 1, Src: 1, Imm: 4})),
		one("S6.5 LD_ABS", b64, field(u32, "0:1", fails(ErrInsn)).with(decode.Insn{Code: 0x20, Imm: 4})),
		one("S6.1 LD_IMM64 without a match", s(member("z", tInt)), field(u32, "0:1", poisoned).wide(4)),
		one("S6.6 jump", b64, field(u32, "0:1", fails(ErrInsn)).with(decode.Insn{Code: 0x15, Dst: 1, Imm: 4})),
		one("S6.6 jump32", b64, field(u32, "0:1", fails(ErrInsn)).with(decode.Insn{Code: 0x16, Dst: 1, Imm: 4})),
	})
}

func TestMemorySize(t *testing.T) {
	s := func(typ *ty) *ty { return structure("s", member("f", typ)) }
	tests := []struct {
		name          string
		local, target *ty
		size          int
		want          want
	}{
		{"S6.4 unsigned grows", tU32, tU64, 4, resized(0, 4, 8)},
		{"S6.4 unsigned shrinks", tU64, tU8, 8, resized(0, 8, 1)},
		{"S6.4 bool and char are not plainly signed", tBool, tU32, 1, resized(0, 1, 4)},
		{"S6.4 signed char bit", integer("char", 1, btfSignedChar), tU32, 1, resized(0, 1, 4)},
		{"S6.4 local signed", tInt, tU64, 4, poisoned},
		{"S6.4 target signed", tU32, tLong, 4, poisoned},
		{"S6.4 signed of one size", tInt, tU32, 4, is(0)},
		{"S6.4 enum", enum("e", 4, false, val{"A", 0}), enum("e", 8, false, val{"A", 0}), 4, poisoned},
		{"S6.4 float", tFloat, tDouble, 4, poisoned},
		{"S6.4 struct", structure("x", member("a", tU32)), structure("x", member("a", tU64)), 4, poisoned},
		{"S6.4 array as a whole", array(2, tU32), array(2, tU64), 4, poisoned},
		{"S6.4 array as a whole, elements of one size", array(2, tU32), array(9, tU32), 4, is(0)},
		{"S6.4 typedef and const are skipped", typedef("u", tU32), konst(tU64), 4, resized(0, 4, 8)},
	}
	var rules []rule
	for _, tt := range tests {
		rules = append(rules, rule{name: tt.name, target: []*ty{s(tt.target)}, steps: []step{field(s(tt.local), "0:0", tt.want).load(tt.size, 0)}})
	}
	arr16, arr32 := s(array(4, tU16)), s(array(4, tU32))
	plain, bits := s(tU32), structure("s", bitfield("f", tU32, 0, 5))
	moved := structure("s", member("x", tU32), bitfield("f", tU32, 35, 5))
	rules = append(rules,
		rule{name: "S6.4 array element", target: []*ty{arr32}, steps: []step{field(arr16, "0:0:2", resized(8, 2, 4)).load(2, 4)}},
		rule{name: "S6.4 a move does not care", target: []*ty{s(tLong)}, steps: []step{field(s(tInt), "0:0", is(0))}},
		rule{name: "S6.4 plain became bitfield", target: []*ty{bits}, steps: []step{field(plain, "0:0", poisoned).load(4, 0)}},
		rule{name: "S6.4 bitfield became plain", target: []*ty{plain}, steps: []step{field(bits, "0:0", poisoned).load(4, 0)}},
		rule{name: "S6.4 bitfield moved", target: []*ty{moved}, steps: []step{field(bits, "0:0", is(4)).load(4, 0)}},
		rule{name: "S2.7 32-bit target pointer", target: []*ty{tULong4, memberPtr32()}, steps: []step{field(s(ptr(tInt)), "0:0", resized(0, 8, 4)).load(8, 0)}},
		rule{name: "S2.7 size of a 32-bit target pointer", target: []*ty{tULong4, memberPtr32()}, steps: []step{field(s(ptr(tInt)), "0:0", is(4)).as(FieldByteSize)}},
	)
	runRules(t, rules)
}

const btfSignedChar = 3 // SIGNED and CHAR

func memberPtr32() *ty {
	t := structure("s", member("f", ptr(tInt)))
	t.size = 4
	return t
}

func TestApplyEdges(t *testing.T) {
	s := structure("s", member("a", tInt))
	f := rule{target: []*ty{s}, steps: []step{typ(s, TypeSize, is(4)), field(structure("gone", member("a", tInt)), "0:0", poisoned)}}.build(t)
	r := NewResolver(f.local, Target{BTF: f.target})
	size, err := r.Resolve(f.records[0])
	require.NoError(t, err)
	gone, err := r.Resolve(f.records[1])
	require.NoError(t, err)

	t.Run("S1.2 offset inside of an instruction", func(t *testing.T) {
		rel := *size
		rel.InsnOff = 4
		_, err := rel.Apply([]decode.Insn{mov(4)}, 0)
		require.ErrorIs(t, err, ErrInsn)
	})
	t.Run("S6 instruction out of range", func(t *testing.T) {
		for _, i := range []int{-1, 1} {
			_, err := size.Apply([]decode.Insn{mov(4)}, i)
			require.ErrorIs(t, err, ErrInsn)
		}
	})
	t.Run("S6 LD_IMM64 at the end", func(t *testing.T) {
		insns := []decode.Insn{{Code: opLdImm64, Imm: 4}}
		for _, rel := range []*Relocation{size, gone} {
			_, err := rel.Apply(insns, 0)
			require.ErrorIs(t, err, ErrInsn)
		}
		assert.Equal(t, decode.Insn{Code: opLdImm64, Imm: 4}, insns[0])
	})
	t.Run("S6.1 poison", func(t *testing.T) {
		insns := []decode.Insn{{Code: opLdImm64, Dst: 3, Imm: 0}, {}, mov(1)}
		p, err := gone.Apply(insns, 0)
		require.NoError(t, err)
		call := decode.Insn{Code: 0x85, Imm: 195896080}
		assert.Equal(t, []decode.Insn{call, call, mov(1)}, insns)
		assert.True(t, p.Poisoned)
		assert.Equal(t, 2, p.Slots)
		assert.Equal(t, FieldPoison, p.Field)
		assert.Equal(t, call, p.After)
	})
	t.Run("an error of Resolve stays", func(t *testing.T) {
		bad, err := r.Resolve(Record{TypeID: 1, Access: "x"})
		require.ErrorIs(t, err, ErrInvalidRecord)
		_, err = bad.Apply([]decode.Insn{mov(4)}, 0)
		require.ErrorIs(t, err, ErrInvalidRecord)
		again, err := r.Resolve(Record{TypeID: 1, Access: "x", InsnOff: 64})
		var e *Error
		require.True(t, errors.As(err, &e))
		assert.Equal(t, uint32(64), e.Record.InsnOff)
		assert.Equal(t, err, again.Err)
	})
	t.Run("type out of range", func(t *testing.T) {
		rel, err := r.Resolve(Record{TypeID: 1 << 30, Access: "0", Kind: TypeExists})
		require.ErrorIs(t, err, ErrInvalidRecord)
		assert.NotEmpty(t, rel.Log("p", 0, nil, nil))
		assert.NotEmpty(t, r.Explain(rel))
	})
}

func TestParsePoison(t *testing.T) {
	tests := []struct {
		name  string
		in    decode.Insn
		kind  PoisonKind
		index int
	}{
		{"S6.1 CO-RE", decode.Insn{Code: 0x85, Imm: 195896080}, PoisonCORE, 0},
		{"CO-RE as another loader writes it", decode.Insn{Code: opLdImm64, Dst: 10, Imm: 0xbad2310}, PoisonCORE, 0},
		{"S7.3 map", decode.Insn{Code: 0x85, Imm: 2001000007}, PoisonMap, 7},
		{"S7.4 kfunc", decode.Insn{Code: 0x85, Imm: 2002000012}, PoisonKfunc, 12},
		{"helper", decode.Insn{Code: 0x85, Imm: 1}, NotPoison, 0},
		{"call of a subprogram", decode.Insn{Code: 0x85, Src: 1, Imm: 195896080}, NotPoison, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			kind, index, ok := ParsePoison(tt.in)
			assert.Equal(t, tt.kind, kind)
			assert.Equal(t, tt.index, index)
			assert.Equal(t, tt.kind != NotPoison, ok)
		})
	}
}
