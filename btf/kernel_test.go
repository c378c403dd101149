package btf_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/btf/embedded"
)

func kernel(t testing.TB) *btf.Spec {
	s, err := embedded.Spec()
	require.NoError(t, err)
	return s
}

func dump(t testing.TB, s *btf.Spec) string {
	var b bytes.Buffer
	require.NoError(t, btf.DumpRaw(&b, s))
	return b.String()
}

// TestRebuildKernel: parsing, building and parsing again changes no type, in
// either byte order.
func TestRebuildKernel(t *testing.T) {
	s := kernel(t)
	want := dump(t, s)
	for _, bo := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		b := btf.NewBuilder(nil)
		b.AddSpec(s)
		again, err := b.Spec(bo)
		require.NoError(t, err)
		assert.Equal(t, bo, again.ByteOrder())
		assert.Equal(t, s.NumTypes(), again.NumTypes())
		assert.True(t, want == dump(t, again), "%v: the raw dumps differ", bo)
		for id := range btf.ID(s.NumTypes()) {
			if id%7 == 0 {
				require.Equal(t, s.MustType(id), again.MustType(id))
			}
		}
	}
}

func TestKernelLookups(t *testing.T) {
	s := kernel(t)
	task, ok := s.Find(btf.KindStruct, "task_struct")
	require.True(t, ok)
	for path, off := range map[string]uint32{"pid": 2432, "comm": 2976, "real_parent": 2448, "cred": 2960, "mm": 2304} {
		f, err := s.ResolvePath(task.ID, path)
		require.NoError(t, err)
		assert.Equal(t, off, f.Offset(), path)
		size, err := s.Sizeof(f.Type)
		require.NoError(t, err)
		back, _, exact := s.FieldAt(task.ID, off, int(size))
		assert.Equal(t, path, back)
		assert.True(t, exact)
	}
	proto, _, ok := s.FuncProto("do_unlinkat")
	require.True(t, ok)
	require.Len(t, proto.Params, 2)
	assert.Equal(t, "struct filename *", s.TypeString(proto.Params[1].Type))
	v, ok := s.EnumValue("bpf_func_id", "BPF_FUNC_map_lookup_elem")
	assert.True(t, ok)
	assert.EqualValues(t, 1, v)
	assert.Contains(t, s.Named("task_struct"), task.ID)
	_, err := s.ResolvePath(task.ID, "real_parrent")
	assert.ErrorContains(t, err, "real_parent")
}

// TestIndexAgreesWithScan: the index finds exactly what a walk over all types
// finds.
func TestIndexAgreesWithScan(t *testing.T) {
	s := kernel(t)
	byName := make(map[string][]btf.ID)
	for id := btf.ID(1); int(id) < s.NumTypes(); id++ {
		if n := s.Name(id); n != "" {
			e := btf.EssentialName(n)
			byName[e] = append(byName[e], id)
		}
	}
	for name, ids := range byName {
		if got := s.Named(name); !assert.Equal(t, ids, got, name) {
			return
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	s, err := btf.Parse(kernel(t).Raw(), nil)
	require.NoError(t, err)
	var wg sync.WaitGroup
	types := make([]*btf.Type, 8)
	for g := range types {
		wg.Go(func() {
			for id := range btf.ID(4000) {
				s.MustType(id)
				s.TypeString(id)
			}
			types[g], _ = s.Find(btf.KindStruct, "task_struct")
			s.EnumValue("", "TCP_ESTABLISHED")
			s.FormatString(types[g].ID, make([]byte, types[g].Size))
		})
	}
	wg.Wait()
	for _, p := range types {
		assert.Same(t, types[0], p)
	}
}

// TestFormatKernelTypes formats, encodes and compares zeroed and patterned
// memory of real structs.
func TestFormatKernelTypes(t *testing.T) {
	s := kernel(t)
	for _, name := range []string{"task_struct", "sk_buff", "file", "tcp_sock", "cred", "bpf_prog"} {
		typ, ok := s.Find(btf.KindStruct, name)
		require.True(t, ok, name)
		data := make([]byte, typ.Size)
		for i := range data {
			data[i] = byte(i * 7)
		}
		v, err := s.DecodeValue(typ.ID, data, btf.DecodeOptions{})
		require.NoError(t, err)
		out := make([]byte, typ.Size)
		require.NoError(t, s.EncodeValue(typ.ID, v, out), name)
		again, err := s.DecodeValue(typ.ID, out, btf.DecodeOptions{})
		require.NoError(t, err)
		assert.Equal(t, btf.FormatValue(v, btf.FormatOptions{}), btf.FormatValue(again, btf.FormatOptions{}), name)
	}
}

// TestDumpRawAgainstBpftool compares with an installed bpftool.
func TestDumpRawAgainstBpftool(t *testing.T) {
	tool, err := exec.LookPath("bpftool")
	if err != nil {
		t.Skip("bpftool is not installed")
	}
	dir := os.Getenv("BPFRUN_CORPUS")
	if dir == "" {
		t.Skip("BPFRUN_CORPUS is not set: no BTF of real kernels to test with")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "btf", "*.btf.xz"))
	modules, _ := filepath.Glob(filepath.Join(dir, "btf", "modules", "*.btf.xz"))
	tmp := t.TempDir()
	raws := make(map[string]string)
	specs := make(map[string]*btf.Spec)
	for _, f := range append(files, modules...) {
		name := strings.TrimSuffix(filepath.Base(f), ".btf.xz")
		t.Run(name, func(t *testing.T) {
			var base *btf.Spec
			args := []string{"btf", "dump", "file", ""}
			if strings.Contains(f, "modules") {
				on := strings.TrimSuffix(name, filepath.Ext(name))
				base = specs[on]
				args = append([]string{"-B", raws[on]}, args...)
			}
			s, err := btffile.Load(f, base)
			require.NoError(t, err)
			raw := filepath.Join(tmp, name)
			if base == nil {
				specs[name], raws[name] = s, raw
			}
			require.NoError(t, os.WriteFile(raw, s.Raw(), 0o644))
			args[len(args)-1] = raw
			want, err := exec.Command(tool, args...).Output()
			if err != nil {
				t.Skip("this bpftool does not read it: " + err.Error())
			}
			assert.True(t, string(want) == dump(t, s), "the dump differs from bpftool's")
		})
	}
}

// TestRefIsThatOfTheType: what a type refers to is the same before it is decoded.
func TestRefIsThatOfTheType(t *testing.T) {
	s := kernel(t)
	for id := range btf.ID(s.NumTypes()) {
		want := btf.ID(0)
		if typ := s.MustType(id); typ.Kind != btf.KindArray {
			want = typ.Ref
		}
		require.Equal(t, want, s.Ref(id), "%d", id)
	}
	assert.Zero(t, s.Ref(btf.ID(s.NumTypes())))
}
