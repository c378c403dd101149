package report

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/btf/ids"
	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/internal/assembly"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

func TestOperandsOfInstructions(t *testing.T) {
	for text, want := range map[string]string{
		"": "nil", " ": "nil", "a": "a", "a, b": "a|b", "a,": "a", ",a": "a", "a,,b": "a|b", "[a, b], c": "[a, b]|c", "{a, (b, c)}, d": "{a, (b, c)}|d", "a(b), c": "a(b)|c", "(a": "(a", "(a, b": "(a, b",
	} {
		var got []string
		for _, o := range operands(text) {
			if o == nil {
				got = append(got, "nil")
				continue
			}
			got = append(got, *o)
		}
		assert.Equal(t, want, strings.Join(got, "|"), "%q", text)
	}
}

// TestTypesOfEveryKindAreWritten: a layout follows the name of what has one.
func TestTypesOfEveryKindAreWritten(t *testing.T) {
	b := btf.NewBuilder(nil)
	n := b.Int("int", 4, btf.IntSigned)
	kinds := map[string]btf.ID{
		"int": n, "ptr": b.Ptr(n), "array": b.Array(n, n, 3), "struct": b.Struct("s", 4, btf.Member{Name: "a", Type: n}), "union": b.Union("u", 4, btf.Member{Name: "a", Type: n}),
		"enum": b.Add(btf.Type{Kind: btf.KindEnum, Name: "e", Size: 4, Values: []btf.Enumerator{{Name: "one", Value: 1}}}),
	}
	layout := map[string]string{"struct": "size: 4", "union": "size: 4", "enum": "one"}
	typedef, to, in := map[string]btf.ID{}, map[string]btf.ID{}, map[string]btf.ID{}
	for kind, id := range kinds {
		typedef[kind], to[kind] = b.Mod(btf.KindTypedef, kind+"_t", id), b.Ptr(id)
		in[kind] = b.Struct("in_"+kind, 32, btf.Member{Name: "p", Type: to[kind]}, btf.Member{Name: "v", Type: id, BitOffset: 64})
	}
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	for kind := range kinds {
		var out bytes.Buffer
		require.NoError(t, writeOneType(&out, spec, typedef[kind], btf.LayoutOptions{}))
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		assert.Contains(t, lines[0], "typedef ")
		assert.Equal(t, layout[kind] != "", len(lines) > 1, out.String())
		assert.Contains(t, out.String(), layout[kind])
		for _, path := range []string{"p", "v"} {
			f, err := spec.ResolvePath(in[kind], path)
			require.NoError(t, err)
			out.Reset()
			require.NoError(t, writeField(&out, spec, in[kind], f, btf.LayoutOptions{}))
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			assert.Contains(t, lines[0], "struct in_"+kind+"."+path+": ")
			assert.Equal(t, layout[kind] != "", len(lines) > 1, out.String())
		}
	}
}

func TestSetsOfKfuncs(t *testing.T) {
	b := btf.NewBuilder(nil)
	b.Int("int", 4, 0)
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	s := &ids.Section{Order: binary.LittleEndian, Groups: []ids.Group{
		{Kind: ids.Set8, Name: "kfuncs", Flags: ids.SetOfKfuncs}, {Kind: ids.Set8, Name: "flags", Flags: 2}, {Kind: ids.Set8, Name: "none"}, {Kind: ids.Set, Name: "set", Flags: ids.SetOfKfuncs},
	}}
	d := NewBTFIDsDocument(s, spec)
	for i, g := range d.Groups {
		assert.Equal(t, i == 0, g.Kfuncs, g.Name)
	}
}

// TestTextsOfFaults: what a fault says depends on what it is about.
func TestTextsOfFaults(t *testing.T) {
	for _, kind := range []vm.FaultKind{vm.Poison, vm.NotSimulated} {
		f := newFault(&machine.Fault{Fault: &vm.Fault{Kind: kind}, Text: "the instruction", Hint: "the hint"})
		assert.Equal(t, kind != vm.Poison, strings.Contains(f.Text, "\nthe instruction"), f.Text)
		assert.Equal(t, kind != vm.Poison, strings.Contains(f.Text, "\nthe hint"), f.Text)
		assert.NotContains(t, f.Text, "\nat ")
		assert.NotContains(t, f.Text, "\nreleased at")
		assert.NotContains(t, f.Text, "\nlast contents")
	}
	f := newFault(&machine.Fault{Fault: &vm.Fault{Kind: vm.NotSimulated}, Line: "x = 1;", Source: "a.c:1", Released: "insn 9", Last: []byte{1, 2}})
	assert.Contains(t, f.Text, "\nat a.c:1: x = 1;\nreleased at insn 9\nlast contents: 0102")
}

// TestElementsOfArraysAreAllListed: arrays have all elements, other maps those that are there.
func TestElementsOfArraysAreAllListed(t *testing.T) {
	data, err := assembly.Object("x.s", ".map a array 4 8 3\n.map p percpu_array 4 8 3\n.map h hash 4 8 3\n.prog x xdp\n r0 = 2\n exit\n", nil)
	require.NoError(t, err)
	o, err := loader.OpenBytes("x.o", data)
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	l, err := o.Load(loader.NewTarget(embedded.Name, spec), loader.LoadOptions{})
	require.NoError(t, err)
	m, err := machine.New(l, machine.Config{CPUs: 2})
	require.NoError(t, err)
	defer m.Close()
	for name, want := range map[string]int{"a": 3, "p": 3, "h": 1} {
		mp, ok := m.MapByName(name)
		require.True(t, ok)
		key := []byte{1, 0, 0, 0}
		require.Zero(t, mp.Update(0, key, bytes.Repeat([]byte{7}, int(mp.Spec().ValueSize)), 0))
		all := allEntries(mp, 2, binary.LittleEndian)
		require.Len(t, all, want, name)
		if want == 3 {
			for i, e := range all {
				assert.Equal(t, []byte{byte(i), 0, 0, 0}, e.Key)
				assert.Equal(t, name == "p", e.Value == nil)
				assert.Equal(t, name == "p", len(e.PerCPU) == 2)
			}
		}
	}
}

func TestElementsWithoutASize(t *testing.T) {
	b := btf.NewBuilder(nil)
	n := b.Int("int", 4, btf.IntSigned)
	empty := b.Struct("empty", 0)
	none, some := b.Array(empty, n, 3), b.Array(n, n, 3)
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	for id, want := range map[btf.ID]string{none: "[{}]", some: "[1,2]"} {
		d := &mapDump{spec: spec, steps: 10}
		d.array(spec.MustType(id), []byte{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0}, 0)
		assert.Equal(t, want, strings.Join(strings.Fields(d.out.String()), ""))
	}
}

func TestWhereCandidatesAreFrom(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	id, ok := spec.FindID(btf.KindStruct, "task_struct")
	require.True(t, ok)
	for source, want := range map[string]bool{"": false, "vmlinux": false, "nf_conntrack": true} {
		x := &Relocation{}
		x.candidates(&corerelo.Relocation{Answer: &corerelo.Answer{Rejected: []corerelo.Rejection{{Candidate: corerelo.Candidate{ID: id, BTF: spec, Source: source}}}}})
		require.Len(t, x.Rejected, 1)
		assert.Equal(t, want, strings.HasSuffix(x.Rejected[0].Candidate, " in "+source) && source != "", x.Rejected[0].Candidate)
		assert.Equal(t, want, strings.Contains(x.Rejected[0].Candidate, " in "))
	}
}

// TestLeftOutRunsAreCountedOnce: before the last run.
func TestLeftOutRunsAreCountedOnce(t *testing.T) {
	p := &Program{Name: "p", Runs: make([]Run, 100)}
	var page reportPage
	page.program(p)
	assert.Equal(t, 1, strings.Count(page.String(), "; the last one:"))
	p.Runs = p.Runs[:2]
	page = reportPage{}
	page.program(p)
	assert.NotContains(t, page.String(), "; the last one:")
}
