package corerelo

import (
	"fmt"
	"testing"

	"github.com/bpfrun/bpfrun/btf"
)

func TestTypeCompatible(t *testing.T) {
	one := func(name string, local, target *ty, w want) rule {
		l, tg := typedef("T", local), typedef("T", target)
		return rule{name: name, target: []*ty{tg}, steps: []step{typ(l, TypeExists, w)}}
	}
	intOff := &ty{kind: btf.KindInt, name: "int", size: 4, intOff: 4}
	fn := func(depth int) *ty {
		p := proto(tVoid)
		for range depth {
			p = proto(tVoid, ptr(p))
		}
		return p
	}
	chain := func(n int) *ty {
		p := tInt
		for range n {
			p = ptr(p)
		}
		return p
	}
	runRules(t, []rule{
		one("S4.1 int and int of any size and sign", tInt, tU64, is(1)),
		one("S4.1 int and pointer", tInt, ptr(tInt), is(0)),
		one("S4.1 int with a bit offset", tInt, intOff, is(0)),
		one("S4.1 struct and struct of other names", structure("a", member("x", tInt)), structure("b"), is(1)),
		one("S4.1 struct and union", structure("a"), union("a"), is(0)),
		one("S4.1 enum and enum64", enum("a", 4, false), enum64("b", false), is(1)),
		one("S4.1 forward declarations", fwd("a", false), fwd("b", true), is(1)),
		one("S4.1 void", tVoid, tVoid, is(1)),
		one("S4.1 modifiers are skipped", konst(volatile(tInt)), typeTag("user", tInt), is(1)),
		one("S4.1 pointers recurse", ptr(structure("a")), ptr(structure("b")), is(1)),
		one("S4.1 pointers to other kinds", ptr(structure("a")), ptr(tInt), is(0)),
		one("S4.1 array lengths do not matter", array(3, tInt), array(9, tChar), is(1)),
		one("S4.1 array elements do", array(3, tInt), array(3, ptr(tInt)), is(0)),
		one("S4.1 prototype", proto(tInt, tInt, ptr(tChar)), proto(tLong, tChar, ptr(tInt)), is(1)),
		one("S4.1 prototype with another count", proto(tInt, tInt), proto(tInt), is(0)),
		one("S4.1 prototype with another argument", proto(tInt, tInt), proto(tInt, ptr(tInt)), is(0)),
		one("S4.1 prototype with another return", proto(tInt, tInt), proto(ptr(tInt), tInt), is(0)),
		one("S4.1 float is never compatible", tFloat, tFloat, is(0)),
		one("S4.1 31 pointers", chain(31), chain(31), is(1)),
		one("S4.1 32 pointers are too deep", chain(32), chain(32), fails(ErrTooDeep)),
		one("S4.1 32 prototypes", fn(32), fn(32), is(1)),
		one("S4.1 33 prototypes are too deep", fn(33), fn(33), fails(ErrTooDeep)),
	})
}

func TestTypeMatches(t *testing.T) {
	one := func(name string, local, target *ty, w want) rule {
		return rule{name: name, target: []*ty{target}, steps: []step{typ(local, TypeMatches, w)}}
	}
	td := func(name string, local, target *ty, w want) rule {
		return one(name, typedef("T", local), typedef("T", target), w)
	}
	s := func(m ...mem) *ty { return structure("s", m...) }
	anon := func(name string) mem { return member("", structure("", member(name, tInt))) }
	runRules(t, []rule{
		td("S4.2 equal ints", tInt, tInt, is(1)),
		td("S4.2 int of another name", tInt, integer("s32", 4, btf.IntSigned), is(0)),
		td("S4.2 int of another size", integer("x", 4, 0), integer("x", 8, 0), is(0)),
		td("S4.2 int of another sign", integer("x", 4, 0), integer("x", 4, btf.IntSigned), is(0)),
		td("S4.2 bool bit does not matter", integer("x", 1, 0), integer("x", 1, btf.IntBool), is(1)),
		td("S4.2 typedef names below the root are skipped", typedef("a", tInt), typedef("b", tInt), is(1)),
		td("S4.2 anonymous and named", structure("", member("a", tInt)), structure("x", member("a", tInt)), is(0)),
		td("S4.2 array length", array(3, tInt), array(4, tInt), is(0)),
		td("S4.2 array element", array(3, tInt), array(3, tInt), is(1)),
		td("S4.2 float", tFloat, tFloat, is(0)),
		td("S4.2 void", tVoid, tVoid, is(1)),
		one("S4.2 struct and union", s(), union("s"), is(0)),
		one("S4.2 member by name", s(member("a", tInt)), s(member("b", tInt), member("a", tInt)), is(1)),
		one("S4.2 member missing", s(member("a", tInt), member("b", tInt)), s(member("a", tInt), member("c", tInt)), is(0)),
		one("S4.2 member flavor", s(member("a___old", tInt)), s(member("a", tInt)), is(1)),
		one("S4.2 member of another type", s(member("a", tInt)), s(member("a", tLong)), is(0)),
		one("S4.2 more members than the target", s(member("a", tInt), member("a", tInt)), s(member("a", tInt)), is(0)),
		one("S4.2 any anonymous member may match", s(anon("y")), s(anon("x"), anon("y")), is(1)),
		one("S4.2 no anonymous member matches", s(anon("z")), s(anon("x"), anon("y")), is(0)),
		td("S4.2 behind a pointer name and kind suffice", ptr(s(member("a", tInt))), ptr(s(member("z", tChar))), is(1)),
		td("S4.2 behind a pointer the name counts", ptr(structure("a")), ptr(structure("b")), is(0)),
		td("S4.2 behind a pointer a forward struct", ptr(s()), ptr(fwd("s", false)), is(1)),
		td("S4.2 behind a pointer a forward union", ptr(s()), ptr(fwd("s", true)), is(0)),
		td("S4.2 union and forward union", ptr(union("s")), ptr(fwd("s", true)), is(1)),
		td("S4.2 local forward behind a pointer", ptr(fwd("s", false)), ptr(s()), is(1)),
		td("S4.2 local forward union behind a pointer", ptr(fwd("s", true)), ptr(s()), is(0)),
		td("S4.2 local forward, target union", ptr(fwd("s", true)), ptr(union("s")), is(1)),
		td("S4.2 forward and forward", fwd("s", false), fwd("s", false), is(1)),
		td("S4.2 forward and forward of the other kind", fwd("s", false), fwd("s", true), is(0)),
		td("S4.2 forward not behind a pointer", fwd("s", false), s(), is(0)),
		td("S4.2 member behind a pointer in a prototype", ptr(proto(tVoid, s(member("a", tInt)))), ptr(proto(tVoid, s(member("b", tInt)))), is(1)),
		one("S4.2 enum subset", enum("e", 4, false, val{"A", 0}), enum("e", 4, false, val{"B", 0}, val{"A", 5}), is(1)),
		one("S4.2 enum size", enum("e", 4, false, val{"A", 0}), enum("e", 8, false, val{"A", 0}), is(0)),
		one("S4.2 enum and enum64 of one size", enum("e", 8, false, val{"A", 0}), enum64("e", false, val{"A", 0}), is(1)),
		one("S4.2 enumerator missing", enum("e", 4, false, val{"A", 0}), enum("e", 4, false, val{"B", 0}), is(0)),
		one("S4.2 enumerator flavor", enum("e", 4, false, val{"A___x", 0}), enum("e", 4, false, val{"A", 0}), is(1)),
		one("S4.2 more enumerators than the target", enum("e", 4, false, val{"A", 0}, val{"A", 1}), enum("e", 4, false, val{"A", 0}), is(0)),
		td("S4.2 prototype", proto(tInt, tLong), proto(tInt, tLong), is(1)),
		td("S4.2 prototype argument", proto(tInt, tLong), proto(tInt, tInt), is(0)),
		td("S4.2 prototype return", proto(tInt, tLong), proto(tLong, tLong), is(0)),
		td("S4.2 prototype count", proto(tInt, tLong), proto(tInt), is(0)),
	})
}

func TestEnumeratorMatch(t *testing.T) {
	local := enum("e", 4, false, val{"A", 1}, val{"B___old", 2})
	runRules(t, []rule{
		{name: "S4.3 by name, not by index", target: []*ty{enum("e", 4, false, val{"Z", 9}, val{"A", 8})}, steps: []step{enumval(local, "0", is(8))}},
		{name: "S4.3 essential names", target: []*ty{enum("e", 4, false, val{"B___new", 5})}, steps: []step{enumval(local, "1", is(5))}},
		{name: "S4.3 first of several", target: []*ty{enum("e", 4, false, val{"A___x", 3}, val{"A", 4})}, steps: []step{enumval(local, "0", is(3))}},
		{name: "S4.3 missing", target: []*ty{enum("e", 4, false, val{"Z", 9})}, steps: []step{
			enumval(local, "0", poisoned), enumval(local, "0", is(0)).as(EnumvalExists),
		}},
		{name: "S4.3 typedef that is no enum in the target", target: []*ty{typedef("t", tInt)}, steps: []step{enumval(typedef("t", local), "0", poisoned)}},
	})
}

func TestFieldMatch(t *testing.T) {
	s := func(m ...mem) *ty { return structure("s", m...) }
	local := s(member("a", tInt), member("b", tInt))
	arr := s(member("arr", array(8, tInt)))
	flex := s(member("n", tInt), member("arr", array(0, tInt)))
	nest := s(member("p", structure("p", member("q", tInt))))
	runRules(t, []rule{
		{name: "S4.4 member moved", target: []*ty{s(member("b", tInt), member("x", tLong), member("a", tInt))}, steps: []step{field(local, "0:0", is(16)), field(local, "0:1", is(0))}},
		{name: "S4.4 member in an anonymous union in an anonymous struct", steps: []step{field(local, "0:1", is(12))}, target: []*ty{
			s(member("x", tLong), member("", structure("", member("y", tInt), member("", union("", member("a", tInt), member("b", tInt)))))),
		}},
		{name: "S4.4 local anonymous member, target plain", target: []*ty{local}, steps: []step{
			field(s(member("", structure("", member("z", tInt), member("b", tInt)))), "0:0:1", is(4)),
		}},
		{name: "S4.4 flavors do not apply to members", target: []*ty{local}, steps: []step{field(s(member("a___old", tInt)), "0:0", poisoned)}},
		{name: "S4.4 struct member became union member", target: []*ty{s(member("x", tLong), member("p", union("u", member("q", tInt))))}, steps: []step{field(nest, "0:0:0", is(8))}},
		{name: "S4.4 container is no struct", target: []*ty{s(member("p", tInt))}, steps: []step{field(nest, "0:0:0", poisoned)}},
		{name: "S4.4 first hit decides", target: []*ty{s(member("", structure("", member("a", ptr(tInt)))), member("z", tInt))}, steps: []step{field(local, "0:0", poisoned)}},
		{name: "S4.4 first index", target: []*ty{s(member("x", tInt), member("a", tInt))}, steps: []step{field(local, "3:0", is(3*8+4))}},
		{name: "S4.4 shorter array", target: []*ty{s(member("arr", array(2, tInt)))}, steps: []step{field(arr, "0:0:1", is(4)), field(arr, "0:0:2", poisoned)}},
		{name: "S4.4 scalar instead of array", target: []*ty{s(member("arr", tInt))}, steps: []step{field(arr, "0:0:0", poisoned)}},
		{name: "S4.4 element of another size", target: []*ty{s(member("arr", array(8, tLong)))}, steps: []step{field(arr, "0:0:3", is(24))}},
		{name: "S4.4 array became flexible at the end", target: []*ty{flex}, steps: []step{field(arr, "0:0:7", is(32))}},
		{name: "S4.4 empty array in the middle", target: []*ty{s(member("arr", array(0, tInt)), member("n", tInt))}, steps: []step{field(arr, "0:0:0", poisoned)}},
		{name: "S4.4 flexible became fixed", target: []*ty{s(member("arr", array(2, tInt)))}, steps: []step{field(flex, "0:1:1", is(4)), field(flex, "0:1:5", poisoned)}},
		{name: "S4.4 more dimensions", target: []*ty{s(member("arr", array(2, array(3, tInt))))}, steps: []step{
			field(s(member("arr", array(2, array(2, tInt)))), "0:0:1:1", is(16)),
		}},
		{name: "S4.4 64 raw steps", target: []*ty{deep(62)}, steps: []step{field(s(member("v", tInt)), "0:0", is(0))}},
		{name: "S4.4 65 raw steps", target: []*ty{deep(63)}, steps: []step{field(s(member("v", tInt)), "0:0", fails(ErrTooDeep))}},
		{name: "S4.4 root typedef of a forward declaration", target: []*ty{typedef("t", fwd("x", false))}, steps: []step{
			field(typedef("t", local), "0:0", fails(ErrUnsized)),
		}},
	})
}

// deep nests v in n anonymous structs.
func deep(n int) *ty {
	in := structure("", member("v", tInt))
	if n == 0 {
		in.name = "s"
		return in
	}
	for range n - 1 {
		in = structure("", member("", in))
	}
	return structure("s", member("", in))
}

func TestFieldCompatible(t *testing.T) {
	intOff := &ty{kind: btf.KindInt, name: "int", size: 4, intOff: 2}
	named, anon := enum("e", 4, false, val{"A", 0}), enum("", 4, false, val{"B", 0})
	tests := []struct {
		name          string
		local, target *ty
		ok            bool
	}{
		{"S4.5 struct and union", structure("a", member("x", tInt)), union("b", member("y", tChar)), true},
		{"S4.5 struct and int", structure("a", member("x", tInt)), tInt, false},
		{"S4.5 int of any size and sign", tInt, tU8, true},
		{"S4.5 int never matches pointer", tInt, ptr(tInt), false},
		{"S4.5 pointer never matches int", ptr(tInt), tULong, false},
		{"S4.5 int and enum", tInt, named, false},
		{"S4.5 int with a bit offset", tInt, intOff, false},
		{"S4.5 bool and int", tBool, tInt, true},
		{"S4.5 pointers to anything", ptr(tInt), ptr(structure("a")), true},
		{"S4.5 pointer to function and to data", ptr(proto(tVoid)), ptr(tInt), true},
		{"S4.5 floats", tFloat, tDouble, true},
		{"S4.5 float and int", tFloat, tInt, false},
		{"S4.5 enums of one name", named, enum("e___x", 8, true, val{"Z", 0}), true},
		{"S4.5 enums of two names", named, enum("f", 4, false, val{"A", 0}), false},
		{"S4.5 local enum anonymous", anon, named, true},
		{"S4.5 target enum anonymous", named, anon, true},
		{"S4.5 enum and enum64", named, enum64("e", false, val{"A", 0}), true},
		{"S4.5 array and scalar", array(2, tInt), tInt, false},
		{"S4.5 scalar and array", tInt, array(2, tInt), false},
		{"S4.5 arrays of any length", array(2, tInt), array(9, tLong), true},
		{"S4.5 arrays of other elements", array(2, tInt), array(2, ptr(tInt)), false},
		{"S4.5 arrays of arrays", array(2, array(2, tInt)), array(2, tInt), false},
		{"S4.5 modifiers are skipped", konst(typedef("x", tInt)), volatile(tLong), true},
	}
	var rules []rule
	for _, tt := range tests {
		w := poisoned
		if tt.ok {
			w = is(8)
		}
		rules = append(rules, rule{
			name:   tt.name,
			target: []*ty{structure("s", member("pad", tLong), memberAt("f", tt.target, 64))},
			steps:  []step{field(structure("s", memberAt("f", tt.local, 0)), "0:0", w)},
		})
	}
	f := fwd("f", false)
	for _, target := range []*ty{fwd("f", true), fwd("f___x", false), fwd("g", false)} {
		l, tg := structure("s", member("p", tInt)), structure("s", member("p", tInt))
		l.members[0].typ, tg.members[0].typ = f, target
		w := is(1)
		if target.name == "g" {
			w = is(0)
		}
		rules = append(rules, rule{
			name: fmt.Sprintf("S4.5 forward declarations by name f and %s", target.name), target: []*ty{tg},
			steps: []step{exists(l, "0:0", w)},
		})
	}
	runRules(t, rules)
}
