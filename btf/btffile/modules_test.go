package btffile

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/elfbuild"
)

// module is a module's file with BTF, or without any.
func module(raw []byte) []byte {
	b := elfbuild.New(binary.LittleEndian)
	if raw != nil {
		b.Section(".BTF", elf.SHT_PROGBITS, 0, raw)
	}
	return b.Bytes()
}

func TestModulesOfPackages(t *testing.T) {
	types := kernelTypes(t)
	deb := func(files ...file) []byte {
		return arBytes(file{"debian-binary", []byte("2.0\n")}, file{"data.tar.gz", gzBytes(t, tarBytes(t, files...))})
	}
	const dir = "./lib/modules/6.1.0-1-amd64/"
	pkg := deb(file{"./boot/vmlinuz-6.1.0-1-amd64", bzImage(t, types)}, file{dir + "kernel/fs/ext4/ext4.ko", module(types)},
		file{dir + "kernel/drivers/md/md-mod.ko.xz", xzBytes(t, module(types))}, file{dir + "kernel/crypto/assembled.ko", module(nil)},
		file{"./usr" + dir[1:] + "updates/x.ko.zst", zstdBytes(t, module(types))}, file{dir + "modules.dep", []byte("ext4.ko:")})
	path := filepath.Join(t.TempDir(), "linux-image.deb")
	list := func(data []byte) (names []string, err error) {
		require.NoError(t, os.WriteFile(path, data, 0o644))
		err = EachModule(path, func(m Module) error {
			assert.Equal(t, "6.1.0-1-amd64", m.Release)
			assert.Equal(t, types, m.Raw)
			names = append(names, m.Name)
			return nil
		})
		return names, err
	}
	names, err := list(pkg)
	require.NoError(t, err)
	assert.Equal(t, []string{"ext4", "md_mod", "x"}, names)
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"no package":  {types, btf.ErrNotBTF},
		"cut":         {pkg[:len(pkg)-100], btf.ErrTruncated},
		"broken":      {deb(file{dir + "a.ko", module(types)[:100]}), btf.ErrNotBTF},
		"broken file": {deb(file{dir + "a.ko.xz", xzBytes(t, module(types))[:100]}), btf.ErrTruncated},
	} {
		_, err := list(c.data)
		assert.ErrorIs(t, err, c.want, name)
	}
	names, err = list(deb())
	assert.NoError(t, err)
	assert.Empty(t, names)
	for file, want := range map[string]string{"/lib/a-b.ko.gz": "a_b", "a.ko": "a", "a.o": "", "ko": "", strings.Repeat("a", 9): ""} {
		assert.Equal(t, want, ModuleName(file), file)
	}
}
