package corerelo

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/btf"
)

func TestAccessString(t *testing.T) {
	long := strings.Repeat("0:", 63) + "0"
	tests := []struct {
		name string
		in   string
		want []int
		ok   bool
	}{
		{"S2.1 one index", "0", []int{0}, true},
		{"S2.1 several", "0:12:3", []int{0, 12, 3}, true},
		{"S2.1 leading space and plus", "0: +7", []int{0, 7}, true},
		{"S2.1 white space separates", "0 1", []int{0, 1}, true},
		{"S2.1 a sign separates", "0+1", []int{0, 1}, true},
		{"S2.1 empty", "", nil, false},
		{"S2.1 starts with colon", ":0", nil, false},
		{"S2.1 ends with colon", "0:", nil, false},
		{"S2.1 two colons", "0::1", nil, false},
		{"S2.1 negative", "0:-1", nil, false},
		{"S2.1 no number", "0:x", nil, false},
		{"S2.1 hexadecimal", "0x1", nil, false},
		{"S2.1 trailing space", "0 ", nil, false},
		{"S2.1 beyond int", "2147483648", nil, false},
		{"S2.1 largest int", "2147483647", []int{1<<31 - 1}, true},
		{"S2.1 64 steps", long, make([]int, 64), true},
		{"S2.1 65 steps", long + ":0", nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, f := parseAccess(tt.in)
			if !tt.ok {
				assert.NotNil(t, f)
				return
			}
			assert.Nil(t, f)
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestLocalSpec(t *testing.T) {
	inner := structure("", member("c", tInt), member("d", tInt))
	s := structure("s", member("a", tInt), member("", inner), member("arr", array(4, tU16)))
	odd := structure("odd", member("a", tInt), member("no", tVoid))
	odd.members[1].typ = fwd("gone", false)
	flex := structure("flex", member("n", tInt), member("data", array(0, tInt)))
	inUnion := structure("fu", member("", union("", member("n", tLong), member("data", array(0, tU16)))))
	notLast := structure("notlast", member("data", array(0, tInt)), member("n", tInt))
	e := enum("e", 4, false, val{"A", 0}, val{"B", 7})
	anon := structure("", member("a", tInt))

	runRules(t, []rule{
		{name: "S2.1 type kinds want exactly 0", target: []*ty{s}, steps: []step{
			field(s, "0:0", fails(ErrInvalidRecord)).as(TypeExists),
			field(s, "00", fails(ErrInvalidRecord)).as(TypeSize),
			typ(s, TypeExists, is(1)),
		}},
		{name: "S2.1 bad access string is a hard error", target: []*ty{s}, steps: []step{field(s, "0:", fails(ErrInvalidRecord))}},
		{name: "S2.2 enumerator by index", target: []*ty{e}, steps: []step{enumval(e, "1", is(7))}},
		{name: "S2.2 enumerator out of range", target: []*ty{e}, steps: []step{enumval(e, "2", fails(ErrInvalidRecord))}},
		{name: "S2.2 two indices for an enumerator", target: []*ty{e}, steps: []step{enumval(e, "1:0", fails(ErrInvalidRecord))}},
		{name: "S2.2 root of an enumerator is no enum", target: []*ty{s}, steps: []step{enumval(s, "0", fails(ErrInvalidRecord))}},
		{name: "S2.2 root of an enumerator is a typedef", target: []*ty{typedef("e_t", e)}, steps: []step{enumval(typedef("e_t", e), "1", is(7))}},
		{name: "S2.3 first index counts whole objects", target: []*ty{s}, steps: []step{field(s, "2:0", is(2*20))}},
		{name: "S2.3 through an anonymous member", target: []*ty{s}, steps: []step{field(s, "0:1:1", is(8))}},
		{name: "S2.3 array element", target: []*ty{s}, steps: []step{field(s, "0:2:3", is(18))}},
		{name: "S2.3 member index out of range", target: []*ty{s}, steps: []step{field(s, "0:3", fails(ErrInvalidRecord))}},
		{name: "S2.3 element index out of range", target: []*ty{s}, steps: []step{field(s, "0:2:4", fails(ErrInvalidRecord))}},
		{name: "S2.3 into an int", target: []*ty{s}, steps: []step{field(s, "0:0:0", fails(ErrInvalidRecord))}},
		{name: "S2.3 into a forward declaration", target: []*ty{odd}, steps: []step{field(odd, "0:1:0", fails(ErrInvalidRecord))}},
		{name: "S2.3 forward root has no size", target: []*ty{fwd("f", false)}, steps: []step{field(fwd("f", false), "0", fails(ErrUnsized))}},
		{name: "S2.4 flexible array takes any index", target: []*ty{flex}, steps: []step{field(flex, "0:1:9", is(40))}},
		{name: "S2.4 last member of an anonymous union", target: []*ty{inUnion}, steps: []step{field(inUnion, "0:0:1:5", is(10))}},
		{name: "S2.4 empty array that is not last", target: []*ty{notLast}, steps: []step{field(notLast, "0:0:0", fails(ErrInvalidRecord))}},
		{name: "S3.3 anonymous root", target: []*ty{anon}, steps: []step{field(anon, "0:0", fails(ErrAnonymous))}},
		{name: "S3.3 anonymous root of a type kind", target: []*ty{anon}, steps: []step{typ(anon, TypeExists, fails(ErrAnonymous))}},
		{name: "S3.3 anonymous root of TYPE_ID_LOCAL", target: []*ty{s}, steps: []step{typ(s, TypeExists, is(1)), typ(anon, TypeIDLocal, is(6))}},
		{name: "S1.4 unknown kind", target: []*ty{s}, steps: []step{field(s, "0", fails(ErrUnsupported)).as(13)}},
	})
}

func TestSpecText(t *testing.T) {
	inner := structure("", member("x", tInt), bitfield("y", tInt, 35, 4))
	s := structure("s", member("a", tInt), member("", inner), member("arr", array(4, structure("el", member("v", tU16)))))
	e := enum("e", 4, true, val{"NEG", -2})
	u := enum("u", 4, false, val{"BIG", 0xfffffffe})
	e64 := enum64("e64", false, val{"HUGE", 3 << 32})
	local, g := testTypes(t, byteOrder, s, e, u, e64, typedef("s_t", s))
	tests := []struct {
		name string
		rec  Record
		want string
	}{
		{"S7.8 field", Record{TypeID: g.id(s), Access: "0:0"}, "<byte_off> [1] struct s.a (0:0 @ offset 0)"},
		{"S7.8 first index", Record{TypeID: g.id(s), Access: "1:0"}, "<byte_off> [1] struct s[1].a (1:0 @ offset 20)"},
		{"S7.8 anonymous member and bits", Record{TypeID: g.id(s), Access: "0:1:1", Kind: FieldSigned}, "<signed> [1] struct s.y (0:1:1 @ offset 8.3)"},
		{"S7.8 element", Record{TypeID: g.id(s), Access: "0:2:3:0", Kind: FieldByteSize}, "<byte_sz> [1] struct s.arr[3].v (0:2:3:0 @ offset 18)"},
		{"S7.8 type", Record{TypeID: g.id(s), Access: "0", Kind: TypeMatches}, "<type_matches> [1] struct s"},
		{"S7.8 signed enumerator", Record{TypeID: g.id(e), Access: "0", Kind: EnumvalValue}, "<enumval_value> [7] enum e::NEG = -2"},
		{"S7.8 unsigned enumerator", Record{TypeID: g.id(u), Access: "0", Kind: EnumvalExists}, "<enumval_exists> [8] enum u::BIG = 4294967294"},
		{"S7.8 enum64", Record{TypeID: g.id(e64), Access: "0", Kind: EnumvalValue}, "<enumval_value> [9] enum64 e64::HUGE = 12884901888"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spec, f := parseSpec(local, tt.rec)
			assert.Nil(t, f)
			assert.Equal(t, tt.want, spec.String())
			assert.Equal(t, tt.rec.Access, spec.Access())
		})
	}
	var none Spec
	assert.Equal(t, "<byte_off>", none.String())
	assert.Equal(t, "", none.Field())
	assert.NotEqual(t, btf.ID(0), g.id(s))
}
