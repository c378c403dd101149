package offsets

import (
	"encoding/binary"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/loader"
)

func linked(t testing.TB, path string) *loader.Linked {
	t.Helper()
	o, err := loader.Open(path)
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	l, err := o.Load(loader.NewTarget(embedded.Name, spec), loader.LoadOptions{Optional: true})
	require.NoError(t, err)
	return l
}

// Each of the accesses that planted.c and cast.c mark is found at its line, and no other.
func TestPlantedAccessesAreFound(t *testing.T) {
	for _, c := range []struct {
		name  string
		marks int
	}{{"planted", 47}, {"cast", 1}} {
		text, err := os.ReadFile("testdata/" + c.name + ".c")
		require.NoError(t, err)
		want := map[string]bool{}
		for i, line := range strings.Split(string(text), "\n") {
			if strings.Contains(line, "/* planted */") {
				want[strconv.Itoa(i+1)] = true
			}
		}
		require.Len(t, want, c.marks)
		got := map[string]bool{}
		for _, a := range Find(linked(t, "testdata/"+c.name+".o")) {
			_, rest, _ := strings.Cut(a.Source, ".c:")
			line, _, _ := strings.Cut(rest, ":")
			got[line] = true
			assert.NotEqual(t, "good", a.Program)
			if a.Program == "by_size" {
				assert.Regexp(t, "bpf_core_type_size|bpf_core_field_offset", a.Instead)
			} else {
				assert.NotEmpty(t, a.Hit, a.Source)
			}
		}
		assert.Equal(t, want, got)
	}
}

// Objects whose accesses are all relocated have none.
func TestRelocatedAccessesAreNotReported(t *testing.T) {
	for _, path := range []string{"exec/exec.bpf.o", "tp_btf/tp_btf.bpf.o", "iter/iter.bpf.o", "rawtp/rawtp.bpf.o", "guarded/guarded.bpf.o"} {
		assert.Empty(t, Find(linked(t, "../../examples/"+path)), path)
	}
}

// F49: offsets that were compiled in, with the field that another kernel has there.
func TestBaked(t *testing.T) {
	found := Find(linked(t, "../../testdata/objects/clang-14/baked.o"))
	require.Len(t, found, 4)
	assert.Equal(t, "pid", found[0].Hit)
	assert.EqualValues(t, 2432, found[0].Offset)
	assert.Contains(t, found[0].Instead, "BPF_CORE_READ")
	assert.Equal(t, "by_load", found[2].Program)
	assert.False(t, Stable("task_struct"))
	assert.True(t, Stable("iphdr"))
}

// Jumps out of the program lead nowhere.
func TestJumpsOutOfPrograms(t *testing.T) {
	l := linked(t, "../../testdata/objects/clang-14/baked.o")
	for off := int16(-4); off <= 4; off++ {
		for _, code := range []uint8{0x15, 0x05, 0x55} {
			m := *l
			m.Programs = []*loader.LinkedProgram{{Program: l.Programs[0].Program, Insns: []decode.Insn{{Code: 0xb7}, {Code: code, Dst: 1, Off: off}, {Code: 0x95}}}}
			assert.Empty(t, Find(&m), "%#x by %d", code, off)
		}
	}
}

// A read of a whole struct, as the object declares it, is of several fields if that has several; of
// a struct without a declaration, if no field there has its size.
func TestReadsOfSeveralFields(t *testing.T) {
	b := btf.NewBuilder(nil)
	char, long := b.Int("char", 1, 0), b.Int("long", 8, btf.IntSigned)
	name := b.Array(char, long, 16)
	one := b.Struct("one", 16, btf.Member{Name: "name", Type: name})
	two := b.Struct("two", 16, btf.Member{Name: "a", Type: long}, btf.Member{Name: "b", Type: long, BitOffset: 64})
	small := b.Struct("small", 8, btf.Member{Name: "a", Type: long})
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	f := &finder{spec: spec}
	for _, c := range []struct {
		id       btf.ID
		declared bool
		size     int
		want     bool
	}{
		{one, true, 16, false}, {two, true, 16, true}, {two, true, 12, false}, {two, true, 8, false}, {small, true, 8, false}, {one, true, 24, false},
		{one, false, 16, false}, {two, false, 16, true}, {two, false, 8, false}, {small, false, 16, true},
	} {
		own := spec
		if !c.declared {
			own = nil
		}
		assert.Equal(t, c.want, f.several(c.id, own, c.id, c.size), "%+v", c)
	}
}

func FuzzFind(f *testing.F) {
	l := linked(f, "../../testdata/objects/clang-14/baked.o")
	for _, p := range l.Programs {
		var b []byte
		for _, in := range p.Insns {
			b = append(b, in.Code, in.Dst|in.Src<<4, byte(in.Off), byte(in.Off>>8), byte(in.Imm), byte(in.Imm>>8), byte(in.Imm>>16), byte(in.Imm>>24))
		}
		f.Add(b)
	}
	f.Fuzz(func(_ *testing.T, b []byte) {
		var insns []decode.Insn
		for ; len(b) >= 8 && len(insns) < 4096; b = b[8:] {
			insns = append(insns, decode.Insn{
				Code: b[0], Dst: b[1] & 15, Src: b[1] >> 4, Off: int16(uint16(b[2]) | uint16(b[3])<<8), Imm: int32(uint32(b[4]) | uint32(b[5])<<8 | uint32(b[6])<<16 | uint32(b[7])<<24),
			})
		}
		of := l.Programs[0]
		m := *l
		m.Programs = []*loader.LinkedProgram{{Program: of.Program, Insns: insns, AttachID: of.AttachID}}
		Find(&m)
	})
}
