package bpfsys_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Row F26 of the features, the kernel API of BTF (btf.rst chapter 3): a map and a program are made
// with BTF that was loaded, and from nothing but ids a reader comes back to its bytes, and to the
// function and line information, as bpftool does.
func TestF26BTFSystemCalls(t *testing.T) {
	const btfByID, btfNextID = 19, 23
	b := btf.NewBuilder(nil)
	num := b.Int("int", 4, btf.IntSigned)
	pair := b.Struct("pair", 8, btf.Member{Name: "a", Type: num}, btf.Member{Name: "b", Type: num, BitOffset: 32})
	proto := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: num, Params: []btf.Param{{Name: "ctx", Type: b.Ptr(0)}}})
	fn := b.Add(btf.Type{Kind: btf.KindFunc, Name: "main_prog", Ref: proto, Linkage: btf.LinkageGlobal})
	raw, err := b.Marshal(le)
	require.NoError(t, err)
	text := uint32(bytes.Index(raw, []byte("\x00main_prog\x00")) + 1 - 24 - int(le.Uint32(raw[16:])))
	words := func(v ...uint32) []byte {
		var out []byte
		for _, w := range v {
			out = le.AppendUint32(out, w)
		}
		return out
	}

	k := newTask(t)
	btfFD, e, _ := k.call(btfLoad, field{0, k.put(raw)}, field{16, len(raw)}, field{24, 0})
	require.Zero(t, e)
	m, e := k.createMap(uapi.MapTypeArray, 4, 8, 1, 0, field{48, int(btfFD)}, field{52, int(num)}, field{56, int(pair)})
	require.Zero(t, e)
	_, e = k.createMap(uapi.MapTypeArray, 4, 16, 1, 0, field{48, int(btfFD)}, field{52, int(num)}, field{56, int(pair)})
	assert.Equal(t, uapi.EINVAL, e, "the value is larger than its type")

	funcs, lines := words(0, uint32(fn)), words(0, text, text, 7<<10|3)
	debug := []field{{72, int(btfFD)}, {76, 8}, {80, k.put(funcs)}, {88, 1}, {92, 16}, {96, k.put(lines)}, {104, 1}}
	p, e := k.load(uapi.ProgTypeXDP, exitZero, debug...)
	require.Zero(t, e, "%v", k.notes)
	_, e = k.load(uapi.ProgTypeXDP, exitZero, append(debug, field{80, k.put(words(0, uint32(pair)))})...)
	assert.Equal(t, uapi.EINVAL, e, "function information that leads to a struct")

	// The descriptor of the BTF goes; map and program keep it.
	k.close(btfFD)
	open := func(cmd uint32, id int) int64 {
		fd, e, _ := k.call(cmd, field{0, id}, field{8, 0})
		require.Zero(t, e)
		return fd
	}
	info := func(fd int64, size int, prepare func(at uint64)) []byte {
		at := k.room(size)
		prepare(at)
		_, e, _ := k.call(infoByFD, field{0, int(fd)}, field{4, size}, field{8, at})
		require.Zero(t, e)
		return k.at(at, size)
	}
	last := func(cmd uint32) (id int) {
		for {
			_, e, a := k.call(cmd, field{0, id}, field{8, 0})
			if e == uapi.ENOENT {
				return id
			}
			require.Zero(t, e)
			id = int(le.Uint32(a[4:]))
		}
	}
	mapInfo := info(open(mapByID, last(mapNextID)), 88, func(uint64) {})
	id := last(btfNextID) // the kernel's own come first
	assert.Equal(t, []uint32{uint32(id), uint32(num), uint32(pair)}, []uint32{le.Uint32(mapInfo[64:]), le.Uint32(mapInfo[68:]), le.Uint32(mapInfo[72:])})

	progFD := open(progByID, last(progNextID))
	gotFuncs, gotLines := k.room(8), k.room(16)
	progInfo := info(progFD, 232, func(at uint64) {
		le.PutUint32(k.at(at+132, 4), 8)
		le.PutUint64(k.at(at+136, 8), gotFuncs)
		le.PutUint32(k.at(at+144, 4), 1)
		le.PutUint32(k.at(at+148, 4), 1)
		le.PutUint64(k.at(at+152, 8), gotLines)
		le.PutUint32(k.at(at+172, 4), 16)
	})
	assert.Equal(t, uint32(id), le.Uint32(progInfo[128:]))
	assert.Equal(t, funcs, k.at(gotFuncs, 8))
	assert.Equal(t, lines, k.at(gotLines, 16))

	room := k.room(len(raw))
	btfInfo := info(open(btfByID, id), 16, func(at uint64) {
		le.PutUint64(k.at(at, 8), room)
		le.PutUint32(k.at(at+8, 4), uint32(len(raw)))
	})
	assert.Equal(t, []uint32{uint32(len(raw)), uint32(id)}, []uint32{le.Uint32(btfInfo[8:]), le.Uint32(btfInfo[12:])})
	assert.Equal(t, raw, k.at(room, len(raw)))
	spec, err := btf.Parse(k.at(room, len(raw)), nil)
	require.NoError(t, err)
	assert.Equal(t, "main_prog", spec.Name(btf.ID(le.Uint32(k.at(gotFuncs+4, 4)))))
	k.close(p)
	k.close(m)
	_, e, _ = k.call(btfByID, field{0, 77777}, field{8, 0})
	assert.Equal(t, uapi.ENOENT, e)
}
