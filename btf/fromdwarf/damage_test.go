package fromdwarf

import (
	"bytes"
	"debug/elf"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// madeOf converts the DWARF of a file. It returns a tab and a hash of the BTF, or the error.
func madeOf(b []byte) string {
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		return "no ELF file"
	}
	res, err := Make(f, Options{Features: DefaultFeatures | GlobalVar | TrueSignature})
	if err != nil {
		return "not made: " + err.Error()
	}
	h := fnv.New64a()
	fmt.Fprintln(h, res.Functions)
	if err := res.Types.Dedup(nil); err != nil {
		return "not deduplicated: " + err.Error()
	}
	raw, err := res.Types.Marshal(f.ByteOrder)
	if err != nil {
		return "not written: " + err.Error()
	}
	s, err := btf.Parse(raw, nil)
	if err != nil {
		return "not read: " + err.Error()
	}
	if err := btf.DumpRaw(h, s); err != nil {
		return "not dumped: " + err.Error()
	}
	return fmt.Sprintf("made\t%x", h.Sum64())
}

// TestDamagedDWARFIsToldInTheSameWords changes bytes of the sections with DWARF, one after the
// other, and compares what becomes of the types.
func TestDamagedDWARFIsToldInTheSameWords(t *testing.T) {
	var all rewrite.Outcomes
	for _, name := range []string{"gcc-4.o", "gcc-5.o", "clang-4.o", "clang-5.o", "lto.exe", "units-5.o", "opt-clang-5.exe.xz", "opt-gcc-5.exe.xz", "opt-s390x.exe.xz"} {
		good := file(t, name)
		if strings.HasSuffix(name, ".xz") {
			good = unpacked(t, name)
		}
		all.Add(name, madeOf(good))
		f, err := elf.NewFile(bytes.NewReader(good))
		require.NoError(t, err)
		for _, s := range f.Sections {
			if !strings.HasPrefix(s.Name, ".debug_") || s.Type == elf.SHT_NOBITS {
				continue
			}
			switch s.Name {
			case ".debug_line", ".debug_line_str", ".debug_frame", ".debug_aranges", ".debug_str": // texts, or not read
				continue
			}
			for i := 0; i < int(s.FileSize); i += 1 + int(s.FileSize)/150 {
				at := int(s.Offset) + i
				bad := bytes.Clone(good)
				bad[at] = [...]byte{bad[at] + 1, bad[at] - 1, 0, bad[at] ^ 0x80, 0xff, bad[at] ^ 2}[i%6]
				all.Ask(fmt.Sprintf("%s %s+%d", name, s.Name, i), func() string { return madeOf(bad) })
			}
		}
	}
	all.Compare(t, filepath.Join("testdata", "damage.txt"))
}

// TestDamagedHeadersAreToldInTheSameWords changes bytes of the ELF header and of section headers,
// and compares what becomes of the types, and of the file with one more section.
func TestDamagedHeadersAreToldInTheSameWords(t *testing.T) {
	var all rewrite.Outcomes
	for _, name := range []string{"units-4.o", "units-5.o", "s390x.o"} {
		good := file(t, name)
		f, err := elf.NewFile(bytes.NewReader(good))
		require.NoError(t, err)
		sections := int(f.ByteOrder.Uint64(good[40:]))
		places := make([]int, 0, 1000)
		for at := range 64 {
			places = append(places, at)
		}
		kind := func(at int) bool { return at >= sections && (at-sections)%64 == 4 } // sh_type
		for at := sections; at < min(len(good), sections+64*len(f.Sections)); at++ {
			if kind(at) || at%3 == 0 {
				places = append(places, at)
			}
		}
		for _, at := range places {
			for i, v := range []byte{good[at] + 1, good[at] - 1, 0, 0xff, 8} {
				if i != at%5 && at >= 64 && !kind(at) {
					continue
				}
				bad := bytes.Clone(good)
				bad[at] = v
				input := fmt.Sprintf("%s: byte %d, change %d", name, at, i)
				all.Ask(input, func() string { return madeOf(bad) })
				added, err := withSection(bad, ".more", []byte("content"))
				all.Add(input+", one more section", fmt.Sprintf("%v\t%x", err, added))
			}
		}
		for n := range 70 {
			_, err := withSection(good[:n], ".more", nil)
			all.Add(fmt.Sprintf("%s cut to %d", name, n), fmt.Sprint(err))
		}
	}
	all.Compare(t, filepath.Join("testdata", "headers.txt"))
}

// TestElementsOfManyDimensions: dimensions are multiplied, up to one more than BTF can say.
func TestElementsOfManyDimensions(t *testing.T) {
	for _, c := range []struct {
		counts []int64
		want   int64
	}{
		{[]int64{3}, 3}, {[]int64{3, 4}, 12}, {[]int64{0, 4}, 0}, {[]int64{4, 0}, 0}, {[]int64{-1}, 0}, {[]int64{4, -1}, 0}, {[]int64{1 << 16, 1 << 16}, 1 << 32},
		{[]int64{1 << 32}, 1 << 32}, {[]int64{1<<32 + 1}, 1 << 32}, {[]int64{1 << 31, 2}, 1 << 32}, {[]int64{1 << 31, 3}, 1 << 32}, {[]int64{1 << 32, 1 << 32, 0}, 0},
	} {
		n := node{elements: -1}
		for _, count := range c.counts {
			n.addDimension(&attributes{count: count})
		}
		assert.Equal(t, c.want, n.elements, c.counts)
	}
}

// TestPlacesOfBitFields: by DW_AT_data_bit_offset where there is one, 0 too, and else by the older
// attribute, which counts from the other end of the storage on little-endian machines.
func TestPlacesOfBitFields(t *testing.T) {
	for _, c := range []struct {
		m           node
		little, big int64
	}{
		{node{bitOffset: 0, oldBits: -1, location: 4, bitSize: 3}, 0, 0},
		{node{bitOffset: 9, oldBits: 5, location: 4, bitSize: 3}, 9, 9},
		{node{bitOffset: -1, oldBits: -1, location: 4, bitSize: 3}, 32, 32},
		{node{bitOffset: -1, oldBits: 0, location: 4, bitSize: 3, size: 4}, 61, 32},
		{node{bitOffset: -1, oldBits: 29, location: 4, bitSize: 3, size: 4}, 32, 61},
	} {
		for big, want := range map[bool]int64{false: c.little, true: c.big} {
			w := writer{maker: &maker{in: &input{big: big}}}
			assert.Equal(t, want, w.bitPlace(&c.m), "%+v, big %v", c.m, big)
		}
	}
}
