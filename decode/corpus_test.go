package decode

import (
	"debug/elf"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCorpus decodes all code of real objects: compilers emit defined instructions with clean
// fields only, and their text assembles again. BPFRUN_CORPUS names a directory with an objects
// directory in it.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("BPFRUN_CORPUS")
	if dir == "" {
		t.Skip("BPFRUN_CORPUS is not set")
	}
	objects, slots := 0, 0
	err := filepath.WalkDir(filepath.Join(dir, "objects"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := elf.Open(path)
		if err != nil {
			return nil // other files
		}
		defer f.Close()
		if f.Machine != elf.EM_BPF {
			return nil
		}
		objects++
		for _, sec := range f.Sections {
			if sec.Type != elf.SHT_PROGBITS || sec.Flags&elf.SHF_EXECINSTR == 0 {
				continue
			}
			raw, err := sec.Data()
			require.NoError(t, err, path)
			insns, err := Unmarshal(raw, f.ByteOrder)
			require.NoError(t, err, "%s %s", path, sec.Name)
			for pc := 0; pc < len(insns); pc += insns[pc].Len() {
				assert.NotEqual(t, OpInvalid, insns[pc].Op(), "%s %s %d: %+v", path, sec.Name, pc, insns[pc])
				assert.Zero(t, insns[pc].Reserved(), "%s %s %d: %+v", path, sec.Name, pc, insns[pc])
			}
			again, err := Assemble(DisassembleAll(insns, nil))
			require.NoError(t, err, path)
			if len(insns) > 0 {
				require.Equal(t, insns, again, path)
			}
			slots += len(insns)
		}
		return nil
	})
	require.NoError(t, err)
	t.Logf("%d objects, %d slots", objects, slots)
}
