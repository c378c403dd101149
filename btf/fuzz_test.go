package btf

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"testing"
)

// fuzzSeeds adds the sample in both byte orders, with some bytes changed.
func fuzzSeeds(f *testing.F, add func(raw []byte)) {
	for _, bo := range orders {
		s, _ := buildSample(f, bo)
		add(s.Raw())
		for _, at := range []int{4, 12, 24 + 7, 24 + 11, 60, 200, 300} {
			add(edit(s.Raw(), func(b []byte) []byte { b[at] ^= 0x11; return b }))
		}
	}
}

// use calls whatever walks types, for every id.
func use(s *Spec) {
	data := make([]byte, 100)
	for id := range ID(min(s.NumTypes(), 300)) {
		t := s.MustType(id)
		s.TypeString(id)
		s.Signature(id)
		_, _ = s.Sizeof(id)
		s.SkipMods(id)
		s.FieldAt(id, 3, 4)
		s.MemberNames(id)
		_, _ = s.ResolvePath(id, "a.b[1].c")
		s.Named(EssentialName(t.Name))
		s.EnumValue("", "x")
		s.FormatString(id, data)
		_, _ = json.Marshal(s.FormatJSON(id, data))
	}
	_ = DumpRaw(io.Discard, s)
	_ = DumpC(io.Discard, s, nil)
}

func FuzzParse(f *testing.F) {
	fuzzSeeds(f, func(raw []byte) { f.Add(raw) })
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := Parse(raw, nil)
		if err != nil {
			return
		}
		use(s)
		b := NewBuilder(nil)
		b.AddSpec(s)
		again, err := b.Spec(s.ByteOrder())
		if err != nil {
			t.Fatalf("valid BTF can not be built: %v", err)
		}
		if again.NumTypes() != s.NumTypes() {
			t.Fatalf("%d types became %d", s.NumTypes(), again.NumTypes())
		}
		if split, err := Parse(raw, s); err == nil {
			use(split)
			_, _ = Relocate(split, s)
		}
	})
}

func FuzzLoad(f *testing.F) {
	s, _ := buildSample(f, binary.LittleEndian)
	f.Add(s.Raw())
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	f.Add(buildELF(2, binary.LittleEndian, section{".BTF", s.Raw()}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := LoadBytes("fuzz", data, nil); err == nil {
			_ = DumpRaw(io.Discard, s)
		}
	})
}

func FuzzParseExt(f *testing.F) {
	s, o := extSample(f, binary.LittleEndian)
	part := extPart{rec: 16, sec: o["a.c"], words: [][]uint32{{0, o["0:1"], o["0:1"], 1}}}
	for _, bo := range orders {
		f.Add(buildExt(bo, 32, extPart{rec: 8, sec: 1, words: [][]uint32{{0, 1}}}, part, part))
		f.Add(buildExt(bo, 24, extPart{empty: true}, part))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if e, err := ParseExt(raw, s); err == nil && len(e.Funcs)+len(e.Lines)+len(e.CORE) > len(raw) {
			t.Fatal("more sections than bytes")
		}
	})
}

func FuzzFormat(f *testing.F) {
	s, x := buildSample(f, binary.BigEndian)
	f.Add(uint32(x.task), make([]byte, 88), "pid", taskText)
	f.Add(uint32(x.flags), []byte{1, 2, 3}, "bits.a", "[1, 2 <x 3>]")
	f.Add(uint32(x.point), []byte("12345678"), "[3].x", "{x = 1, y: -2}")
	f.Fuzz(func(t *testing.T, n uint32, data []byte, path, text string) {
		id := ID(n % uint32(s.NumTypes()))
		s.FormatString(id, data)
		if _, err := json.Marshal(s.FormatJSON(id, data)); err != nil {
			t.Fatal(err)
		}
		if v, err := s.DecodeValue(id, data, DecodeOptions{}); err == nil {
			_ = s.EncodeValue(id, v, make([]byte, len(data)))
		}
		_, _ = s.ResolvePath(id, path)
		_ = s.EncodeText(id, text, append([]byte(nil), data...))
	})
}
