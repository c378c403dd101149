package corerelo

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
)

// rule is a case of the tables: records resolved in order against one target.
type rule struct {
	name   string // starts with the number of the rule in libbpf's semantics
	target []*ty  // types of the target, in id order
	steps  []step
	order  endian // of the object; little endian unless set
	// deviates: this package answers otherwise than libbpf, on purpose.
	deviates bool
}

// step is one record of a rule with the answer expected.
type step struct {
	root   *ty // local root type
	access string
	kind   Kind
	insn   *decode.Insn // default: r1 = imm, LD_IMM64 where the value is wide
	high   int32        // second immediate of insn
	want   want

	fillOffset bool // insn gets the offset that the local BTF gives
}

type want struct {
	value   uint64
	poison  bool
	err     error
	memSize [2]int
}

func is(v uint64) want                    { return want{value: v} }
func resized(v uint64, from, to int) want { return want{value: v, memSize: [2]int{from, to}} }
func fails(err error) want                { return want{err: err} }
func field(root *ty, access string, w want) step {
	return step{root: root, access: access, kind: FieldByteOffset, want: w}
}
func exists(root *ty, access string, w want) step {
	return step{root: root, access: access, kind: FieldExists, want: w}
}
func typ(root *ty, kind Kind, w want) step { return step{root: root, access: "0", kind: kind, want: w} }
func enumval(root *ty, access string, w want) step {
	return step{root: root, access: access, kind: EnumvalValue, want: w}
}
func (s step) as(kind Kind) step { s.kind = kind; return s }

// load makes the instruction a load of that many bytes at offset off.
func (s step) load(size int, off int16) step {
	return s.with(decode.Insn{Code: 0x61 | sizeCode(size), Dst: 1, Src: 2, Off: off})
}

// wide makes the instruction a LD_IMM64 of v.
func (s step) wide(v uint64) step {
	s.high = int32(uint32(v >> 32))
	return s.with(decode.Insn{Code: opLdImm64, Dst: 1, Imm: int32(uint32(v))})
}

func (s step) with(in decode.Insn) step { s.insn = &in; return s }

func sizeCode(size int) uint8 {
	return map[int]uint8{1: 0x10, 2: 0x08, 4: 0x00, 8: 0x18}[size]
}

// byteOrder is that of most tests.
var byteOrder endian = binary.LittleEndian

var poisoned = want{poison: true}

// fixture is a rule made into BTF, records and instructions.
type fixture struct {
	local, target *btf.Spec
	graph         *graph
	targetGraph   *graph
	records       []Record
	insns         []decode.Insn
	at            []int // instruction of each record
}

func (r rule) build(t testing.TB) fixture {
	t.Helper()
	order := r.order
	if order == nil {
		order = binary.LittleEndian
	}
	var roots []*ty
	for _, s := range r.steps {
		roots = append(roots, s.root)
	}
	var f fixture
	f.local, f.graph = testTypes(t, order, roots...)
	f.target, f.targetGraph = testTypes(t, order, r.target...)
	for _, s := range r.steps {
		rec := Record{InsnOff: uint32(len(f.insns) * 8), TypeID: f.graph.id(s.root), Access: s.access, Kind: s.kind}
		f.records = append(f.records, rec)
		f.at = append(f.at, len(f.insns))
		f.insns = append(f.insns, s.code(f.local, rec)...)
	}
	return f
}

// code returns the instruction of a step, holding what the local BTF gives.
func (s step) code(local *btf.Spec, rec Record) []decode.Insn {
	var orig uint64
	if spec, f := parseSpec(local, rec); f == nil && rec.Kind != TypeIDLocal {
		res, _ := compute(rec, local.ByteOrder(), &spec, &spec)
		orig = res.Orig
	}
	if s.fillOffset {
		s.insn.Off = int16(orig)
	}
	if s.insn != nil {
		if s.insn.Code == opLdImm64 {
			return []decode.Insn{*s.insn, {Imm: s.high}}
		}
		return []decode.Insn{*s.insn}
	}
	if rec.Kind == EnumvalValue || rec.Kind == TypeIDTarget || rec.Kind == TypeIDLocal {
		return []decode.Insn{{Code: opLdImm64, Dst: 1, Imm: int32(uint32(orig))}, {Imm: int32(uint32(orig >> 32))}}
	}
	return []decode.Insn{{Code: 0xb7, Dst: 1, Imm: int32(uint32(orig))}}
}

// run resolves and applies every record of the fixture and checks the answers.
func (r rule) run(t *testing.T) {
	f := r.build(t)
	if r.order == nil {
		compareRecorded(t, r.name, f, r.deviates)
	}
	resolver := NewResolver(f.local, Target{BTF: f.target})
	for i, s := range r.steps {
		rel, err := resolver.Resolve(f.records[i])
		var patch Patch
		if err == nil {
			patch, err = rel.Apply(f.insns, f.at[i])
		}
		if s.want.err != nil {
			require.ErrorIs(t, err, s.want.err, "step %d", i)
			var e *Error
			require.True(t, errors.As(err, &e))
			assert.Equal(t, f.records[i], e.Record)
			continue
		}
		require.NoError(t, err, "step %d", i)
		assert.Equal(t, s.want.poison, patch.Poisoned, "step %d: poison (%s)", i, resolver.Explain(rel))
		if !s.want.poison {
			assert.Equal(t, s.want.value, patch.New, "step %d: new value", i)
			assert.Equal(t, s.want.memSize, [2]int{patch.OldSize, patch.NewSize}, "step %d: memory size", i)
		}
	}
}

func runRules(t *testing.T, rules []rule) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, r.run)
	}
}
