package selftests

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// relocCase is a case of prog_tests/core_reloc.c.
type relocCase struct {
	Name, Object, Target, Program string
	// Fails means that the object or the program must not load, MinFails that a minimised target
	// cannot be made for it.
	Fails    bool
	MinFails bool `json:"min_fails"`
	In, Out  hexBytes
}

// The programs share a variable: input and output areas; most have a flag too, set by programs
// compiled by an old compiler, and the task that they are to do something for.
const (
	inOffset   = 0
	outOffset  = 256
	skipOffset = 512
	taskOffset = 520
)

func TestCoreReloc(t *testing.T) {
	cases := table[relocCase](t, "reloc.jsonl")
	passed := 0
	for _, c := range cases {
		if t.Run(c.Name, func(t *testing.T) { c.check(t, c.target(t)) }) {
			passed++
		}
	}
	t.Logf("core_reloc: %d of %d", passed, len(cases))
	assert.Len(t, cases, 77)
}

// TestCoreRelocMinimised is the kernel's core_reloc_btfgen: the same with targets cut down to what
// the object needs.
func TestCoreRelocMinimised(t *testing.T) {
	passed, all := 0, 0
	for _, c := range table[relocCase](t, "reloc.jsonl") {
		if c.Target == "" || c.MinFails {
			continue
		}
		all++
		if t.Run(c.Name, func(t *testing.T) {
			o := open(t, c.Object)
			m, err := corerelo.NewMinimizer(c.target(t).BTF)
			require.NoError(t, err)
			m.Add(o.BTF, o.CORERecords())
			small, ids, err := m.Spec()
			require.NoError(t, err)
			want := c
			if c.Object == "test_core_reloc_type_id.bpf.o" {
				want.Out = movedIDs(c.Out, ids)
			}
			want.check(t, loader.NewTarget(release, small))
		}) {
			passed++
		}
	}
	t.Logf("core_reloc_btfgen: %d of %d", passed, all)
}

func (c *relocCase) target(t *testing.T) *loader.Target {
	if c.Target != "" {
		spec, err := btffile.Load(filepath.Join(directory(t), c.Target), nil)
		require.NoError(t, err)
		return loader.NewTarget(release, spec)
	}
	target := loader.NewTarget(release, vmlinux(t))
	if c.Object == "test_core_reloc_module.bpf.o" {
		target.Modules = []loader.Module{{Name: "bpf_testmod", BTF: testModule(t)}}
	}
	return target
}

// testModule makes the BTF of a module with the tracepoint that the module cases attach to:
// read(task, context), and with types of functions that take functions.
func testModule(t *testing.T) *btf.Spec {
	base := vmlinux(t)
	id := func(kind btf.Kind, name string) btf.ID {
		id, ok := base.FindID(kind, name)
		require.True(t, ok, name)
		return id
	}
	b := btf.NewBuilder(base)
	ctx := b.Struct("bpf_testmod_test_read_ctx", 24,
		btf.Member{Name: "buf", Type: b.Ptr(id(btf.KindInt, "char"))},
		btf.Member{Name: "off", Type: id(btf.KindTypedef, "loff_t"), BitOffset: 64},
		btf.Member{Name: "len", Type: id(btf.KindTypedef, "size_t"), BitOffset: 128})
	proto := b.Add(btf.Type{Kind: btf.KindFuncProto, Params: []btf.Param{
		{Type: b.Ptr(0)}, {Type: b.Ptr(id(btf.KindStruct, "task_struct"))}, {Type: b.Ptr(ctx)},
	}})
	b.Mod(btf.KindTypedef, "btf_trace_bpf_testmod_test_read", b.Ptr(proto))
	integer, param := id(btf.KindInt, "int"), id(btf.KindInt, "long int")
	for _, name := range []string{"func_proto_typedef", "func_proto_typedef_nested1", "func_proto_typedef_nested2"} {
		param = b.Mod(btf.KindTypedef, name, b.Ptr(b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: integer, Params: []btf.Param{{Type: param}}})))
	}
	spec, err := b.Spec(base.ByteOrder())
	require.NoError(t, err)
	return spec
}

func (c *relocCase) check(t *testing.T, target *loader.Target) {
	l, err := open(t, c.Object).Load(target, loader.LoadOptions{})
	require.NoError(t, err)
	why := refusal(t, l, c.Program)
	if c.Fails && why != "" {
		t.Log(why)
		return
	}
	require.Empty(t, why)
	m := newMachine(t, l)
	data, err := m.ReadVariable("data")
	require.NoError(t, err)
	copy(data[inOffset:], c.In)
	if len(data) > taskOffset {
		copy(data[taskOffset:], little64(pidTgid(m)))
	}
	require.NoError(t, m.WriteVariable("data", data))
	res := run(t, m, c.Program, c.input(t, m))
	if c.Fails {
		// Whether the poisoned instruction is reached depends on what a helper returns: the
		// verifier assumes it, here it is run.
		assert.Equal(t, machine.StatusRefused, res.Status, "must not load: %v", res.Fault)
		t.Log(res.Fault)
		return
	}
	require.True(t, ran(res), "%s: %v", res.Status, res.Fault)
	data, err = m.ReadVariable("data")
	require.NoError(t, err)
	if len(data) > skipOffset {
		require.Zero(t, data[skipOffset], "compiled by a compiler that lacks a builtin")
	}
	assert.Equal(t, []byte(c.Out), data[outOffset:outOffset+len(c.Out)])
}

// input gives the module's tracepoint its arguments: the current task and a read of as many bytes
// as the case wants to see.
func (c *relocCase) input(t *testing.T, m *machine.Machine) machine.Input {
	if c.Object != "test_core_reloc_module.bpf.o" {
		return machine.Input{}
	}
	spec := m.Linked().Target.Modules[0].BTF
	id, ok := spec.FindID(btf.KindStruct, "bpf_testmod_test_read_ctx")
	require.True(t, ok)
	ctx, err := m.Kernel().NewObjectOf(spec, "read", id)
	require.NoError(t, err)
	require.NoError(t, ctx.SetUint("len", 123))
	require.NoError(t, ctx.SetUint("off", 0))
	return machine.Input{Args: map[string]any{"arg1": m.Kernel().Current(), "arg2": ctx}}
}

// targetIDs is the number of target type ids, each of 4 bytes, at the end of the output of the type
// id cases.
const targetIDs = 7

// movedIDs rewrites the ids of target types to those of a minimised target.
func movedIDs(out []byte, ids map[btf.ID]btf.ID) []byte {
	out = bytes.Clone(out)
	for p := out[len(out)-4*targetIDs:]; len(p) > 0; p = p[4:] {
		binary.LittleEndian.PutUint32(p, uint32(ids[btf.ID(binary.LittleEndian.Uint32(p))]))
	}
	return out
}
