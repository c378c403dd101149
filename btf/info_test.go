package btf

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/ceiling"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
)

func TestInfoHoldsItsParts(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		vlen int
		flag bool
		want Info
	}{
		{KindStruct, 3, false, 0x04000003}, {KindStruct, 0xffff, true, 0x8400ffff}, {KindEnum64, 0x10000, false, 0x13010000},
		{KindUnion, MaxVlen, true, 0x85ffffff}, {0x7f, 0, false, 0x7f000000},
	} {
		i := MakeInfo(c.kind, c.vlen, c.flag)
		assert.Equal(t, c.want, i)
		assert.Equal(t, c.kind, i.Kind())
		assert.EqualValues(t, c.vlen, i.Vlen())
		assert.Equal(t, c.flag, i.Flag())
	}
}

// The last vlen of kernels before 7.2 and the first of newer ones, written and read again.
func TestVlenMayBeWide(t *testing.T) {
	for _, n := range []int{0xffff, 0x10000} {
		for _, bo := range orders {
			b := NewBuilder(nil)
			values := make([]Enumerator, n)
			for i := range values {
				values[i] = Enumerator{Name: "A", Value: uint64(i)}
			}
			b.Add(Type{Kind: KindEnum, Name: "e", Size: 4, Values: values})
			last := b.Int("int", 4, IntSigned)
			s, err := b.Spec(bo)
			require.NoError(t, err)
			got := s.MustType(1).Values
			require.Len(t, got, n)
			assert.EqualValues(t, n-1, got[n-1].Value)
			assert.Equal(t, KindInt, s.Kind(last), "the type after it is found")
		}
	}
}

// rawType is BTF with one type that claims vlen entries and has as many zero bytes after it as
// asked for.
func rawType(info Info, body int) []byte {
	le := binary.LittleEndian
	out := make([]byte, headerSize+typeSize, headerSize+typeSize+body+1)
	le.PutUint16(out, magic)
	out[2] = 1
	for i, v := range []uint32{headerSize, 0, uint32(typeSize + body), uint32(typeSize + body), 1} {
		le.PutUint32(out[4+4*i:], v)
	}
	le.PutUint32(out[headerSize+4:], uint32(info))
	le.PutUint32(out[headerSize+8:], 4)
	return out[:cap(out)]
}

// A vlen is believed only as far as there are bytes.
func TestVlenWithoutBytesIsRefused(t *testing.T) {
	for _, kind := range []Kind{KindStruct, KindUnion, KindEnum, KindEnum64, KindFuncProto, KindDatasec} {
		for _, vlen := range []int{0xffff, 0x10000, MaxVlen} {
			raw := rawType(MakeInfo(kind, vlen, false), 64)
			ceiling.Check(t, 1<<20, func() {
				_, err := Parse(raw, nil)
				assert.ErrorIs(t, err, ErrTruncated, "%s %d", kind, vlen)
			})
		}
	}
}

func TestWidestVlenIsRead(t *testing.T) {
	if !testsize.Long() {
		t.Skip("128 MB; BPFRUN_LONG=1 runs it (make test-long)")
	}
	s, err := Parse(rawType(MakeInfo(KindEnum, MaxVlen, false), 8*MaxVlen), nil)
	require.NoError(t, err)
	ceiling.Check(t, 1<<30, func() { assert.Len(t, s.MustType(1).Values, MaxVlen) })
	_, err = Parse(rawType(MakeInfo(KindEnum, MaxVlen, false), 8*MaxVlen-1), nil)
	assert.ErrorIs(t, err, ErrTruncated)
}

// Kinds have 7 bits: those that 5 bits would take for known ones are unknown.
func TestKindsAreNotCutOff(t *testing.T) {
	for _, kind := range []Kind{kindCount, 0x20 | KindInt, 0x40 | KindInt, 0x7f} {
		_, err := Parse(rawType(MakeInfo(kind, 0, false), 4), nil)
		assert.ErrorIs(t, err, ErrUnknownKind, kind)
	}
}
