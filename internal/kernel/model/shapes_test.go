package model

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/kernel/window"
	"github.com/bpfrun/bpfrun/internal/mem"
)

// nowhere has no objects besides those of its space.
type nowhere struct{ object.Surroundings }

func (nowhere) ObjectAt(uint64) *object.Object { return nil }

// modelOf makes a model of a kernel that has structs with these names, each with a pointer "root"
// and a number "nr_mounts".
func modelOf(t *testing.T, arch string, structs ...string) *Model {
	t.Helper()
	b := btf.NewBuilder(nil)
	u32, ptr := b.Int("unsigned int", 4, 0), b.NextID()
	b.Ptr(ptr + 1)
	for _, name := range structs {
		b.Struct(name, 16, btf.Member{Name: "root", Type: ptr}, btf.Member{Name: "nr_mounts", Type: u32, BitOffset: 64})
	}
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	mm, err := mem.New(mem.Config{})
	require.NoError(t, err)
	t.Cleanup(mm.Close)
	s := object.New(object.Config{Mem: mm, Types: object.NewTypes(), BTF: spec, CPUs: 2, Arch: arch, Around: nowhere{}})
	u, err := window.NewUser(s)
	require.NoError(t, err)
	return NewModel(s, u)
}

// TestWhichFilesAreSockets: three descriptors of a process's table are, and nothing else.
func TestWhichFilesAreSockets(t *testing.T) {
	m := modelOf(t, "x86", "file", "inode")
	_, ok := socketFileOf(nil)
	assert.False(t, ok)
	for _, tt := range []struct{ role, typ, want string }{
		{"current.files.fdt.fd[7]", "file", ""},
		{"current.files.fdt.fd[8]", "file", "TCP"},
		{"current.files.fdt.fd[9]", "file", "TCP"},
		{"current.files.fdt.fd[10]", "file", "UDP"},
		{"current.files.fdt.fd[11]", "file", ""},
		{"current.files.fdt.fd[264]", "file", ""},
		{"current.files.fd_array[8]", "file", "TCP"},
		{"fd[8]", "file", "TCP"},
		{"fd[8]", "inode", ""},
		{"fd[8].f_path", "file", ""},
		{"fd", "file", ""},
		{"fd[x]", "file", ""},
		{"fds[8]", "file", ""},
		{"array[8]", "file", ""},
	} {
		o, err := m.NewObjectNamed(tt.role, tt.typ)
		require.NoError(t, err)
		s, ok := socketFileOf(o)
		assert.Equal(t, tt.want != "", ok, "%s %s", tt.typ, tt.role)
		assert.Equal(t, tt.want, s.name, "%s %s", tt.typ, tt.role)
	}
}

// TestShapesOfKernelStacks: what is free above the registers of user mode. FRED is of x86.
func TestShapesOfKernelStacks(t *testing.T) {
	for _, tt := range []struct {
		arch        string
		plain, fred stackShape
	}{
		{"x86", stackShape{16384, 0, 1}, stackShape{16384, 16, 1}},
		{"arm64", stackShape{16384, 0, 1}, stackShape{16384, 0, 1}},
		{"riscv", stackShape{16384, 0, 16}, stackShape{16384, 0, 16}},
		{"arm", stackShape{8192, 8, 1}, stackShape{8192, 8, 1}},
		{"s390", stackShape{16384, 0, 1}, stackShape{16384, 0, 1}},
		{"another", stackShape{16384, 0, 1}, stackShape{16384, 0, 1}},
	} {
		assert.Equal(t, tt.plain, modelOf(t, tt.arch, "pt_regs").stackShape(), tt.arch)
		assert.Equal(t, tt.fred, modelOf(t, tt.arch, "pt_regs", fredFrame).stackShape(), tt.arch)
	}
}

// TestMountNamespacesOfFewTypes: a namespace has mounts only where the target has both types of
// which one consists.
func TestMountNamespacesOfFewTypes(t *testing.T) {
	for _, tt := range []struct {
		types []string
		want  uint64
	}{
		{[]string{"mount", "vfsmount"}, uint64(len(mounts))},
		{[]string{"mount"}, 0},
		{[]string{"vfsmount"}, 0},
		{nil, 0},
	} {
		m := modelOf(t, "x86", append(tt.types, "mnt_namespace")...)
		o, err := m.NewObjectNamed("namespace", "mnt_namespace")
		require.NoError(t, err)
		o.MarkBuiltin()
		assert.True(t, m.Fill("mnt_namespace", object.Fill(o)))
		assert.Equal(t, tt.want, o.Stored(field(t, o, "nr_mounts")), "%v", tt.types)
		assert.NoError(t, m.Err())
	}
}

func field(t *testing.T, o *object.Object, path string) object.Field {
	t.Helper()
	f, _, err := o.Layout().Place(path)
	require.NoError(t, err)
	return f
}

// TestTypesWithContent: a type has a filler of its own, or one as the state of a controller.
func TestTypesWithContent(t *testing.T) {
	for _, typ := range stateTypes {
		assert.Nil(t, fillers[typ], "%s has one filler", typ)
	}
	m := modelOf(t, "x86", "pids_cgroup", "other")
	for typ, want := range map[string]bool{"pids_cgroup": true, "other": false} {
		o, err := m.NewObjectNamed(typ, typ)
		require.NoError(t, err)
		assert.Equal(t, want, m.Fill(typ, object.Fill(o)), typ)
	}
}
