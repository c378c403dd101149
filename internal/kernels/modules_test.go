package kernels

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/elfbuild"
)

// moduleOf is a module's file with split BTF that continues a kernel's: one function.
func moduleOf(t *testing.T, kernel []byte, function string) []byte {
	t.Helper()
	base, err := btf.LoadBytes("vmlinux", kernel, nil)
	require.NoError(t, err)
	b := btf.NewBuilder(base)
	b.Add(btf.Type{Kind: btf.KindFunc, Name: function, Ref: b.Add(btf.Type{Kind: btf.KindFuncProto})})
	raw, err := b.Marshal(binary.LittleEndian)
	require.NoError(t, err)
	e := elfbuild.New(binary.LittleEndian)
	e.Section(".BTF", elf.SHT_PROGBITS, 0, raw)
	return e.Bytes()
}

// debOf is a Debian package with files.
func debOf(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	out := []byte("!<arch>\n")
	for _, m := range []struct {
		name string
		data []byte
	}{{"debian-binary", []byte("2.0\n")}, {"data.tar", archive(t, files)}} {
		out = append(fmt.Appendf(out, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", m.name, 0, 0, 0, "100644", len(m.data)), m.data...)
		if len(m.data)%2 != 0 {
			out = append(out, '\n')
		}
	}
	return out
}

func TestModulesComeWithTheirKernel(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, data, 0o644))
		return path
	}
	const in = "./lib/modules/6.1.0-9-amd64/kernel/"
	kernel := types(t, "task_struct")
	image := write("linux-image-6.1.0-9-amd64_6.1.100-1_amd64.deb", debOf(t, map[string][]byte{
		"./boot/vmlinux-6.1.0-9-amd64": kernel, in + "ext4.ko": moduleOf(t, kernel, "ext4_file_open"), in + "md-mod.ko": moduleOf(t, kernel, "md_flush_request"),
	}))
	extra := write("linux-modules-extra-6.1.0-9-amd64_6.1.100-1_amd64.deb", debOf(t, map[string][]byte{in + "nfs.ko": moduleOf(t, kernel, "nfs_file_open")}))
	p := pathOf(filepath.Join(t.TempDir(), "own"))
	p.Own = p.Places[0].Pattern

	_, _, err := p.Add(extra, "")
	assert.ErrorContains(t, err, "add linux-image-6.1.0-9-amd64")
	added, n, err := p.Add(image, "")
	require.NoError(t, err)
	require.Len(t, added, 1)
	assert.Equal(t, 2, n)
	again, n, err := p.Add(extra, "")
	require.NoError(t, err)
	assert.Equal(t, 3, n, "those that were there stay")
	assert.Equal(t, added[0].ID, again[0].ID)
	require.Len(t, p.List(), 1, "modules are no kernels")

	kept, packaged := p.List()[0].Source, FileSource(image)
	for _, s := range []Source{kept, packaged} {
		spec, err := s.Load(nil)
		require.NoError(t, err)
		for name, function := range map[string]string{"ext4": "ext4_file_open", "md-mod": "md_flush_request"} {
			mod, file, err := s.Module(name, spec)
			require.NoError(t, err, name)
			_, ok := mod.Find(btf.KindFunc, function)
			assert.True(t, ok, name)
			assert.FileExists(t, file)
		}
		_, _, err = s.Module("ext3", spec)
		assert.ErrorIs(t, err, ErrNoModule)
		assert.ErrorContains(t, err, "nearest: ext4")
	}
	for _, s := range []Source{EmbeddedSource(), FileSource(write("6.2-amd64.btf", kernel))} {
		_, _, err := s.Module("ext4", nil)
		assert.ErrorIs(t, err, ErrNoModules, s.Name)
	}
	assert.NotEmpty(t, kept.ModulesFile())
	assert.Equal(t, map[string]string{"ext4_file_open": "ext4", "nfs_file_open": "nfs"}, kept.ModulesWith([]string{"nfs_file_open", "ext4_file_open", "ext4_file"}))

	_, n, err = p.Add(write("6.1.100-amd64-debian.btf", kernel), "")
	require.NoError(t, err)
	assert.Zero(t, n)
	assert.Empty(t, kept.ModulesFile(), "another kernel has that name now")

	// What is damaged fails with the name of the file.
	_, _, err = p.Add(image, "")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(kept.ModulesFile(), []byte("PK"), 0o644))
	_, _, err = kept.Module("ext4", nil)
	assert.Error(t, err)
	_, _, err = p.Add(extra, "")
	assert.Error(t, err)

	defer func(most int) { mostModules = most }(mostModules)
	mostModules = 32 // less than one of them
	_, _, err = p.Add(image, "")
	assert.ErrorIs(t, err, btf.ErrTooLarge)
}
