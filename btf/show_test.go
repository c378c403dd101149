package btf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shownBytes are memory from address 0x1000 on.
type shownBytes struct {
	data []byte
	text strings.Builder
}

var errShown = errors.New("no memory")

func (s *shownBytes) ReadShown(addr uint64, p []byte) error {
	if addr < 0x1000 || addr-0x1000+uint64(len(p)) > uint64(len(s.data)) {
		return errShown
	}
	copy(p, s.data[addr-0x1000:])
	return nil
}

func (s *shownBytes) PointerShown(addr uint64) uint64 { return addr & 0xff }
func (s *shownBytes) PutShown(piece string)           { s.text.WriteString(piece) }

// TestShow holds what recorded cases of kernels' own types do not have; the rest is in
// conformance/testdata/cases/showtypes.
func TestShow(t *testing.T) {
	b := NewBuilder(nil)
	u8, s32, u64 := b.Int("u8", 1, 0), b.Int("int", 4, IntSigned), b.Int("u64", 8, 0)
	bytes4 := b.Array(u8, s32, 4)
	grid := b.Array(bytes4, s32, 2)
	ptr := b.Ptr(0)
	ptrs := b.Array(ptr, s32, 2)
	small := b.Add(Type{Kind: KindEnum, Name: "small", Size: 1, Flag: true, Values: []Enumerator{{"ZERO", 0}, {"MINUS", ^uint64(0)}}})
	flag := b.Mod(KindConst, "", b.Mod(KindTypedef, "flag_t", b.Int("bool", 1, IntBool)))
	inner := b.Struct("inner", 8, Member{Name: "name", Type: bytes4}, Member{Name: "n", Type: s32, BitOffset: 32})
	list := b.Array(inner, s32, 2)
	fwd := b.Add(Type{Kind: KindFwd, Name: "later"})
	real := b.Add(Type{Kind: KindFloat, Name: "double", Size: 8})
	odd := b.Struct("odd", 16, Member{Name: "real", Type: real}, Member{Name: "n", Type: s32, BitOffset: 64})
	end := b.Struct("end", 36, Member{Name: "pad", Type: b.Array(u64, s32, 4)}, Member{Name: "e", Type: small, BitOffset: 8 * 30})
	old := b.Add(Type{Kind: KindInt, Name: "bits", Size: 4, Int: IntInfo{Offset: 3, Bits: 5}})
	variable := b.Add(Type{Kind: KindVar, Name: "v", Ref: s32, Linkage: LinkageGlobal})
	section := b.Add(Type{Kind: KindDatasec, Name: ".data", Size: 4, Vars: []VarSecinfo{{variable, 0, 4}}})
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		s, err := b.Spec(order)
		require.NoError(t, err)
		number := func(v uint32) []byte {
			p := make([]byte, 4)
			order.PutUint32(p, v)
			return p
		}
		bitfield := number(0xb8)
		if order == binary.BigEndian {
			bitfield = []byte{0x17, 0, 0, 0}
		}
		for _, tt := range []struct {
			name  string
			id    ID
			data  []byte
			flags ShowFlags
			want  string
			err   error
		}{
			{"number", s32, number(0xfffffff9), 0, "(int)-7\n", nil},
			{"number without name", s32, number(7), ShowNoName | ShowCompact, "7", nil},
			{"const typedef", flag, []byte{1}, ShowCompact, "()1", nil},
			{"old bitfield", old, bitfield, ShowCompact, "(bits)0x17", nil},
			{"text", bytes4, []byte("ab\x00d"), ShowCompact, "(u8[])['a','b',]", nil},
			{"text that does not end, with numbers", bytes4, []byte{'a', 1, 0x85, 0xa0}, ShowCompact, "(u8[])['a',1,133,'\xa0',]", nil},
			{"the first row again and again", grid, []byte("abcdefgh"), ShowCompact, "(u8[][])[(u8[])['a','b','c','d',],(u8[])['a','b','c','d',],]", nil},
			{"rows with zeros have no names and do not open", grid, []byte("abcdefgh"), ShowCompact | ShowZero, "(u8[][])['a','b','c','d',],'a','b','c','d',],]", nil},
			{"the first pointer again and again", ptrs, append(pointer(order, 0x1234), pointer(order, 0x5678)...), ShowCompact, "( *[])0x0000000000000034,0x0000000000000034,]", nil},
			{"raw pointer", ptr, pointer(order, 0x1234), ShowCompact | ShowPtrRaw, "( *)0x0000000000001234", nil},
			{"structs in an array", list, append([]byte("hi\x00\x00"), append(number(1), append([]byte{0, 0, 0, 0}, number(2)...)...)...), ShowCompact, "(struct inner[])[(struct inner){.name = (u8[])['h','i',],.n = (int)1,},(struct inner){.n = (int)2,},]", nil},
			{"unsupported kinds have no comma", odd, append(make([]byte, 8), append(number(3), 0, 0, 0, 0)...), ShowCompact, "(struct odd){<unsupported kind:16>.n = (int)3,}", nil},
			{"forward declaration", fwd, nil, 0, "<unsupported kind:7>", nil},
			{"variable", variable, number(5), ShowCompact, "(int)5", nil},
			{"section", section, number(5), 0, "", ErrUnsized},
			{"no memory", s32, nil, 0, "", errShown},
			{"part of the memory", end, make([]byte, 32), ShowCompact | ShowZero, "", ErrShow},
			{"no type", 1000, nil, 0, "", ErrBadID},
		} {
			t.Run(fmt.Sprintf("%v %s", order, tt.name), func(t *testing.T) {
				src := &shownBytes{data: tt.data}
				err := s.Show(tt.id, 0x1000, tt.flags, src)
				if tt.err != nil {
					require.ErrorIs(t, err, tt.err)
					return
				}
				require.NoError(t, err)
				assert.Equal(t, tt.want, src.text.String())
			})
		}
	}
}

func pointer(order binary.ByteOrder, v uint64) []byte {
	b := make([]byte, 8)
	order.PutUint64(b, v)
	return b
}

// TestShowEnds shows types that never end, or have more values than anybody waits for.
func TestShowEnds(t *testing.T) {
	b := NewBuilder(nil)
	n := b.Int("int", 4, 0)
	empty := b.Struct("empty", 0)
	many := b.Array(empty, n, 1<<31)
	self := b.NextID()
	b.Struct("self", 4, Member{Name: "me", Type: self})
	s, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	for _, id := range []ID{many, self} {
		for _, flags := range []ShowFlags{0, ShowZero} {
			assert.ErrorIs(t, s.Show(id, 0x1000, flags, &shownBytes{data: make([]byte, 64)}), ErrShow)
		}
	}
}
