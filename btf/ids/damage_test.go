package ids

import (
	"bytes"
	"debug/elf"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// readText is all that is read from a file.
func readText(b []byte) string {
	s, err := Read(b)
	if err != nil {
		before, after, _ := strings.Cut(err.Error(), "symbol ")
		_, after, _ = strings.Cut(after, " ")
		return before + after + "\t" + err.Error()
	}
	var out strings.Builder
	say := func(args ...any) { fmt.Fprintln(&out, args...) }
	for _, g := range s.Groups {
		say(g.Kind, g.Name, g.Offset, g.Count, g.Flags, FlagNames(g.Flags))
		for _, e := range g.Entries {
			say(e.Kind, e.Name, e.Offset, e.ID, FlagNames(e.Flags))
		}
	}
	if spec, err := btf.LoadBytes("x", b, nil); err == nil {
		for _, f := range s.Check(spec) {
			say(f.Group.Name, f.Entry, f.What)
		}
		resolved, missing, err := s.Resolve(spec)
		say(resolved, err)
		for _, m := range missing {
			say(m.Kind, m.Name)
		}
	}
	f, err := elf.NewFile(bytes.NewReader(b))
	if err == nil {
		all, ok := s.Registered(f)
		say(all, ok)
	}
	return "read\t" + out.String()
}

// TestDamagedFilesAreToldInTheSameWords changes each byte of the sections that are read, one after
// the other.
func TestDamagedFilesAreToldInTheSameWords(t *testing.T) {
	var all rewrite.Outcomes
	for _, name := range []string{"lists.o", "resolved.o", "counters.ko"} {
		good := file(t, name)
		all.Add(name, readText(good))
		f, err := elf.NewFile(bytes.NewReader(good))
		require.NoError(t, err)
		for _, s := range f.Sections {
			read := s.Name == ".BTF_ids" || s.Name == ".symtab" || s.Name == ".strtab" ||
				name == "counters.ko" && (strings.HasPrefix(s.Name, ".rela") && s.Size < 500 || s.Name == ".init.text" || s.Name == ".data")
			if !read || s.Type == elf.SHT_NOBITS {
				continue
			}
			for i := range min(int(s.FileSize), 1500) {
				at := int(s.Offset) + i
				bad := bytes.Clone(good)
				bad[at] = [...]byte{bad[at] + 1, bad[at] - 1, 0, bad[at] ^ 0x80, '_'}[i%5]
				all.Add(fmt.Sprintf("%s %s+%d", name, s.Name, i), readText(bad))
			}
		}
	}
	all.Compare(t, filepath.Join("testdata", "damage.txt"))
}
