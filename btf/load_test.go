package btf

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type section struct {
	name string
	data []byte
}

// buildELF makes an ELF file with some sections.
func buildELF(class elf.Class, bo binary.ByteOrder, secs ...section) []byte {
	a := bo.(binary.AppendByteOrder)
	names := []byte{0}
	data := elf.ELFDATA2LSB
	if bo == binary.BigEndian {
		data = elf.ELFDATA2MSB
	}
	ehsize, shsize := 64, 64
	if class == elf.ELFCLASS32 {
		ehsize, shsize = 52, 40
	}
	word := func(b []byte, v uint64) []byte {
		if class == elf.ELFCLASS32 {
			return a.AppendUint32(b, uint32(v))
		}
		return a.AppendUint64(b, v)
	}
	var body, heads []byte
	head := func(name string, typ uint32, content []byte) {
		at := 0
		if name != "" {
			at = len(names)
			names = append(append(names, name...), 0)
		}
		if name == ".shstrtab" {
			content = names
		}
		heads = a.AppendUint32(heads, uint32(at))
		heads = a.AppendUint32(heads, typ)
		heads = word(word(heads, 0), 0)
		heads = word(heads, uint64(ehsize+len(body)))
		heads = word(heads, uint64(len(content)))
		heads = a.AppendUint32(a.AppendUint32(heads, 0), 0)
		heads = word(word(heads, 1), 0)
		body = append(body, content...)
	}
	head("", 0, nil)
	for _, s := range secs {
		head(s.name, uint32(elf.SHT_PROGBITS), s.data)
	}
	head(".shstrtab", uint32(elf.SHT_STRTAB), nil)
	out := append([]byte(elf.ELFMAG), byte(class), byte(data), 1)
	out = append(out, make([]byte, 9)...)
	out = a.AppendUint16(out, uint16(elf.ET_REL))
	out = a.AppendUint16(out, uint16(elf.EM_BPF))
	out = a.AppendUint32(out, 1)
	out = word(word(out, 0), 0)
	out = word(out, uint64(ehsize+len(body)))
	out = a.AppendUint32(out, 0)
	for _, v := range []int{ehsize, 0, 0, shsize, len(secs) + 2, len(secs) + 1} {
		out = a.AppendUint16(out, uint16(v))
	}
	return append(append(out, body...), heads...)
}

func TestLoadRawAndELF(t *testing.T) {
	s, x := buildSample(t, binary.LittleEndian)
	raw := s.Raw()
	for name, data := range map[string][]byte{
		"raw": raw, "elf": buildELF(elf.ELFCLASS64, binary.LittleEndian, section{".text", []byte{1}}, section{".BTF", raw}),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := LoadBytes("x", data, nil)
			require.NoError(t, err)
			assert.Equal(t, "task", got.Name(x.task))
			assert.Equal(t, "x", got.SourceName())
			path := filepath.Join(t.TempDir(), "odd-name")
			require.NoError(t, os.WriteFile(path, data, 0o644))
			got, err = Load(path, nil)
			require.NoError(t, err)
			assert.Equal(t, "task", got.Name(x.task))
			assert.Equal(t, path, got.SourceName())
			for _, n := range []int{len(data) / 2, len(data) - 1, 10, 3, 0} {
				_, err = LoadBytes("cut", data[:n], nil)
				assert.Error(t, err, "cut to %d", n)
				require.NoError(t, os.WriteFile(path, data[:n], 0o644))
				_, err = Load(path, nil)
				assert.Error(t, err, "cut to %d", n)
			}
		})
	}
}

func TestLoadErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		data []byte
		want error
	}{
		"text":       {[]byte("#!/bin/sh\n"), ErrNotBTF},
		"compressed": {[]byte("\x1f\x8b\x08\x00nothing here unpacks it"), ErrNotBTF},
		"no section": {buildELF(elf.ELFCLASS64, binary.LittleEndian, section{".text", nil}), ErrNoBTF},
		"elf magic":  {[]byte("\x7fELF"), ErrHeader},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadBytes(name, tt.data, nil)
			require.ErrorIs(t, err, tt.want)
			assert.ErrorContains(t, err, name)
			path := filepath.Join(t.TempDir(), name)
			require.NoError(t, os.WriteFile(path, tt.data, 0o644))
			_, err = Load(path, nil)
			require.ErrorIs(t, err, tt.want)
			assert.ErrorContains(t, err, name)
		})
	}
	_, err := Load(filepath.Join(t.TempDir(), "none"), nil)
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = Load(t.TempDir(), nil)
	assert.Error(t, err)
}

func TestLoadELF32(t *testing.T) {
	b := NewBuilder(nil)
	p := b.Ptr(0)
	raw, err := b.Marshal(binary.BigEndian)
	require.NoError(t, err)
	s, err := LoadBytes("vmlinux", buildELF(elf.ELFCLASS32, binary.BigEndian, section{".BTF", raw}), nil)
	require.NoError(t, err)
	n, err := s.Sizeof(p)
	require.NoError(t, err)
	assert.EqualValues(t, 4, n)
}

// TestRelocate is the worked example of btf.rst 4.4.
func TestRelocate(t *testing.T) {
	foo := func(b *Builder, i ID, members bool) ID {
		if !members {
			return b.Add(Type{Kind: KindStruct, Name: "foo", Size: 8})
		}
		return b.Struct("foo", 8, Member{Name: "f1", Type: i}, Member{Name: "f2", Type: i, BitOffset: 32})
	}
	for _, bo := range orders {
		d := NewBuilder(nil)
		foo(d, d.Int("int", 4, IntSigned), false)
		dist, err := d.Spec(bo)
		require.NoError(t, err)
		sb := NewBuilder(dist)
		sb.Ptr(2)
		sb.Struct("holder", 16, Member{Name: "p", Type: 3}, Member{Name: "foo", Type: 2, BitOffset: 64})
		split, err := sb.Spec(bo)
		require.NoError(t, err)

		n := NewBuilder(nil)
		n.Int("long unsigned int", 8, 0)
		foo(n, n.Int("int", 4, IntSigned), true)
		base, err := n.Spec(bo)
		require.NoError(t, err)

		object := buildELF(elf.ELFCLASS64, bo, section{".BTF", split.Raw()}, section{".BTF.base", dist.Raw()})
		alone, err := LoadBytes("mod.ko", object, nil)
		require.NoError(t, err)
		require.NotNil(t, alone.DistilledBase())
		assert.Equal(t, "struct foo *", alone.TypeString(3))

		moved, err := LoadBytes("mod.ko", object, base)
		require.NoError(t, err)
		assert.Nil(t, moved.DistilledBase())
		assert.Same(t, base, moved.Base())
		assert.EqualValues(t, 4, moved.FirstID())
		assert.Equal(t, &Type{ID: 4, Kind: KindPtr, Ref: 3}, moved.MustType(4))
		f, err := moved.ResolvePath(5, "foo.f2")
		require.NoError(t, err)
		assert.EqualValues(t, 12, f.Offset())
	}
}

func TestRelocateRules(t *testing.T) {
	intOf := func(size uint32, enc uint8) Type {
		return Type{Kind: KindInt, Name: "n", Size: size, Int: IntInfo{Encoding: enc, Bits: uint8(size * 8)}}
	}
	st := func(k Kind, size uint32, flag bool) Type { return Type{Kind: k, Name: "n", Size: size, Flag: flag} }
	for _, tt := range []struct {
		name  string
		old   Type
		bases []Type
		embed bool
		want  ID
	}{
		{"int", intOf(4, 1), []Type{intOf(4, 0), intOf(4, 1)}, false, 2},
		{"int size", intOf(4, 1), []Type{intOf(8, 1)}, false, 0},
		{"float", Type{Kind: KindFloat, Name: "n", Size: 8}, []Type{{Kind: KindFloat, Name: "n", Size: 8}}, false, 1},
		{"enum64", Type{Kind: KindEnum64, Name: "n", Size: 8}, []Type{{Kind: KindEnum, Name: "n", Size: 8}}, false, 1},
		{"other size behind a pointer", st(KindStruct, 8, false), []Type{st(KindStruct, 16, false)}, false, 1},
		{"other size embedded", st(KindStruct, 8, false), []Type{st(KindStruct, 16, false)}, true, 0},
		{"one of several by size", st(KindStruct, 8, false), []Type{st(KindStruct, 16, false), st(KindStruct, 8, false)}, false, 2},
		{"two of the same size", st(KindStruct, 8, false), []Type{st(KindStruct, 8, false), st(KindStruct, 8, false)}, false, 0},
		{"union is not a struct", st(KindStruct, 8, false), []Type{st(KindUnion, 8, false)}, false, 0},
		{"fwd to struct", Type{Kind: KindFwd, Name: "n"}, []Type{st(KindStruct, 8, false)}, false, 1},
		{"fwd to struct with bitfields", Type{Kind: KindFwd, Name: "n"}, []Type{st(KindStruct, 8, true)}, false, 0},
		{"fwd", Type{Kind: KindFwd, Name: "n", Flag: true}, []Type{{Kind: KindFwd, Name: "n"}, {Kind: KindFwd, Name: "n", Flag: true}}, false, 2},
		{"nothing", st(KindStruct, 8, false), nil, false, 0},
		{"anonymous", Type{Kind: KindPtr}, []Type{{Kind: KindPtr}}, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := NewBuilder(nil)
			d.Add(tt.old)
			dist, err := d.Spec(binary.LittleEndian)
			require.NoError(t, err)
			sb := NewBuilder(dist)
			if sb.Ptr(1); tt.embed {
				sb.Struct("s", 8, Member{Name: "m", Type: 1})
			}
			split, err := sb.Spec(binary.LittleEndian)
			require.NoError(t, err)
			n := NewBuilder(nil)
			for _, b := range tt.bases {
				n.Add(b)
			}
			base, err := n.Spec(binary.LittleEndian)
			require.NoError(t, err)
			s, err := Relocate(split, base)
			if tt.want == 0 {
				require.ErrorIs(t, err, ErrRelocate)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, s.MustType(s.FirstID()).Ref)
		})
	}
	s, _ := buildSample(t, binary.LittleEndian)
	_, err := Relocate(s, s)
	assert.ErrorIs(t, err, ErrRelocate)
}
