package expr

import (
	"encoding/binary"

	"github.com/bpfrun/bpfrun/btf"
)

// basicWords are the words of C's basic types, and their common short names.
var basicWords = map[string]bool{
	"void": true, "char": true, "short": true, "int": true, "long": true, "signed": true, "unsigned": true, "bool": true, "_Bool": true,
}

// basicTypes are the types that exist without any BTF.
type basicTypes struct {
	spec   *btf.Spec
	byName map[string]btf.ID
}

func newBasicTypes(order binary.ByteOrder, ptr int) (*basicTypes, error) {
	b := btf.NewBuilder(nil)
	t := &basicTypes{byName: map[string]btf.ID{}}
	add := func(size uint32, enc uint8, name string, also ...string) {
		id := b.Int(name, size, enc)
		for _, n := range append(also, name) {
			t.byName[n] = id
		}
	}
	long := uint32(ptr)
	// The first INT with a spelling of long decides the pointer size, so it comes first.
	add(long, btf.IntSigned, "long", "long int", "signed long")
	add(long, 0, "unsigned long", "long unsigned", "long unsigned int", "unsigned long int")
	add(1, btf.IntSigned|btf.IntChar, "char", "signed char")
	add(1, 0, "unsigned char", "u8", "__u8", "uint8_t")
	add(1, btf.IntBool, "bool", "_Bool")
	add(2, btf.IntSigned, "short", "short int", "s16", "__s16", "int16_t")
	add(2, 0, "unsigned short", "short unsigned int", "u16", "__u16", "uint16_t")
	add(4, btf.IntSigned, "int", "signed", "signed int", "s32", "__s32", "int32_t")
	add(4, 0, "unsigned int", "unsigned", "u32", "__u32", "uint32_t")
	add(8, btf.IntSigned, "long long", "long long int", "s64", "__s64", "int64_t")
	add(8, 0, "unsigned long long", "long long unsigned int", "u64", "__u64", "uint64_t")
	add(1, btf.IntSigned, "s8", "__s8", "int8_t")
	t.byName["void"] = 0
	var err error
	t.spec, err = b.Spec(order)
	return t, err
}

func (b *basicTypes) Named(name string) Type { return Type{Spec: b.spec, ID: b.byName[name]} }
