package conformance_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/internal/debug"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// testDataRelocations: addresses in data of 64 and 32 bits, of functions and variables, are known
// with what they point to.
func testDataRelocations(t *testing.T) {
	for _, compiler := range []string{"clang-22", "clang-22-eb"} {
		o := object(t, fixtures+"objects/"+compiler+"/abs.o")
		i := slices.IndexFunc(o.Maps, func(m *loader.Map) bool { return m.Section == ".data" })
		require.GreaterOrEqual(t, i, 0)
		at := map[uint64]string{}
		for _, r := range o.Maps[i].DataRelocs {
			to := fmt.Sprintf("data+%d", r.Value)
			if r.Func != nil {
				to = r.Func.Name
			}
			// Of a place inside a function only the offset in its section is known.
			at[r.Off] = fmt.Sprintf("%d bits %s", r.Size*8, to)
		}
		assert.Equal(t, map[uint64]string{
			0: "32 bits data+16", 4: "32 bits run", 8: "32 bits data+8", 24: "64 bits data+16", 32: "64 bits callee",
		}, at, compiler)
	}
}

// testDWARF: the 32-bit relocations of DWARF are applied. Symbols of sections have the value 0, and
// fields hold the sum already, so the test moves a symbol and the fields that refer to it.
func testDWARF(t *testing.T) {
	testDataRelocations(t)
	path := "../internal/debug/testdata/locals-O2-dwarf5.o"
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	locals := func(file []byte) []string {
		o, err := loader.OpenBytes("locals.o", file)
		require.NoError(t, err)
		spec, err := embedded.Spec()
		require.NoError(t, err)
		s, err := debug.New(load(t, o, spec), debug.Config{ELF: file})
		require.NoError(t, err)
		defer s.Close()
		_, err = s.Start("locals")
		require.NoError(t, err)
		vars, _ := s.Locals()
		var names []string
		for _, v := range vars {
			names = append(names, v.Name)
		}
		return names
	}
	want := locals(data)
	assert.Subset(t, want, []string{"shape", "list", "sum", "ctx"})

	f, err := elf.NewFile(bytes.NewReader(data))
	require.NoError(t, err)
	syms, err := f.Symbols()
	require.NoError(t, err)
	strs := slices.IndexFunc(f.Sections, func(s *elf.Section) bool { return s.Name == ".debug_str" })
	i := slices.IndexFunc(syms, func(s elf.Symbol) bool { return int(s.Section) == strs && elf.ST_TYPE(s.Info) == elf.STT_SECTION })
	require.GreaterOrEqual(t, i, 0)
	const by = 1 << 20
	moved, n := bytes.Clone(data), 0
	f.ByteOrder.PutUint64(moved[f.SectionByType(elf.SHT_SYMTAB).Offset+uint64(i+1)*24+8:], by)
	for _, s := range f.Sections {
		if s.Type != elf.SHT_REL || !strings.HasPrefix(s.Name, ".rel.debug") {
			continue
		}
		to := f.Sections[s.Info]
		for rel := s.Offset; rel < s.Offset+s.Size; rel += 16 {
			if info := f.ByteOrder.Uint64(data[rel+8:]); info == uint64(i+1)<<32|3 { // R_BPF_64_ABS32 against .debug_str
				field := moved[to.Offset+f.ByteOrder.Uint64(data[rel:]):]
				f.ByteOrder.PutUint32(field, f.ByteOrder.Uint32(field)-by)
				n++
			}
		}
	}
	assert.Greater(t, n, 20)
	assert.Equal(t, want, locals(moved))
}

// testAddendRange: offsets in the instruction have 32 bits; a symbol or an addend beyond is
// refused, not cut.
func testAddendRange(t *testing.T) {
	path := fixtures + "objects/clang-14/globals.o"
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	f, err := elf.NewFile(bytes.NewReader(data))
	require.NoError(t, err)
	symtab := f.SectionByType(elf.SHT_SYMTAB)
	syms, err := f.Symbols()
	require.NoError(t, err)
	i := slices.IndexFunc(syms, func(s elf.Symbol) bool { return s.Name == "rw_table" })
	require.GreaterOrEqual(t, i, 0)
	for value, ok := range map[uint64]bool{syms[i].Value: true, 1 << 32: false, 1<<63 | syms[i].Value: false} {
		changed := bytes.Clone(data)
		f.ByteOrder.PutUint64(changed[symtab.Offset+uint64(i+1)*24+8:], value)
		o, err := loader.OpenBytes("globals.o", changed)
		if err == nil {
			l := load(t, o, nil)
			refused := slices.IndexFunc(l.Programs, func(lp *loader.LinkedProgram) bool { return lp.Status == loader.StatusRefused })
			if refused >= 0 {
				err = l.Programs[refused].Err
			}
		}
		if ok {
			assert.NoError(t, err)
			continue
		}
		assert.ErrorIs(t, err, loader.ErrRelocation, "%#x", value)
	}
}

// testBitfieldAlgorithm reads bitfields by the five numbers that relocations give, as
// bpf_core_read.h does, from random memory in both byte orders, and compares with what the target's
// types say of that memory.
func testBitfieldAlgorithm(t *testing.T) {
	random := rand.New(rand.NewPCG(2026, 13))
	for _, order := range []string{"", "-eb"} {
		o := object(t, fixtures+"core/clang-22"+order+"/bitfields.o")
		for _, target := range []string{"same", "shuffled", "crossing", "plain"} {
			spec, err := btffile.Load(fixtures+"core/btf"+order+"/bitfields."+target+".btf", nil)
			require.NoError(t, err)
			numbers := map[string]map[corerelo.Kind]uint64{}
			for _, f := range load(t, o, spec).Functions {
				for _, r := range f.Relocs {
					if r.Target == nil || f.Name == "plain" {
						continue
					}
					field := r.Target.Last().Name
					if numbers[field] == nil {
						numbers[field] = map[corerelo.Kind]uint64{}
					}
					if r.Kind == corerelo.FieldByteOffset && r.Patch.Field == corerelo.FieldOff {
						continue // a direct load: the offset stands beside its size
					}
					numbers[field][r.Kind] = r.Result.New
				}
			}
			bits, ok := spec.FindID(btf.KindStruct, "bits")
			require.True(t, ok)
			size, err := spec.Sizeof(bits)
			require.NoError(t, err)
			checked := 0
			for field, n := range numbers {
				if len(n) < 5 {
					continue
				}
				at, err := spec.ResolvePath(bits, field)
				require.NoError(t, err)
				for range 50 {
					memory := make([]byte, size+8)
					for i := range memory {
						memory[i] = byte(random.Uint32())
					}
					want, err := spec.DecodeField(at, memory)
					require.NoError(t, err)
					assert.Equal(t, fmt.Sprint(want), readBitfield(n, memory, spec.ByteOrder()), "%s of %s%s", field, target, order)
					checked++
				}
			}
			assert.Positive(t, checked, "%s%s", target, order)
		}
	}
}

// readBitfield: the word of BYTE_SIZE bytes at BYTE_OFFSET, shifted left, then right with or
// without sign.
func readBitfield(n map[corerelo.Kind]uint64, memory []byte, order binary.ByteOrder) string {
	p := memory[n[corerelo.FieldByteOffset]:]
	var v uint64
	switch n[corerelo.FieldByteSize] {
	case 1:
		v = uint64(p[0])
	case 2:
		v = uint64(order.Uint16(p))
	case 4:
		v = uint64(order.Uint32(p))
	case 8:
		v = order.Uint64(p)
	}
	v <<= n[corerelo.FieldLShiftU64]
	if n[corerelo.FieldSigned] != 0 {
		return fmt.Sprint(int64(v) >> n[corerelo.FieldRShiftU64])
	}
	return fmt.Sprint(v >> n[corerelo.FieldRShiftU64])
}

// testTypeMatches is the relation of the document's notes, case by case, and the compiled probe on
// two targets.
func testTypeMatches(t *testing.T) {
	for target, want := range map[string]string{
		// what differs: an int's size, a nested struct, nothing but what is behind a pointer, an
		// enumerator, sign, length, arguments
		"matches.different": "struct st=0 struct nested=0 struct behind=1 enum en=0 typedef td_int=0 typedef td_arr=0 typedef td_fn=0 typedef td_anon=0 union un=0",
		// more members and enumerators in another order, other values, flavors
		"matches.superset": "struct st=1 struct nested=1 struct behind=1 enum en=1 typedef td_int=1 typedef td_arr=1 typedef td_fn=1 typedef td_anon=1 union un=1",
	} {
		l := probe(t, "matches", target)
		var got []string
		for _, r := range l.Functions[0].Relocs {
			require.Equal(t, corerelo.TypeMatches, r.Kind)
			got = append(got, fmt.Sprintf("%s=%d", l.Object.BTF.TypeString(r.TypeID), r.Patch.New))
		}
		for i, g := range got {
			if name := strings.Fields(g)[0]; !strings.Contains(g, " ") {
				got[i] = "typedef " + name
			}
		}
		assert.Equal(t, want, strings.Join(got, " "), target)
	}
}

// testRust: an object of rustc, its maps as aya defines them, its records from C linked in as
// bitcode, runs on old and new kernels.
func testRust(t *testing.T) {
	path := fixtures + "objects/rust-1.97/rust.o"
	embed, err := embedded.Spec()
	require.NoError(t, err)
	for name, k := range map[string]struct {
		spec *btf.Spec
		new  bool // since 5.14 the state of a task is called __state
	}{"5.10": {kernel510(t), false}, "6.12": {embed, true}} {
		o := object(t, path)
		l := load(t, o, k.spec)
		require.NoError(t, l.Err)
		var got []string
		for _, r := range l.Functions[0].Relocs {
			require.NoError(t, r.Err)
			text := r.Local.Field()
			if r.Kind == corerelo.FieldExists {
				text += fmt.Sprint(" ", r.Patch.New)
			}
			got = append(got, text)
		}
		exists := map[bool]string{true: "1", false: "0"}
		assert.Equal(t, []string{
			"task_struct.tgid", "task_struct.real_parent", "task_struct.__state " + exists[k.new],
			"task_struct___before_5_14.state " + exists[!k.new], "task_struct.comm",
		}, got, name)
		line, ok := o.Programs[0].Function.LineAt(l.Functions[0].Relocs[0].FuncInsn)
		require.True(t, ok)
		assert.Equal(t, "./testdata/src/rust.rs", line.File)

		m, err := machine.New(l, machine.Config{})
		require.NoError(t, err)
		defer m.Close()
		task := m.Kernel().Current()
		require.NoError(t, task.Set("tgid", 77))
		require.NoError(t, task.Set("comm", "ferris"))
		parent, err := task.Pointee("real_parent")
		require.NoError(t, err)
		require.NoError(t, parent.Set("tgid", 5))
		res, err := m.Run(t.Context(), "on_unlink", machine.Input{})
		require.NoError(t, err)
		require.Equal(t, machine.StatusOK, res.Status, "%v", res.Fault)
		assert.Zero(t, res.Ret)
		require.Len(t, res.Events, 1)
		event := append([]byte{77, 0, 0, 0, 5, 0, 0, 0, 3, 0, 0, 0}, "ferris\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
		assert.Equal(t, event, res.Events[0].Data, name)
		assert.Zero(t, res.Events[0].Type, "what a map is defined with is not an event, whatever its size")
		counts, ok := m.MapByName("COUNTS")
		require.True(t, ok)
		require.Len(t, counts.Entries(), 1)
		assert.Equal(t, []byte{77, 0, 0, 0}, counts.Entries()[0].Key)
	}
}
