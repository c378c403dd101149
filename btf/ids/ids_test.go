package ids

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
)

func file(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return b
}

func read(t testing.TB, name string) (*Section, *btf.Spec) {
	t.Helper()
	b := file(t, name)
	s, err := Read(b)
	require.NoError(t, err)
	spec, err := btf.LoadBytes(name, b, nil)
	require.NoError(t, err)
	return s, spec
}

// resolved.o is what resolve_btfids of Linux 6.12 made of lists.o.
func TestResolveWritesWhatResolveBTFIDsWrites(t *testing.T) {
	s, spec := read(t, "lists.o")
	want, _ := read(t, "resolved.o")
	got, missing, err := s.Resolve(spec)
	require.NoError(t, err)
	require.Len(t, missing, 1)
	assert.Equal(t, "nowhere", missing[0].Name)
	assert.Equal(t, want.file[want.at:want.at+uint64(want.size)], got[s.at:s.at+uint64(s.size)])
	// Nothing else changes.
	assert.True(t, bytes.Equal(s.file[:s.at], got[:s.at]))
	assert.True(t, bytes.Equal(s.file[s.at+uint64(s.size):], got[s.at+uint64(s.size):]))
	// What is sorted cannot be resolved again.
	again, err := Read(got)
	require.NoError(t, err)
	_, _, err = again.Resolve(spec)
	assert.ErrorIs(t, err, ErrResolved)
}

func TestGroups(t *testing.T) {
	s, _ := read(t, "lists.o")
	require.Len(t, s.Groups, 3)
	all, plain, kfuncs := s.Groups[0], s.Groups[1], s.Groups[2]
	assert.Equal(t, "all_types", all.Name)
	var names []string
	for _, e := range all.Entries {
		names = append(names, e.Kind.String()+" "+e.Name)
	}
	assert.Equal(t, []string{"STRUCT packet", "VOID ", "UNION word", "TYPEDEF packet_t", "FUNC mid__dle", "STRUCT nowhere"}, names)
	assert.Equal(t, Set, plain.Kind)
	assert.EqualValues(t, 3, plain.Count)
	assert.Equal(t, Set8, kfuncs.Kind)
	assert.EqualValues(t, 1, kfuncs.Flags)
	assert.Equal(t, "ACQUIRE|RET_NULL", FlagNames(kfuncs.Entries[0].Flags))
	assert.Equal(t, "SLEEPABLE|0x80000000", FlagNames(1<<5|1<<31))
}

func TestCheck(t *testing.T) {
	said := func(f []Finding) (out []string) {
		for _, x := range f {
			name := x.Group.Name
			if x.Entry != nil {
				name = x.Entry.Name
			}
			out = append(out, name+": "+x.What)
		}
		return out
	}
	s, spec := read(t, "resolved.o")
	assert.Equal(t, []string{"nowhere: does not exist"}, said(s.Check(spec)))
	s, spec = read(t, "lists.o")
	assert.Contains(t, said(s.Check(spec)), "zeta: is not resolved")
	s, spec = read(t, "resolved.o")
	g := &s.Groups[1]
	g.Entries[0].ID, g.Entries[1].ID = g.Entries[1].ID, g.Entries[0].ID
	g.Stored = 7
	s.Groups[0].Entries[0].ID = 2
	s.Groups[0].Entries[5].Name = "word"
	got := said(s.Check(spec))
	assert.Contains(t, got, "plain_set: it is not sorted")
	assert.Contains(t, got, "plain_set: its count is 7, it has 3")
	text := strings.Join(got, "\n")
	assert.Regexp(t, `word: does not exist; \[\d+\] is a UNION of that name`, text)
	assert.Regexp(t, `packet: has id 2, the type is \[\d+\]`, text)
}

func TestErrors(t *testing.T) {
	_, err := Read([]byte("text"))
	assert.ErrorIs(t, err, ErrNotELF)
	exec, err := os.ReadFile("../../examples/exec/exec.bpf.o")
	require.NoError(t, err)
	_, err = Read(exec)
	assert.ErrorIs(t, err, ErrNoSection)
	_, err = Read(bytes.ReplaceAll(file(t, "lists.o"), []byte("__BTF_ID__func__"), []byte("__BTF_ID__fund__")))
	assert.ErrorIs(t, err, ErrMalformed)
}

func FuzzRead(f *testing.F) {
	f.Add(file(f, "lists.o"))
	f.Add(file(f, "resolved.o"))
	spec, err := btf.LoadBytes("", file(f, "lists.o"), nil)
	require.NoError(f, err)
	f.Fuzz(func(_ *testing.T, file []byte) {
		if s, err := Read(file); err == nil {
			s.Check(spec)
			s.Resolve(spec)
		}
	})
}
