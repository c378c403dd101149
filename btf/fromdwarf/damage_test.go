package fromdwarf

import (
	"bytes"
	"debug/elf"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"strings"
	"testing"

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
				all.Add(fmt.Sprintf("%s %s+%d", name, s.Name, i), madeOf(bad))
			}
		}
	}
	all.Compare(t, filepath.Join("testdata", "damage.txt"))
}
