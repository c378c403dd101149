package conformance_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/loader"
)

// The features that the documents name on which BPF relocations, BTF and CO-RE rest: LLVM's and the
// kernel's BTF documents, BTFGen's, the Rust pre-RFC on BTF relocations. Each row is shown here by
// a test of its name, or elsewhere says where.
var features = []struct {
	row, what string
	test      func(t *testing.T)
}{
	{"F01", "16-byte ELF REL records with the addend in the instruction", testRELRecords},
	{"F02", "R_BPF_NONE is ignored", testTypeSectionRelocations},
	{"F03", "R_BPF_64_64: maps, variables, statics by section and addend", testLoadImm64},
	{"F04", "R_BPF_64_ABS64: pointers in data", testFunctionPointers},
	{"F05", "R_BPF_64_ABS32: DWARF and narrow addresses in data", testDWARF},
	{"F06", "R_BPF_64_NODYLD32 of .BTF and .BTF.ext is not applied", testTypeSectionRelocations},
	{"F07", "R_BPF_64_32: calls of global and static functions", testCalls},
	{"F08", "an addend beyond 32 bits is refused", testAddendRange},
	{"F09", "disassembly with CO-RE records", testDisassembly},
	{"F10", "CO-RE records: type, access, instruction in bytes of the section", testLLVMExamples},
	{"F11", "all 13 kinds of relocations", testAllKinds},
	{"F12", "the patched field follows from the instruction's class", testPatchedFields},
	{"F13", "bitfields by SIGNED, OFFSET, SIZE and shifts", testBitfieldAlgorithm},
	{"F14", "the relation of TYPE_MATCHES", testTypeMatches},
	{"F15", "access strings", testAccessStrings},
	{"F16", "the examples alpha, bravo, charlie and delta", testLLVMExamples},
	{"F17", "type kinds use \"0\", enumerator kinds the index", testLLVMExamples},
	{"F18", "BTF header in both byte orders", testHeaders},
	{"F19", "19 kinds and their kind_flag", testKinds},
	{"F20", "INT: encodings, offset, up to 128 bits", testInts},
	{"F21", "arrays of arrays", testArrays},
	{"F22", "bitfields in both forms", testBitfieldForms},
	{"F23", "enums of 1 to 8 bytes, signed and not, ENUM64", testEnums},
	{"F24", "linkage, varargs, variables, DATASEC", testFunctionsAndVariables},
	{"F25", "DECL_TAG and TYPE_TAG", testTags},
	{"F27", "maps defined by BTF", testBTFMaps},
	{"F28", "func_info and line_info", testLineInfo},
	{"F29", ".BTF.ext with and without CO-RE records", testExt},
	{"F31", "split BTF, moved onto another base", testSplit},
	{"F32", "map values as JSON with bitfields", testMapJSON},
	{"F34", "a trace in the verifier's style", testTrace},
	{"F37", "raw BTF and ELF files, bpftool's text", testRawText},
	{"F38", "a type followed to its end", testFollow},
	{"F39", "BTFHub's directory layout", testHub},
	{"F40", "libbpf's words for relocations", testLLVMExamples},
	{"F41", "minimised BTF gives equal results", testMinimised},
	{"F42", "minimised BTF for type and enum relocations too", testMinimised},
	{"F43", "candidates, local and target spec, result, patch", testPipeline},
	{"F44", "poison: 195896080, fatal when reached", testPoison},
	{"F45", "guards: field_exists, type_exists, enum_value_exists, flavors", testGuards},
	{"F46", "BTF of an old kernel from a file", testGuards},
	{"F47", "objects of rustc", testRust},
	{"F48", "objects of GCC", testGCC},
	{"F50", "array indexes and number of loads stay, only offsets move", testOnlyOffsetsMove},
	{"F51", "running a relocated object on the host", testGuards},
	{"F52", "sizes by TYPE_SIZE", testTypeSize},
}

// elsewhere are the rows that no test here shows.
var elsewhere = map[string]string{
	"F26": "internal/bpfsys TestF26BTFSystemCalls", "F30": "btf/ids TestResolveWritesWhatResolveBTFIDsWrites", "F33": "cmd/bpfrun TestF33ProgramDump, TestF33NativeProgramDump, TestF33AsJSON",
	"F35": "btf/fromdwarf TestAsPahole, TestOptimizedAsPahole, btf/dedup TestUnitsAreMerged", "F36": "btf/check TestEveryRuleHasABoundary, conformance/btfcases TestRecordedVerdicts", "F49": "internal/offsets TestPlantedAccessesAreFound, TestBaked",
}

func TestFeatures(t *testing.T) {
	shown := map[string]bool{}
	for _, f := range features {
		shown[f.row] = true
		t.Run(f.row+" "+f.what, f.test)
	}
	for n := 1; n <= 52; n++ {
		row := fmt.Sprintf("F%02d", n)
		assert.True(t, shown[row] != (elsewhere[row] != ""), "%s is shown here or named as shown elsewhere", row)
	}
	for row, where := range elsewhere {
		requireTests(t, row, where)
	}
}

// requireTests fails unless every test of "package TestA, TestB, package TestC" is in its package.
func requireTests(t *testing.T, row, where string) {
	t.Helper()
	dir := ""
	for word := range strings.FieldsSeq(strings.ReplaceAll(where, ",", " ")) {
		if !strings.HasPrefix(word, "Test") {
			dir = word
			continue
		}
		files, err := filepath.Glob(filepath.Join("..", dir, "*_test.go"))
		require.NoError(t, err)
		found := slices.ContainsFunc(files, func(name string) bool {
			b, err := os.ReadFile(name)
			return err == nil && bytes.Contains(b, []byte("\nfunc "+word+"("))
		})
		assert.True(t, found, "%s is shown by %s in %s", row, word, dir)
	}
}

const fixtures = "../testdata/"

func object(t *testing.T, path string) *loader.Object {
	t.Helper()
	o, err := loader.Open(path)
	require.NoError(t, err)
	return o
}

func load(t *testing.T, o *loader.Object, spec *btf.Spec) *loader.Linked {
	t.Helper()
	l, err := o.Load(loader.NewTarget("6.12", spec), loader.LoadOptions{})
	require.NoError(t, err)
	return l
}

var load510 = sync.OnceValues(func() (*btf.Spec, error) { return testbtf.Load(fixtures + "btf/linux-5.10.262-amd64-cloud.btf.xz") })

func kernel510(t *testing.T) *btf.Spec {
	spec, err := load510()
	require.NoError(t, err)
	return spec
}

func probeBTF(t *testing.T, name string) *btf.Spec {
	spec, err := btffile.Load(fixtures+"core/btf/"+name+".btf", nil)
	require.NoError(t, err)
	return spec
}

// relocations of a probe on its target.
func probe(t *testing.T, object_, target string) *loader.Linked {
	return load(t, object(t, fixtures+"core/clang-22/"+object_+".o"), probeBTF(t, target))
}

func testRELRecords(t *testing.T) {
	f, err := elf.Open(fixtures + "objects/clang-14/globals.o")
	require.NoError(t, err)
	defer f.Close()
	n := 0
	for _, s := range f.Sections {
		if s.Type == elf.SHT_REL {
			n++
			assert.EqualValues(t, 16, s.Entsize)
		}
		assert.NotEqual(t, elf.SHT_RELA, s.Type)
	}
	assert.Positive(t, n)
	testLoadImm64(t)
}

// testTypeSectionRelocations turns the relocations of the type sections into R_BPF_NONE, then into
// nonsense: nothing changes.
func testTypeSectionRelocations(t *testing.T) {
	path := fixtures + "objects/clang-14/globals.o"
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	want := load(t, object(t, path), nil)
	for _, info := range []uint64{0, 4, 0xffff<<32 | 4, 11} {
		changed := bytes.Clone(data)
		n := 0
		for _, s := range f.Sections {
			if s.Name != ".rel.BTF" && s.Name != ".rel.BTF.ext" {
				continue
			}
			for off := s.Offset; off < s.Offset+s.Size; off += 16 {
				binary.LittleEndian.PutUint64(changed[off+8:], info)
				n++
			}
		}
		require.Positive(t, n)
		o, err := loader.OpenBytes("globals.o", changed)
		require.NoError(t, err)
		got := load(t, o, nil)
		require.Equal(t, len(want.Programs), len(got.Programs))
		for i := range want.Programs {
			assert.Equal(t, want.Programs[i].Final(), got.Programs[i].Final())
		}
	}
}

func testLoadImm64(t *testing.T) {
	l := load(t, object(t, fixtures+"objects/clang-14/globals.o"), nil)
	seen := map[string]bool{}
	for _, lp := range l.Programs {
		for pc, ref := range lp.Refs {
			if ref.Kind != loader.RefMapValue {
				continue
			}
			assert.Equal(t, decode.OpLdMapValue, lp.Insns[pc].Op())
			if v, ok := ref.Map.VarAt(ref.Off); ok {
				seen[v.Name] = true
			}
		}
	}
	for _, name := range []string{"ro_u64", "rw_table", "zero_struct", "custom_data", "hidden_percpu"} {
		assert.True(t, seen[name], "%s is referred to: %v", name, seen)
	}
}

func testFunctionPointers(t *testing.T) {
	o := object(t, fixtures+"objects/clang-14/funcptr.o")
	n, functions := 0, 0
	for _, m := range o.Maps {
		for _, r := range m.DataRelocs {
			n++
			assert.Equal(t, 8, r.Size)
			if r.Func != nil {
				functions++
			}
		}
	}
	assert.Positive(t, n)
	assert.Positive(t, functions)
}

func testCalls(t *testing.T) {
	l := load(t, object(t, fixtures+"objects/clang-14/subprog.o"), nil)
	calls := 0
	for _, lp := range l.Programs {
		for pc := range lp.Insns {
			if lp.Insns[pc].Op() != decode.OpCallLocal {
				continue
			}
			calls++
			target, _ := lp.Insns[pc].Target(pc)
			f, ok := lp.FuncAt(target)
			assert.True(t, ok && f.Start == target, "%s insn %d calls the start of a function", lp.Name, pc)
		}
	}
	assert.Positive(t, calls)
}

func testDisassembly(t *testing.T) {
	l := load(t, llvmDoc(t), llvmDoc(t).BTF)
	alpha := l.Functions[slices.IndexFunc(l.Functions, func(f *loader.LinkedFunction) bool { return f.Name == "alpha" })]
	require.Len(t, alpha.Relocs, 2)
	assert.Equal(t, "r3 = *(s32 *)(r1 + 0)", decode.Disassemble(alpha.Insns, 0, nil))
	assert.Equal(t, "<byte_off> [2] struct foo.a (0:0 @ offset 0)", alpha.Relocs[0].Local.String())
}

func llvmDoc(t *testing.T) *loader.Object { return object(t, "core/testdata/llvm_doc.o") }

// testLLVMExamples: the records are those that LLVM's document lists, in its order.
func testLLVMExamples(t *testing.T) {
	l := load(t, llvmDoc(t), llvmDoc(t).BTF)
	var got []string
	start := 0
	for _, f := range l.Functions {
		for i := range f.Relocs {
			r := &f.Relocs[i]
			require.NoError(t, r.Err)
			got = append(got, fmt.Sprintf("%s %#02x %s = %d", f.Name, r.SectionInsn*8, r.Local.String(), r.Patch.New))
		}
		start += len(f.Insns)
	}
	assert.Equal(t, []string{
		"alpha 0x00 <byte_off> [2] struct foo.a (0:0 @ offset 0) = 0",
		"alpha 0x10 <byte_off> [2] struct foo.a (0:0 @ offset 0) = 0",
		"bravo 0x20 <byte_off> [2] struct foo.b (0:1 @ offset 4) = 4",
		"bravo 0x30 <byte_sz> [2] struct foo.b (0:1 @ offset 4) = 4",
		"bravo 0x40 <field_exists> [2] struct foo.b (0:1 @ offset 4) = 1",
		"bravo 0x50 <signed> [2] struct foo.b (0:1 @ offset 4) = 1",
		"bravo 0x60 <lshift_u64> [2] struct foo.c (0:2 @ offset 8) = 49",
		"bravo 0x70 <rshift_u64> [2] struct foo.c (0:2 @ offset 8) = 49",
		"charlie 0x88 <type_exists> [2] struct foo = 1",
		"charlie 0x98 <type_size> [2] struct foo = 12",
		"charlie 0xa8 <type_matches> [2] struct foo = 1",
		"charlie 0xb8 <local_type_id> [2] struct foo = 2",
		"charlie 0xd0 <target_type_id> [2] struct foo = 2",
		"delta 0xf0 <enumval_exists> [16] enum bar::U = 0 = 1",
		"delta 0x108 <enumval_value> [16] enum bar::V = 1 = 1",
	}, got)
	assert.Equal(t, 37, start)
}

func testAllKinds(t *testing.T) {
	files, err := filepath.Glob(fixtures + "core/clang-22/*.o")
	require.NoError(t, err)
	kinds := map[corerelo.Kind]bool{}
	for _, f := range files {
		for _, r := range object(t, f).CORERecords() {
			kinds[r.Kind] = true
		}
	}
	assert.Len(t, kinds, 13)
}

func testPatchedFields(t *testing.T) {
	l := probe(t, "exists", "exists.some")
	var rel *corerelo.Relocation
	for _, r := range l.Functions[0].Relocs {
		if r.Kind == corerelo.FieldByteOffset && !r.Poisoned() && r.Result.New != r.Result.Orig {
			rel = r.Relocation
		}
	}
	require.NotNil(t, rel)
	rel.Result.OrigSize, rel.Result.NewSize, rel.Result.Validate = 4, 4, false
	for _, c := range []struct {
		in    decode.Insn
		field corerelo.Field
		bad   bool
	}{
		{decode.Insn{Code: 0x07, Dst: 1}, corerelo.FieldImm, false},         // ALU64 add
		{decode.Insn{Code: 0xb4, Dst: 1}, corerelo.FieldImm, false},         // ALU mov
		{decode.Insn{Code: 0x61, Dst: 1, Src: 2}, corerelo.FieldOff, false}, // LDX
		{decode.Insn{Code: 0x62, Dst: 1}, corerelo.FieldOff, false},         // ST
		{decode.Insn{Code: 0x63, Dst: 1, Src: 2}, corerelo.FieldOff, false}, // STX
		{decode.Insn{Code: 0x18, Dst: 1}, corerelo.FieldImm64, false},       // LD_IMM64
		{decode.Insn{Code: 0x15, Dst: 1}, 0, true},                          // JMP
		{decode.Insn{Code: 0x16, Dst: 1}, 0, true},                          // JMP32
		{decode.Insn{Code: 0x0f, Dst: 1, Src: 2}, 0, true},                  // ALU with a register
	} {
		p, err := rel.Apply([]decode.Insn{c.in, {}}, 0)
		if c.bad {
			assert.ErrorIs(t, err, corerelo.ErrInsn, "%#x", c.in.Code)
			continue
		}
		require.NoError(t, err, "%#x", c.in.Code)
		assert.Equal(t, c.field, p.Field, "%#x", c.in.Code)
	}
}

func testAccessStrings(t *testing.T) {
	l := probe(t, "letters", "letters.kernel")
	var got []string
	for _, r := range l.Functions[0].Relocs {
		got = append(got, r.Access)
	}
	assert.Equal(t, []string{"0:0", "1:0", "0:1:0", "0:1:1:0", "0:1:1:1:1:2:1:5"}, got)
}

func testPipeline(t *testing.T) {
	l := probe(t, "letters", "letters.kernel")
	for _, r := range l.Functions[0].Relocs {
		assert.Positive(t, r.Candidates)
		require.NotNil(t, r.Target)
		assert.Equal(t, r.Local.Last().Name, r.Target.Last().Name)
		assert.Equal(t, r.Result.New, r.Patch.New)
		assert.Equal(t, r.Result.Orig, r.Patch.Old)
	}
}

func testOnlyOffsetsMove(t *testing.T) {
	o := object(t, fixtures+"core/clang-22/arrays.o")
	l := load(t, o, probeBTF(t, "arrays.wider"))
	for i, f := range l.Functions {
		require.Equal(t, len(o.Functions[i].Insns), len(f.Insns))
		for _, r := range f.Relocs {
			if r.Poisoned() || r.Target == nil {
				continue
			}
			for k, step := range r.Local.Path {
				if step.Name == "" {
					assert.Equal(t, step.Index, r.Target.Path[k].Index, "index %d of %s", k, r.Local.Field())
				}
			}
			assert.Equal(t, r.Patch.Before.Op().Info().Class(), r.Patch.After.Op().Info().Class())
		}
	}
}

func testTypeSize(t *testing.T) {
	l := probe(t, "size", "size.grown")
	n := 0
	for _, f := range l.Functions {
		for _, r := range f.Relocs {
			if r.Kind == corerelo.TypeSize && r.Target != nil {
				n++
				size, err := r.Target.BTF.Sizeof(r.Target.Root)
				require.NoError(t, err)
				assert.EqualValues(t, size, r.Patch.New)
			}
		}
	}
	assert.Positive(t, n)
}

func testPoison(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	l := load(t, object(t, fixtures+"objects/clang-14/missing.o"), spec)
	verdicts := map[loader.Verdict]bool{}
	for _, lp := range l.Programs {
		for _, v := range lp.PoisonVerdicts() {
			verdicts[v.Verdict] = true
			assert.EqualValues(t, 195896080, lp.Insns[v.Insn].Imm)
			kind, _, ok := corerelo.ParsePoison(lp.Insns[v.Insn])
			assert.True(t, ok && kind == corerelo.PoisonCORE)
		}
	}
	assert.True(t, verdicts[loader.Dead] && verdicts[loader.Break], "%v", verdicts)
	m, err := machine.New(l, machine.Config{})
	require.NoError(t, err)
	defer m.Close()
	for _, lp := range l.Programs {
		for _, v := range lp.PoisonVerdicts() {
			if v.Verdict != loader.Break {
				continue
			}
			res, err := m.Run(t.Context(), lp.Name, machine.Input{})
			require.NoError(t, err)
			assert.Equal(t, machine.StatusRefused, res.Status, lp.Name)
			assert.Contains(t, fmt.Sprint(res.Fault), "CO-RE relocation failed")
		}
	}
}

// testGuards: an object that asks before it reads runs on a kernel without what it asks for.
func testGuards(t *testing.T) {
	l := load(t, object(t, "../examples/guarded/guarded.bpf.o"), kernel510(t))
	kinds := map[corerelo.Kind]bool{}
	for _, r := range l.Programs[0].Relocs {
		kinds[r.Kind] = true
	}
	assert.True(t, kinds[corerelo.FieldExists] && kinds[corerelo.TypeExists] && kinds[corerelo.EnumvalExists], "%v", kinds)
	for _, v := range l.Programs[0].PoisonVerdicts() {
		assert.Equal(t, loader.Dead, v.Verdict, v.Reloc.Local.Field())
	}
	m, err := machine.New(l, machine.Config{})
	require.NoError(t, err)
	defer m.Close()
	res, err := m.Run(t.Context(), l.Programs[0].Name, machine.Input{})
	require.NoError(t, err)
	assert.Equal(t, machine.StatusOK, res.Status, "%v", res.Fault)
	assert.NotEmpty(t, res.Changes)
}

func testGCC(t *testing.T) {
	o := object(t, fixtures+"objects/gcc-16/gcc.o")
	assert.NotEmpty(t, o.CORERecords())
	l := load(t, o, kernel510(t))
	require.NoError(t, l.Err)
	for _, f := range l.Functions {
		for i := range f.Relocs {
			assert.NoError(t, f.Relocs[i].Err)
		}
	}
}

func testMinimised(t *testing.T) {
	spec := kernel510(t)
	o := object(t, "../examples/guarded/guarded.bpf.o")
	m, err := corerelo.NewMinimizer(spec)
	require.NoError(t, err)
	m.Add(o.BTF, o.CORERecords())
	small, _, err := m.Spec()
	require.NoError(t, err)
	assert.Less(t, small.NumTypes(), 60)
	full, least := load(t, o, spec), load(t, o, small)
	assert.Equal(t, full.Programs[0].Core(), least.Programs[0].Core())
}

func testTrace(t *testing.T) {
	l := load(t, object(t, "../examples/unlink/unlink.bpf.o"), kernel510(t))
	m, err := machine.New(l, machine.Config{})
	require.NoError(t, err)
	defer m.Close()
	var out bytes.Buffer
	_, err = m.Run(t.Context(), l.Programs[0].Name, machine.Input{Trace: &machine.TextTracer{W: &out}})
	require.NoError(t, err)
	assert.Regexp(t, `(?m)^; .* @ .*unlink\.bpf\.c:\d+$`, out.String())
	assert.Regexp(t, `(?m)^\d+: \([0-9a-f]{2}\) r\d = .* ; R\d=0x`, out.String())
	assert.True(t, strings.HasSuffix(strings.TrimSpace(out.String()), "(95) exit"), out.String())
}

func jsonOf(t *testing.T, v any) string {
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}
