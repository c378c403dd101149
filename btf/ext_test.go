package btf

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// extSample makes BTF with strings for .BTF.ext, and returns their offsets.
func extSample(t testing.TB, bo binary.ByteOrder) (*Spec, map[string]uint32) {
	b := NewBuilder(nil)
	for _, name := range []string{"kprobe/x", "a.c", "int x;", "0:1"} {
		b.Add(Type{Kind: KindFwd, Name: name})
	}
	raw, err := b.Marshal(bo)
	require.NoError(t, err)
	s, err := Parse(raw, nil)
	require.NoError(t, err)
	offs := make(map[string]uint32)
	for i, o := range s.offs {
		offs[s.Name(ID(i+1))] = u32(s.types[o:])
	}
	return s, offs
}

type extPart struct {
	rec   uint32
	words [][]uint32
	sec   uint32
	empty bool
}

// buildExt makes .BTF.ext with one section in each part.
func buildExt(bo binary.ByteOrder, hdrLen uint32, parts ...extPart) []byte {
	a := bo.(binary.AppendByteOrder)
	var body []byte
	var table [][2]uint32
	for _, p := range parts {
		start := uint32(len(body))
		if !p.empty {
			body = a.AppendUint32(body, p.rec)
			body = a.AppendUint32(body, p.sec)
			body = a.AppendUint32(body, uint32(len(p.words)))
			for _, rec := range p.words {
				for i := range p.rec / 4 {
					w := uint32(0xdddddddd)
					if int(i) < len(rec) {
						w = rec[i]
					}
					body = a.AppendUint32(body, w)
				}
			}
		}
		table = append(table, [2]uint32{start, uint32(len(body)) - start})
	}
	out := a.AppendUint16(nil, magic)
	out = append(out, 1, 0)
	out = a.AppendUint32(out, hdrLen)
	for _, e := range table {
		if uint32(len(out)) < hdrLen {
			out = a.AppendUint32(a.AppendUint32(out, e[0]), e[1])
		}
	}
	for uint32(len(out)) < hdrLen {
		out = append(out, 0)
	}
	return append(out, body...)
}

func TestParseExt(t *testing.T) {
	for _, bo := range orders {
		s, o := extSample(t, bo)
		funcs := extPart{rec: 8, sec: o["kprobe/x"], words: [][]uint32{{0, 1}, {16, 2}}}
		lines := extPart{rec: 20, sec: o["kprobe/x"], words: [][]uint32{{8, o["a.c"], o["int x;"], 7<<10 | 14}}}
		core := extPart{rec: 24, sec: o["kprobe/x"], words: [][]uint32{{24, 3, o["0:1"], 2}}}
		e, err := ParseExt(buildExt(bo, 32, funcs, lines, core), s)
		require.NoError(t, err)
		assert.Equal(t, bo, e.ByteOrder)
		assert.Equal(t, []ExtSection[FuncInfo]{{"kprobe/x", []FuncInfo{{0, 1}, {16, 2}}}}, e.Funcs)
		require.Len(t, e.Lines, 1)
		assert.Equal(t, "kprobe/x", e.Lines[0].Name)
		assert.Equal(t, []LineInfo{{8, "a.c", "int x;", 7, 14}}, e.Lines[0].All())
		assert.EqualValues(t, 8, e.Lines[0].InsnOff(0))
		assert.Equal(t, []ExtSection[CORERelo]{{"kprobe/x", []CORERelo{{24, 3, "0:1", 2}}}}, e.CORE)

		e, err = ParseExt(buildExt(bo, 24, extPart{empty: true}, lines, core), s)
		require.NoError(t, err)
		assert.Empty(t, e.Funcs)
		assert.Len(t, e.Lines, 1)
		assert.Empty(t, e.CORE, "the header has no room for it")

		e, err = ParseExt(buildExt(bo, 48, funcs, lines, core), s)
		require.NoError(t, err)
		assert.Len(t, e.CORE, 1)
	}
}

func TestParseExtErrors(t *testing.T) {
	bo := binary.LittleEndian
	s, o := extSample(t, bo)
	sec := o["a.c"]
	good := buildExt(bo, 32, extPart{rec: 8, sec: sec, words: [][]uint32{{0, 1}}}, extPart{empty: true}, extPart{empty: true})
	_, err := ParseExt(good, s)
	require.NoError(t, err)
	one := func(p extPart) []byte { return buildExt(bo, 32, p, extPart{empty: true}, extPart{empty: true}) }
	for name, tt := range map[string]struct {
		raw  []byte
		want error
	}{
		"empty":         {nil, ErrTruncated},
		"magic":         {make([]byte, 40), ErrExt},
		"version":       {edit(good, func(b []byte) []byte { b[2] = 3; return b }), ErrVersion},
		"header length": {edit(good, func(b []byte) []byte { b[4] = 8; return b }), ErrExt},
		"long header":   {edit(good, func(b []byte) []byte { b[6] = 8; return b }), ErrTruncated},
		"cut":           {good[:len(good)-1], ErrTruncated},
		"record size":   {one(extPart{rec: 4, sec: sec, words: [][]uint32{{0}}}), ErrExt},
		"no records":    {one(extPart{rec: 8, sec: sec}), ErrExt},
		"section name":  {one(extPart{rec: 8, sec: 9999, words: [][]uint32{{0, 1}}}), ErrBadString},
		"type id":       {one(extPart{rec: 8, sec: sec, words: [][]uint32{{0, 77}}}), ErrExt},
		"many records":  {edit(good, func(b []byte) []byte { bo.PutUint32(b[40:], 1<<31); return b }), ErrTruncated},
		"unaligned":     {edit(good, func(b []byte) []byte { b[8] = 2; return b }), ErrExt},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseExt(tt.raw, s)
			assert.ErrorIs(t, err, tt.want)
		})
	}
}

// TestParseExtCorpus reads .BTF.ext of objects from distribution packages.
func TestParseExtCorpus(t *testing.T) {
	n := 0
	for _, f := range corpus(t, "objects/*/*/*.o") {
		data, err := os.ReadFile(f)
		require.NoError(t, err)
		secs, _, err := elfSections(bytes.NewReader(data), int64(len(data)), ".BTF", ".BTF.ext")
		require.NoError(t, err, f)
		if secs[0] == nil || secs[1] == nil {
			continue
		}
		s, err := Parse(secs[0], nil)
		require.NoError(t, err, f)
		e, err := ParseExt(secs[1], s)
		require.NoError(t, err, f)
		for _, sec := range e.Funcs {
			for _, r := range sec.Records {
				assert.Equal(t, KindFunc, s.Kind(r.TypeID), f)
			}
		}
		for _, sec := range e.CORE {
			for _, r := range sec.Records {
				assert.Less(t, r.Kind, uint32(13), f)
				assert.NotEmpty(t, r.Access, f)
			}
		}
		n++
	}
	assert.Positive(t, n)
}
