package bpfattr

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// memory records what is written.
type memory map[uint64][]byte

func (m memory) Write(addr uint64, b []byte) bool {
	m[addr] = b
	return addr != 0x1004 // the second word of the union cannot be written
}

// counted is a union each of whose bytes has another value.
func counted(m Memory) *Union {
	raw := make([]byte, Max)
	for i := range raw {
		raw[i] = byte(i + 0x81)
	}
	return New(raw, m, 0x1000, 40)
}

// read calls the methods of a view that are named like a field and the structs around it.
func read(t *testing.T, view reflect.Value, path []string) reflect.Value {
	t.Helper()
	for _, name := range path {
		method := view.MethodByName(goName(name))
		require.True(t, method.IsValid(), "%s has no method for %s", view.Type(), name)
		view = method.Call(nil)[0]
	}
	return view
}

func goName(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

func checkReads[V any](t *testing.T, p Part[V], named bool) {
	for _, f := range p.Fields {
		path := strings.Split(f.Name, ".")
		if named {
			path = path[1:]
		}
		got := read(t, reflect.ValueOf(p.View(counted(nil))), path)
		want := make([]byte, f.Size)
		for i := range want {
			want[i] = byte(int(f.At) + i + 0x81)
		}
		switch got.Kind() {
		case reflect.Slice:
			assert.Equal(t, want, got.Bytes(), f.Name)
		case reflect.Int32:
			require.EqualValues(t, 4, f.Size, f.Name)
			assert.Equal(t, int64(int32(le.Uint32(want))), got.Int(), f.Name)
		case reflect.Uint32:
			require.EqualValues(t, 4, f.Size, f.Name)
			assert.Equal(t, uint64(le.Uint32(want)), got.Uint(), f.Name)
		case reflect.Uint64:
			require.EqualValues(t, 8, f.Size, f.Name)
			assert.Equal(t, le.Uint64(want), got.Uint(), f.Name)
		default:
			t.Errorf("%s is read as %s", f.Name, got.Type())
		}
	}
}

// TestFieldsAreReadWhereTheyAre: every field has a method, which reads its bytes and no others.
func TestFieldsAreReadWhereTheyAre(t *testing.T) {
	checkReads(t, MapCreatePart, false)
	checkReads(t, ElemPart, false)
	checkReads(t, BatchPart, true)
	checkReads(t, ProgLoadPart, false)
	checkReads(t, ObjPart, false)
	checkReads(t, AttachPart, false)
	checkReads(t, TestPart, true)
	checkReads(t, ObjectIDPart, false)
	checkReads(t, InfoPart, true)
	checkReads(t, QueryPart, true)
	checkReads(t, RawTracepointPart, true)
	checkReads(t, BtfLoadPart, false)
	checkReads(t, TaskFdQueryPart, true)
	checkReads(t, LinkCreatePart, true)
	checkReads(t, LinkUpdatePart, true)
	checkReads(t, LinkDetachPart, true)
	checkReads(t, EnableStatsPart, true)
	checkReads(t, IterCreatePart, true)
	checkReads(t, ProgBindMapPart, true)
	checkReads(t, TokenCreatePart, true)
	checkReads(t, ProgStreamReadPart, true)
	checkReads(t, ProgAssocStructOpsPart, true)
	assert.Len(t, parts(), 22, "a struct is new: check it as well")
}

func TestDescriptorsAreSigned(t *testing.T) {
	u := New([]byte{0xff, 0xff, 0xff, 0xff}, nil, 0, 4)
	assert.Equal(t, int32(-1), ElemPart.View(u).MapFd())
	assert.Equal(t, ^uint32(0), ObjectIDPart.View(u).StartId())
	assert.Zero(t, ElemPart.View(u).Flags(), "what the caller did not pass is 0")
}

func TestFieldsAreWrittenToTheCaller(t *testing.T) {
	m := memory{}
	u := counted(m)
	test := TestPart.View(u)
	before := test.Duration()
	assert.True(t, test.PutDuration(7))
	assert.False(t, test.PutRetval(9))
	assert.True(t, QueryPart.View(u).PutRevision(3))
	assert.Equal(t, memory{0x1004: {9, 0, 0, 0}, 0x1024: {7, 0, 0, 0}, 0x1038: {3, 0, 0, 0, 0, 0, 0, 0}}, m)
	assert.Equal(t, before, test.Duration(), "the copy stays what the caller passed")
}

func TestOptionalFieldsNeedRoom(t *testing.T) {
	for _, c := range []struct {
		size                 int
		btf, prog, revisions bool
	}{
		{28, false, false, false}, {31, false, false, false}, {32, true, false, false}, {63, true, false, false}, {64, true, false, true},
		{143, true, false, true}, {144, true, true, true},
	} {
		u := New(nil, nil, 0, c.size)
		assert.Equal(t, c.btf, BtfLoadPart.View(u).HasBtfLogTrueSize(), c.size)
		assert.Equal(t, c.prog, ProgLoadPart.View(u).HasLogTrueSize(), c.size)
		assert.Equal(t, c.revisions, QueryPart.View(u).HasRevision(), c.size)
	}
}

func TestZeroFrom(t *testing.T) {
	u := New([]byte{0, 0, 1, 0}, nil, 0, 4)
	assert.False(t, u.ZeroFrom(2))
	assert.True(t, u.ZeroFrom(3))
	assert.True(t, u.ZeroFrom(Max))
}

// TestWhatACommandKnowsOfAStruct: only the named fields count, and one of them may come later than
// in the struct.
func TestWhatACommandKnowsOfAStruct(t *testing.T) {
	old, newer := uapi.R(5, 13), uapi.R(5, 14)
	p := ElemPart.Only("map_fd", "key", "flags").Later("flags", newer)
	assert.Equal(t, 16, End(p.Fields, old))
	assert.Equal(t, 32, End(p.Fields, newer))
	assert.Equal(t, 32, End(ElemPart.Fields, old), "other commands know the field in all releases")
	assert.Equal(t, uapi.Release(0), Since(p.Fields))
	assert.Equal(t, newer, Since(p.Only("flags").Fields))
	assert.Panics(t, func() { ElemPart.Only("no_such_field") })
}
