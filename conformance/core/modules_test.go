package core

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// asModule makes split BTF that continues base with the types of s.
func asModule(t *testing.T, base, s *btf.Spec) *btf.Spec {
	b := btf.NewBuilder(base)
	shift := btf.ID(base.NumTypes() - 1)
	move := func(id btf.ID) btf.ID {
		if id == 0 {
			return 0
		}
		return id + shift
	}
	for id := btf.ID(1); int(id) < s.NumTypes(); id++ {
		typ := *s.MustType(id)
		switch typ.Kind {
		case btf.KindInt, btf.KindStruct, btf.KindUnion, btf.KindEnum, btf.KindEnum64, btf.KindFwd, btf.KindFloat, btf.KindDatasec:
		default:
			typ.Ref = move(typ.Ref)
		}
		if typ.Kind == btf.KindArray {
			typ.Array.Index = move(typ.Array.Index)
		}
		members, params, vars := append([]btf.Member{}, typ.Members...), append([]btf.Param{}, typ.Params...), append([]btf.VarSecinfo{}, typ.Vars...)
		for i := range members {
			members[i].Type = move(members[i].Type)
		}
		for i := range params {
			params[i].Type = move(params[i].Type)
		}
		for i := range vars {
			vars[i].Type = move(vars[i].Type)
		}
		typ.Members, typ.Params, typ.Vars = members, params, vars
		b.Add(typ)
	}
	spec, err := b.Spec(s.ByteOrder())
	require.NoError(t, err)
	return spec
}

// TestProbesFromModules runs every probe with its types in a module's BTF, split from that of a
// kernel that has none of them: relocations find them there, and the programs compute what they do
// when the kernel has them, but for the ids of types.
func TestProbesFromModules(t *testing.T) {
	f, err := os.Open(data + "core/expect-run.clang-22.jsonl")
	require.NoError(t, err)
	defer f.Close()
	ran := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		var l runLine
		require.NoError(t, json.Unmarshal(s.Bytes(), &l))
		if l.Load != "" || l.Alone || l.Object == "err_enum_u32.o" {
			continue
		}
		name := l.Object + " " + l.BTF + " " + l.Program
		target, err := btffile.Load(filepath.Join(data, "core", "btf", l.BTF), nil)
		require.NoError(t, err)
		if target.PointerSize() != 8 {
			continue // the machine is the kernel's, whose pointers have 8 bytes here
		}
		b := btf.NewBuilder(nil)
		b.Int("unrelated_to_all", 4, 0)
		base, err := b.Spec(target.ByteOrder())
		require.NoError(t, err)

		path := filepath.Join(data, "core", "clang-22", l.Object)
		obj, err := loader.Open(path)
		require.NoError(t, err)
		var types []loader.Option
		for _, p := range obj.Programs {
			types = append(types, loader.WithType(p.Name, uapi.ProgTypeSyscall))
		}
		obj, err = loader.Open(path, types...)
		require.NoError(t, err)
		kernel := loader.NewTarget("6.18", base, loader.WithModules(loader.Module{Name: "m", BTF: asModule(t, base, target)}))
		linked, err := obj.Load(kernel, loader.LoadOptions{})
		require.NoError(t, err)
		require.NoError(t, linked.Err, name)
		in, _ := variable(t, linked, "in")
		for i := range in {
			in[i] = byte(i*7 + 1)
		}
		m, err := machine.New(linked, machine.Config{})
		require.NoError(t, err)
		res, err := m.Run(t.Context(), l.Program, machine.Input{})
		require.NoError(t, err)
		require.Equal(t, machine.StatusOK, res.Status, "%s: %v", name, res.Fault)
		if l.Object != "types.o" { // its output has ids
			assert.Equal(t, l.Out, outOf(t, m, linked), name)
			ran++
		}
		m.Close()
	}
	assert.Greater(t, ran, 50)
}

// TestBrokenModule: a module whose BTF cannot be read keeps nobody from the kernel's types and
// those of other modules: it is left out, and named, by the command (cmd/bpfrun
// testdata/script/broken_module.txtar); what is read here says why.
func TestBrokenModule(t *testing.T) {
	spec, err := btffile.Load(data+"core/btf/letters.kernel.btf", nil)
	require.NoError(t, err)
	whole := asModule(t, spec, spec).Raw()
	for name, broken := range map[string][]byte{
		"header alone":             whole[:24],
		"cut":                      whole[:len(whole)-1],
		"of another kernel":        bytes.Clone(asModule(t, asModule(t, spec, spec), spec).Raw()),
		"a kind from the future":   edited(whole, func(p []byte) { p[24+7] = 31 }),
		"string table without end": edited(whole, func(p []byte) { p[len(p)-1] = 'x' }),
	} {
		mod, err := btf.Parse(broken, spec)
		if name == "header alone" || name == "of another kernel" && err == nil {
			continue // a BTF that claims nothing, or one whose ids happen to exist
		}
		assert.Error(t, err, name)
		assert.Nil(t, mod, name)
	}
}

func edited(p []byte, edit func([]byte)) []byte {
	p = bytes.Clone(p)
	edit(p)
	return p
}
