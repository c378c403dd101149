package btfcases

import (
	"encoding/binary"

	"github.com/bpfrun/bpfrun/btf"
)

// Source is BTF to mutate.
type Source struct {
	Name string
	Raw  []byte
}

// Seeds returns small sources that together contain every kind and every field type that programs
// own.
func Seeds() ([]Source, error) {
	var out []Source
	for _, s := range []struct {
		name  string
		build func(b *btf.Builder)
	}{
		{"scalars", scalars}, {"graph", graph}, {"sections", sections}, {"tags", tags}, {"chain", chain},
		{"list", list}, {"tree", tree}, {"kptrs", kptrs}, {"nested", nested},
	} {
		b := btf.NewBuilder(nil)
		s.build(b)
		raw, err := b.Marshal(binary.LittleEndian)
		if err != nil {
			return nil, err
		}
		out = append(out, Source{"seed:" + s.name, raw})
	}
	return out, nil
}

func member(name string, t btf.ID, at uint32) btf.Member {
	return btf.Member{Name: name, Type: t, BitOffset: at * 8}
}

// scalars contains the kinds that refer to no other type, and a struct of them all with bit fields.
func scalars(b *btf.Builder) {
	i := b.Int("int", 4, btf.IntSigned)
	long := b.Int("unsigned long", 8, 0)
	wide := b.Int("__int128", 16, btf.IntSigned)
	flag := b.Int("_Bool", 1, btf.IntBool)
	f := b.Add(btf.Type{Kind: btf.KindFloat, Name: "double", Size: 8})
	e := b.Add(btf.Type{Kind: btf.KindEnum, Name: "colour", Size: 4, Values: []btf.Enumerator{{Name: "RED"}, {Name: "BLUE", Value: 7}}})
	e64 := b.Add(btf.Type{Kind: btf.KindEnum64, Name: "big", Size: 8, Values: []btf.Enumerator{{Name: "HUGE", Value: 1 << 40}}})
	b.Add(btf.Type{Kind: btf.KindEnum, Name: "sign", Size: 4, Flag: true, Values: []btf.Enumerator{{Name: "MINUS", Value: 1<<64 - 1}}})
	b.Struct("plain", 48, member("w", wide, 0), member("l", long, 16), member("d", f, 24), member("i", i, 32), member("e", e, 36), member("b", e64, 40))
	b.Add(btf.Type{Kind: btf.KindStruct, Name: "bits", Size: 16, Flag: true, Members: []btf.Member{
		{Name: "a", Type: i, BitfieldSize: 3}, {Name: "b", Type: i, BitOffset: 3, BitfieldSize: 29},
		{Name: "c", Type: e, BitOffset: 32, BitfieldSize: 2}, {Name: "d", Type: flag, BitOffset: 40}, {Name: "e", Type: long, BitOffset: 64},
	}})
	b.Union("either", 8, member("i", i, 0), member("l", long, 0))
}

// graph contains references of every kind, including a cycle through a pointer.
func graph(b *btf.Builder) {
	i := b.Int("int", 4, btf.IntSigned)
	node := b.NextID() + 6
	p := b.Ptr(node)
	c := b.Mod(btf.KindConst, "", p)
	td := b.Mod(btf.KindTypedef, "link_t", c)
	arr := b.Array(td, i, 3)
	vol := b.Mod(btf.KindVolatile, "", arr)
	matrix := b.Array(b.NextID()-1, i, 2)
	b.Struct("node", 80, member("next", p, 0), member("links", vol, 8), member("m", matrix, 32))
	fwd := b.Add(btf.Type{Kind: btf.KindFwd, Name: "elsewhere"})
	pf := b.Ptr(fwd)
	res := b.Mod(btf.KindRestrict, "", pf)
	cv := b.Mod(btf.KindConst, "", 0)
	pv := b.Ptr(cv)
	proto := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: i, Params: []btf.Param{{Name: "n", Type: p}, {Name: "f", Type: res}, {Name: "v", Type: pv}, {}}})
	b.Add(btf.Type{Kind: btf.KindFunc, Name: "walk", Ref: proto, Linkage: btf.LinkageGlobal})
	call := b.Ptr(proto)
	b.Struct("ops", 16, member("walk", call, 0), member("self", b.NextID()+1, 8))
	b.Ptr(b.NextID() - 1)
	void := b.Add(btf.Type{Kind: btf.KindFuncProto})
	b.Add(btf.Type{Kind: btf.KindFunc, Name: "nothing", Ref: void})
}

func sections(b *btf.Builder) {
	i := b.Int("int", 4, btf.IntSigned)
	ch := b.Int("char", 1, btf.IntSigned)
	s := b.Array(ch, i, 12)
	v1 := b.Add(btf.Type{Kind: btf.KindVar, Name: "count", Ref: i, Linkage: btf.LinkageGlobal})
	text := b.Mod(btf.KindConst, "", s)
	b.Add(btf.Type{Kind: btf.KindVar, Name: "text", Ref: text})
	v3 := b.Add(btf.Type{Kind: btf.KindVar, Name: "name", Ref: s, Linkage: btf.LinkageGlobal})
	b.Add(btf.Type{Kind: btf.KindDatasec, Name: ".data", Size: 32, Vars: []btf.VarSecinfo{{Type: v1, Size: 4}, {Type: v3, Offset: 8, Size: 12}}})
	b.Add(btf.Type{Kind: btf.KindDatasec, Name: ".rodata.str1.1", Size: 12})
	b.Add(btf.Type{Kind: btf.KindDatasec, Name: "?struct_ops", Size: 4, Vars: []btf.VarSecinfo{{Type: v1, Size: 4}}})
}

func tags(b *btf.Builder) {
	i := b.Int("int", 4, btf.IntSigned)
	user := b.Mod(btf.KindTypeTag, "user", i)
	rcu := b.Mod(btf.KindTypeTag, "rcu", user)
	p := b.Ptr(rcu)
	c := b.Mod(btf.KindConst, "", i)
	tc := b.Mod(btf.KindTypeTag, "percpu", c)
	pc := b.Ptr(tc)
	st := b.Struct("tagged", 16, member("a", p, 0), member("b", pc, 8))
	td := b.Mod(btf.KindTypedef, "tagged_t", st)
	proto := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: i, Params: []btf.Param{{Name: "x", Type: p}}})
	fn := b.Add(btf.Type{Kind: btf.KindFunc, Name: "fn", Ref: proto, Linkage: btf.LinkageGlobal})
	v := b.Add(btf.Type{Kind: btf.KindVar, Name: "v", Ref: i, Linkage: btf.LinkageGlobal})
	for _, t := range []btf.ID{st, td, fn, v} {
		b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "whole", Ref: t, ComponentIdx: -1})
	}
	b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "second", Ref: st, ComponentIdx: 1})
	b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "arg:nonnull", Ref: fn})
}

// chain is nearly as deep as the resolution limit, in structs and in modifiers.
func chain(b *btf.Builder) {
	b.Int("int", 4, btf.IntSigned)
	for range 28 {
		b.Struct("", 4, member("x", b.NextID()+1, 0))
	}
	b.Struct("end", 4, member("x", b.NextID()+1, 0))
	t := b.Int("short", 2, btf.IntSigned)
	for i := range 30 {
		t = b.Mod([]btf.Kind{btf.KindConst, btf.KindVolatile}[i%2], "", t)
	}
	b.Struct("user", 4, member("x", t, 0))
}

// owned contains the types of special fields.
type owned struct{ i, lock, head, node, root, rb, ref btf.ID }

func ownedTypes(b *btf.Builder) owned {
	i := b.Int("unsigned int", 4, 0)
	u64 := b.Int("unsigned long", 8, 0)
	a := func(n uint32) btf.ID { return b.Array(u64, i, n) }
	o := owned{i: i}
	o.lock = b.Struct("bpf_spin_lock", 4, member("val", i, 0))
	o.head = b.Struct("bpf_list_head", 16, member("__opaque", a(2), 0))
	o.node = b.Struct("bpf_list_node", 24, member("__opaque", a(3), 0))
	o.root = b.Struct("bpf_rb_root", 16, member("__opaque", a(2), 0))
	o.rb = b.Struct("bpf_rb_node", 32, member("__opaque", a(4), 0))
	o.ref = b.Struct("bpf_refcount", 4, member("__opaque", b.Array(i, i, 1), 0))
	return o
}

func list(b *btf.Builder) {
	o := ownedTypes(b)
	b.Struct("item", 40, member("key", o.i, 0), member("link", o.node, 8))
	owner := b.Struct("owner", 48, member("lock", o.lock, 0), member("head", o.head, 8), member("other", o.head, 24), member("n", o.i, 40))
	b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "contains:item:link", Ref: owner, ComponentIdx: 1})
	b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "contains:item:link", Ref: owner, ComponentIdx: 2})
}

func tree(b *btf.Builder) {
	o := ownedTypes(b)
	mid := b.Struct("mid", 88, member("rb", o.rb, 0), member("link", o.node, 32), member("ref", o.ref, 56), member("lock", o.lock, 60), member("in", o.head, 64))
	b.Struct("leaf", 40, member("link", o.node, 8))
	top := b.Struct("top", 32, member("lock", o.lock, 0), member("root", o.root, 8))
	b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "contains:mid:rb", Ref: top, ComponentIdx: 1})
	b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "contains:leaf:link", Ref: mid, ComponentIdx: 4})
}

func kptrs(b *btf.Builder) {
	i := b.Int("unsigned int", 4, 0)
	own := b.Struct("bpfrun_own", 8, member("a", i, 0), member("b", i, 4))
	var fields []btf.Member
	for n, tag := range []string{"kptr", "kptr_untrusted", "percpu_kptr"} {
		p := b.Ptr(b.Mod(btf.KindTypeTag, tag, own))
		fields = append(fields, member(tag, p, uint32(8*n)))
	}
	vol := b.Mod(btf.KindVolatile, "", b.NextID()-1)
	fields = append(fields, member("v", vol, 24))
	b.Struct("value", 40, append(fields, member("n", i, 32))...)
	b.Struct("flat", 16, member("n", i, 0), member("p", fields[0].Type, 8))
}

func nested(b *btf.Builder) {
	i := b.Int("unsigned int", 4, 0)
	own := b.Struct("bpfrun_own", 8, member("a", i, 0), member("b", i, 4))
	p := b.Ptr(b.Mod(btf.KindTypeTag, "kptr", own))
	in := b.Struct("inner", 16, member("p", p, 0), member("n", i, 8))
	arr := b.Array(in, i, 3)
	parr := b.Array(p, i, 2)
	b.Struct("outer", 88, member("first", p, 0), member("arr", arr, 8), member("one", in, 56), member("ps", parr, 72))
}
