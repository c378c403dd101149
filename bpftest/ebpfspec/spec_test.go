package ebpfspec_test

import (
	"bytes"
	"debug/elf"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/bpftest"
	"github.com/bpfrun/bpfrun/bpftest/ebpfspec"
	"github.com/bpfrun/bpfrun/loader"
)

// objects are files whose CollectionSpec must mean the same as the file.
func objects(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob("../../examples/*/*.o")
	require.NoError(t, err)
	more, err := filepath.Glob("../../testdata/objects/clang-14/*.o")
	require.NoError(t, err)
	list = append(list, more...)
	sort.Strings(list)
	return list
}

// TestSpecsMeanWhatTheirFilesDo: the programs of the object that is written of a spec have the
// instructions, after all relocations for a kernel, of those in the file: libbpf's order of
// functions, CO-RE, maps, externs.
func TestSpecsMeanWhatTheirFilesDo(t *testing.T) {
	same, differ := 0, 0
	for _, path := range objects(t) {
		spec, err := ebpf.LoadCollectionSpec(path)
		if err != nil {
			continue // not for cilium/ebpf
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			name, elf, err := ebpfspec.Of(spec).Object()
			if err != nil {
				require.ErrorIs(t, err, ebpfspec.ErrNotSupported)
				t.Skip(err)
			}
			got, err := loader.OpenBytes(name, elf)
			require.NoError(t, err)
			want, err := loader.Open(path)
			require.NoError(t, err)
			target := targetOf(t)
			gotLinked, err := got.Load(target, loader.LoadOptions{})
			if err != nil {
				_, werr := want.Load(target, loader.LoadOptions{})
				require.Error(t, werr, "the file loads, the spec does not: %v", err)
				t.Skip(err)
			}
			wantLinked, err := want.Load(target, loader.LoadOptions{})
			require.NoError(t, err)
			for _, w := range wantLinked.Programs {
				g, ok := gotLinked.Program(w.Name)
				if !ok {
					require.Nil(t, spec.Programs[w.Name], "program %s is missing", w.Name)
					continue
				}
				assert.Equal(t, w.Type, g.Type, w.Name)
				assert.Equal(t, w.AttachTo, g.AttachTo, w.Name)
				if !assert.Equal(t, len(w.Insns), len(g.Insns), w.Name) {
					continue
				}
				for pc := range w.Insns {
					if !assert.Equal(t, w.Insns[pc], g.Insns[pc], "%s[%d]", w.Name, pc) {
						differ++
						break
					}
					wl, wok := w.LineAt(pc)
					gl, gok := g.LineAt(pc)
					assert.Equal(t, wok, gok, "%s[%d]", w.Name, pc)
					if !assert.Equal(t, []any{wl.File, wl.Line, strings.TrimSpace(wl.Text)}, []any{gl.File, gl.Line, strings.TrimSpace(gl.Text)}, "%s[%d]", w.Name, pc) {
						break
					}
				}
				same++
			}
			for _, m := range got.Maps {
				var file *loader.Map
				for _, x := range want.Maps {
					if x.Name == m.Name {
						file = x
					}
				}
				if assert.NotNil(t, file, m.Name) {
					if file.KeySize == 0 && file.ValueSize != 0 && m.ValueSize == 0 {
						m.ValueSize = file.ValueSize // cilium/ebpf forgets those of buffers
					}
					assert.Equal(t, []any{file.Type, file.KeySize, file.ValueSize, file.MaxEntries, file.Flags, file.DataKind, file.Extra},
						[]any{m.Type, m.KeySize, m.ValueSize, m.MaxEntries, m.Flags, m.DataKind, m.Extra}, m.Name)
				}
			}
		})
	}
	t.Logf("%d programs are the same, %d differ", same, differ)
	assert.Greater(t, same, 100)
}

func targetOf(t *testing.T) *loader.Target {
	t.Helper()
	spec, err := kernelTypes()
	require.NoError(t, err)
	return loader.NewTarget("linux-6.12.107-amd64", spec)
}

// TestChangesOfASpec: what callers change before they load counts.
func TestChangesOfASpec(t *testing.T) {
	spec, err := ebpf.LoadCollectionSpec("../../examples/globals/globals.bpf.o")
	require.NoError(t, err)
	require.NoError(t, spec.Variables["target_tgid"].Set(uint32(77)))
	require.NoError(t, spec.Variables["limit"].Set(uint64(1)))
	require.NoError(t, spec.Variables["total"].Set(uint64(5))) // .bss
	obj := bpftest.New(t).Load(ebpfspec.Of(spec))
	assert.Equal(t, uint32(77), bpftest.Get[uint32](obj, "target_tgid"))
	assert.Equal(t, uint64(1), bpftest.Get[uint64](obj, "limit"))
	assert.Equal(t, uint64(5), bpftest.Get[uint64](obj, "total"))
	run := func(tgid int) {
		obj.Program("on_sys_enter").Run(bpftest.Input{Current: obj.Task(bpftest.Fields{"pid": tgid, "tgid": tgid})})
	}
	run(76)
	assert.Zero(t, bpftest.Get[uint64](obj, "over_limit"))
	run(77)
	assert.Equal(t, uint64(1), bpftest.Get[uint64](obj, "over_limit"))

	spec, err = ebpf.LoadCollectionSpec("../../examples/exec/exec.bpf.o")
	require.NoError(t, err)
	spec.Maps["execs_by_uid"].MaxEntries = 2
	spec.Maps["execs_by_uid"].Contents = []ebpf.MapKV{{Key: uint32(7), Value: uint64(9)}}
	obj = bpftest.New(t).Load(ebpfspec.Of(spec))
	m := obj.Map("execs_by_uid")
	assert.Equal(t, 2, m.MaxEntries())
	assert.Equal(t, uint64(9), bpftest.Value[uint64](m, uint32(7)))

	spec.Maps["execs_by_uid"].Contents = []ebpf.MapKV{{Key: uint64(7), Value: uint64(9)}}
	_, err = bpftest.New(t).TryLoad(ebpfspec.Of(spec))
	assert.ErrorIs(t, err, bpftest.ErrSize)
}

// TestAttachTargetsOfASpec: a program may be attached to something else than its section name says.
func TestAttachTargetsOfASpec(t *testing.T) {
	spec, err := ebpf.LoadCollectionSpec("../../examples/tp_btf/tp_btf.bpf.o")
	require.NoError(t, err)
	assert.NoError(t, bpftest.New(t).Load(ebpfspec.Of(spec)).Program("on_wakeup").Err())
	spec.Programs["on_wakeup"].AttachTo = "sched_nothing"
	obj := bpftest.New(t).Load(ebpfspec.Of(spec))
	assert.ErrorIs(t, obj.Program("on_wakeup").Err(), bpftest.ErrAbsent)
	assert.NoError(t, obj.Program("on_switch").Err())
}

// TestProgramArraysOfASpec: contents that name programs and maps.
func TestProgramArraysOfASpec(t *testing.T) {
	spec, err := ebpf.LoadCollectionSpec("../../testdata/objects/clang-14/maps_values.o")
	require.NoError(t, err)
	obj := bpftest.New(t).Load(ebpfspec.Of(spec))
	first := obj.Program("first")
	assert.Equal(t, int32(33), first.Run(bpftest.Input{Fields: map[string]uint64{"mark": 3}}).Ret)
	assert.Equal(t, int32(11), first.Run(bpftest.Input{Fields: map[string]uint64{"mark": 1}}).Ret)
}

// TestSpecsWithoutAFile: programs that are assembled in Go.
func TestSpecsWithoutAFile(t *testing.T) {
	spec := &ebpf.CollectionSpec{
		Maps: map[string]*ebpf.MapSpec{"counts": {Name: "counts", Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 2}},
		Programs: map[string]*ebpf.ProgramSpec{"pass": {
			Name: "pass", Type: ebpf.XDP, License: "GPL",
			Instructions: asm.Instructions{
				asm.StoreImm(asm.RFP, -4, 1, asm.Word),
				asm.Mov.Reg(asm.R2, asm.RFP),
				asm.Add.Imm(asm.R2, -4),
				asm.LoadMapPtr(asm.R1, 0).WithReference("counts"),
				asm.FnMapLookupElem.Call(),
				asm.JEq.Imm(asm.R0, 0, "out"),
				asm.Mov.Imm(asm.R1, 1),
				asm.StoreXAdd(asm.R0, asm.R1, asm.DWord),
				asm.Mov.Imm(asm.R0, 2).WithSymbol("out"),
				asm.Return(),
			},
		}},
	}
	_, _, err := ebpfspec.Of(spec).Object()
	require.ErrorIs(t, err, ebpfspec.ErrNotSupported, "jumps to labels")
	insns := spec.Programs["pass"].Instructions
	insns[5], insns[8] = asm.JEq.Imm(asm.R0, 0, ""), asm.Mov.Imm(asm.R0, 2)
	insns[5].Offset = 2
	obj := bpftest.New(t).Load(ebpfspec.Of(spec))
	assert.Equal(t, "XDP_PASS", obj.Program("pass").Run().Verdict())
	assert.Equal(t, map[uint32]uint64{0: 0, 1: 1}, bpftest.Elements[uint32, uint64](obj.Map("counts")))
}

func TestSpecsThatAreRefused(t *testing.T) {
	k := bpftest.New(t)
	for want, spec := range map[string]*ebpf.CollectionSpec{
		"is nil":                   nil,
		"no instructions":          {Programs: map[string]*ebpf.ProgramSpec{"p": {Type: ebpf.XDP}}},
		"no section name":          {Programs: map[string]*ebpf.ProgramSpec{"p": {Type: ebpf.LSM, Instructions: asm.Instructions{asm.Return()}}}},
		"map s: type StructOpsMap": {Maps: map[string]*ebpf.MapSpec{"s": {Name: "s", Type: ebpf.StructOpsMap}}},
		"refers to nothing": {Programs: map[string]*ebpf.ProgramSpec{"p": {Type: ebpf.XDP, Instructions: asm.Instructions{
			asm.LoadMapPtr(asm.R1, 0).WithReference("nothing"), asm.Return(),
		}}}},
	} {
		_, err := k.TryLoad(ebpfspec.Of(spec))
		assert.ErrorContains(t, err, want)
	}
}

// TestRelocationsOfASpec: calls have relocations of calls, of functions of the kernel too, and
// addresses those of addresses.
func TestRelocationsOfASpec(t *testing.T) {
	const abs64, rel32 = 1, 10 // R_BPF_64_64, R_BPF_64_32
	seen := map[byte]int{}
	for _, name := range []string{"needs.o", "subprog.o"} {
		spec, err := ebpf.LoadCollectionSpec("../../testdata/objects/clang-14/" + name)
		require.NoError(t, err)
		_, b, err := ebpfspec.Of(spec).Object()
		require.NoError(t, err)
		f, err := elf.NewFile(bytes.NewReader(b))
		require.NoError(t, err)
		for _, s := range f.Sections {
			if s.Type != elf.SHT_REL || f.Sections[s.Info].Flags&elf.SHF_EXECINSTR == 0 {
				continue
			}
			rels, err := s.Data()
			require.NoError(t, err)
			code, err := f.Sections[s.Info].Data()
			require.NoError(t, err)
			for ; len(rels) >= 16; rels = rels[16:] {
				op := code[f.ByteOrder.Uint64(rels)]
				seen[op]++
				assert.Equal(t, map[byte]uint32{0x85: rel32, 0x18: abs64}[op], uint32(f.ByteOrder.Uint64(rels[8:])), "%s %s: %#x", name, s.Name, op)
			}
		}
	}
	assert.NotZero(t, seen[0x85])
	assert.NotZero(t, seen[0x18])
}
