package kernels

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/loader"
)

// touch makes empty files below a directory.
func touch(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, n := range names {
		path := filepath.Join(dir, filepath.FromSlash(n))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o644))
	}
}

func pathOf(dirs ...string) *Path {
	p := &Path{}
	for _, d := range dirs {
		p.Places = append(p.Places, Place{Title: "test", Pattern: literal(d)})
	}
	return p
}

func TestNamesOfFiles(t *testing.T) {
	for file, want := range map[string]struct {
		id, release, arch, name string
	}{
		"linux-6.12.107-amd64.btf":                                             {"6.12.107-amd64", "6.12.107-amd64", "amd64", "linux-6.12.107-amd64"},
		"linux-6.1.176-arm64-cloud.btf.xz":                                     {"6.1.176-arm64-cloud", "6.1.176-arm64-cloud", "arm64", "linux-6.1.176-arm64-cloud"},
		"5.4.0-1009-aws.btf.tar.xz":                                            {"5.4.0-1009-aws", "5.4.0-1009-aws", "", "5.4.0-1009-aws"},
		"ubuntu/20.04/x86_64/5.4.0-9-aws.btf.zst":                              {"5.4.0-9-aws-amd64-ubuntu-20.04", "5.4.0-9-aws", "amd64", "5.4.0-9-aws"},
		"centos/8/x86_64/4.18.0-3.el8.x86_64.btf":                              {"4.18.0-3.el8.x86_64-centos-8", "4.18.0-3.el8.x86_64", "amd64", "4.18.0-3.el8.x86_64"},
		"vmlinux-6.6.13+bpo-amd64":                                             {"6.6.13+bpo-amd64", "6.6.13+bpo-amd64", "amd64", "vmlinux-6.6.13+bpo-amd64"},
		"linux-7.3-rc7-amd64.btf":                                              {"7.3-rc7-amd64", "7.3-rc7-amd64", "amd64", "linux-7.3-rc7-amd64"},
		"linux-image-6.1.0-56-amd64_6.1.192-2_amd64.deb":                       {"6.1.192-amd64-debian", "6.1.0-56-amd64", "amd64", "linux-6.1.192-amd64"},
		"linux-image-6.12.117+deb13-cloud-arm64_6.12.117-1_arm64.deb":          {"6.12.117-arm64-cloud-debian", "6.12.117+deb13-cloud-arm64", "arm64", "linux-6.12.117-arm64-cloud"},
		"linux-binary-7.2.13+deb14-amd64_7.2.13-1_amd64.deb":                   {"7.2.13-amd64-debian", "7.2.13+deb14-amd64", "amd64", "linux-7.2.13-amd64"},
		"linux-image-6.1.0-56-rt-amd64-dbg_6.1.192-2_amd64.deb":                {"6.1.192-amd64-rt-debian", "6.1.0-56-rt-amd64", "amd64", "linux-6.1.192-amd64-rt"},
		"linux-image-unsigned-5.15.0-91-generic_5.15.0-91.101_amd64.deb":       {"5.15.0-amd64-generic", "5.15.0-91-generic", "amd64", "linux-5.15.0-amd64-generic"},
		"linux-image-unsigned-5.15.0-91-generic-dbgsym_5.15.0-91.1_amd64.ddeb": {"5.15.0-amd64-generic", "5.15.0-91-generic", "amd64", "linux-5.15.0-amd64-generic"},
	} {
		t.Run(filepath.Base(file), func(t *testing.T) {
			dir := t.TempDir()
			touch(t, dir, file)
			list := pathOf(dir).List()
			require.Len(t, list, 1)
			k := list[0]
			assert.Equal(t, want.id, k.ID)
			assert.Equal(t, want.release, k.Release)
			assert.Equal(t, want.arch, k.Arch)
			assert.Equal(t, want.name, k.Name)
			assert.Equal(t, filepath.Join(dir, filepath.FromSlash(file)), k.Path)
			found, err := pathOf(dir).Find(k.ID)
			require.NoError(t, err, "its own name")
			assert.Equal(t, k.Path, found.Path)
			found, err = pathOf(dir).Find(k.Release)
			require.NoError(t, err, "its release")
			assert.Equal(t, k.Path, found.Path)
		})
	}
	dir := t.TempDir()
	touch(t, dir, "README.md", "x.btf.md", "vmlinux.btf", "initrd.img-6.1", "linux-headers-6.1.0-1_6.1.9-1_amd64.deb", "modules/linux-6.1.btf", ".git/linux-6.1.btf", "config-6.1")
	assert.Empty(t, pathOf(dir).List())

	touch(t, dir, "linux-libc-dev_6.1.176-1_amd64.deb", "linux-headers-6.1.0-1-common_6.1.9-1_all.deb")
	cache := Path{Places: []Place{{Title: "downloaded", Pattern: filepath.Join(dir, "linux-*.deb")}}}
	assert.Empty(t, cache.List(), "packages of apt's cache without a kernel")
}

func TestWhichKernelANameMeans(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	touch(t, first, "linux-6.12.107-amd64.btf", "linux-6.12.99-amd64.btf", "linux-6.12.120-amd64-rt.btf", "linux-6.12.107-arm64.btf.xz", "linux-6.1.176-arm64.btf",
		"ubuntu/20.04/x86_64/5.4.0-9-aws.btf.tar.xz", "ubuntu/20.04/x86_64/5.4.0-9-generic.btf.tar.xz", "ubuntu/22.04/arm64/5.15.0-9-aws.btf.tar.xz")
	touch(t, second, "linux-6.12.200-amd64.btf", "linux-6.1.3-amd64.btf", "linux-image-6.12.117+deb13-cloud-amd64_6.12.117-1_amd64.deb", "linux-6.12.3-riscv64.btf")
	p := pathOf(first, second)
	for name, want := range map[string]string{
		"6.12":                 "linux-6.12.107-amd64.btf", // the earlier place, without further words, the newest
		"v6.12":                "linux-6.12.107-amd64.btf",
		"linux-6.12":           "linux-6.12.107-amd64.btf",
		"6.12.99":              "linux-6.12.99-amd64.btf",
		"6.12-rt":              "linux-6.12.120-amd64-rt.btf",
		"6.12-arm64":           "linux-6.12.107-arm64.btf.xz",
		"6.12-aarch64":         "linux-6.12.107-arm64.btf.xz",
		"aarch64-6.12":         "linux-6.12.107-arm64.btf.xz",
		"6.12.200":             "linux-6.12.200-amd64.btf",
		"6.12-riscv64":         "linux-6.12.3-riscv64.btf",
		"6.1":                  "linux-6.1.3-amd64.btf", // amd64 before the earlier place
		"6.1-arm64":            "linux-6.1.176-arm64.btf",
		"debian-6.12":          "linux-image-6.12.117+deb13-cloud-amd64_6.12.117-1_amd64.deb",
		"debian-6.12.117":      "linux-image-6.12.117+deb13-cloud-amd64_6.12.117-1_amd64.deb",
		"6.12-cloud":           "linux-image-6.12.117+deb13-cloud-amd64_6.12.117-1_amd64.deb",
		"ubuntu-20.04-5.4":     "5.4.0-9-aws.btf.tar.xz",
		"ubuntu/5.4-generic":   "5.4.0-9-generic.btf.tar.xz",
		"5.4-ubuntu-20.04-aws": "5.4.0-9-aws.btf.tar.xz",
		"ubuntu-5.15":          "5.15.0-9-aws.btf.tar.xz", // arm64 where there is no other
		"5.4-x86_64":           "5.4.0-9-aws.btf.tar.xz",
	} {
		k, err := p.Find(name)
		if assert.NoError(t, err, name) {
			assert.Equal(t, want, filepath.Base(k.Path), name)
		}
	}
	for name, near := range map[string][]string{
		"6.12-mips64el":     {"6.12.120-amd64-rt", "6.12.107-amd64", "6.12.107-arm64"}, // those of the release
		"6.2":               {"6.1.176-arm64", "6.1.3-amd64"},
		"6.12.1":            {"6.12.107-amd64", "6.12.107-arm64", "6.12.120-amd64-rt"},
		"debian-22.04-5.15": {"5.15.0-9-aws-arm64-ubuntu-22.04"},
	} {
		_, err := p.Find(name)
		var e *Error
		require.ErrorAs(t, err, &e, name)
		assert.ErrorIs(t, err, ErrUnknown)
		for _, n := range near {
			assert.Contains(t, e.Near, n, name)
		}
		assert.ErrorContains(t, err, e.Near[0])
	}
	for _, name := range []string{"6", "debian", "none.btf", "/6.12", "dir/x-6.12.btf", "6.12*", "", "  "} {
		_, err := p.Expand(name)
		assert.Error(t, err, name)
	}
	_, err := (&Path{}).Find("6.11")
	assert.ErrorContains(t, err, Variable)
}

func TestFilesWinOverNames(t *testing.T) {
	dir := t.TempDir()
	touch(t, dir, "linux-6.12.1-amd64.btf")
	p := pathOf(dir)
	t.Chdir(t.TempDir())
	s, err := p.Expand("6.12")
	require.NoError(t, err)
	assert.Equal(t, []Source{{Name: "linux-6.12.1-amd64", Path: filepath.Join(dir, "linux-6.12.1-amd64.btf")}}, s)
	touch(t, ".", "6.12")
	s, err = p.Expand("6.12")
	require.NoError(t, err)
	assert.Equal(t, []Source{{Name: "6.12", Path: "6.12"}}, s)
	require.NoError(t, os.Remove("6.12"))
	touch(t, "6.12", "a.btf", "b.btf.xz", "c.txt", "modules/m.btf")
	s, err = p.Expand("6.12")
	require.NoError(t, err)
	assert.Len(t, s, 2)
	_, err = p.Expand("6.12/modules/none")
	assert.ErrorIs(t, err, ErrUnknown)
	require.NoError(t, os.Mkdir("empty", 0o755))
	_, err = p.Expand("empty")
	assert.ErrorIs(t, err, ErrUnknown)
}

// types is BTF with a struct of that name.
func types(t *testing.T, name string) []byte {
	t.Helper()
	b := btf.NewBuilder(nil)
	b.Struct(name, 4, btf.Member{Name: "pid", Type: b.Int("int", 4, btf.IntSigned)})
	raw, err := b.Marshal(binary.LittleEndian)
	require.NoError(t, err)
	return raw
}

func archive(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for name, data := range files {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data)), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}))
		_, err := w.Write(data)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func TestAdd(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, data, 0o644))
		return path
	}
	kernel := types(t, "task_struct")
	p := pathOf(filepath.Join(t.TempDir(), "own"))
	p.Own = p.Places[0].Pattern
	assert.Empty(t, p.List())

	added, _, err := p.Add(write("linux-6.12.1-amd64.btf", kernel), "")
	require.NoError(t, err)
	require.Len(t, added, 1)
	assert.Equal(t, "6.12.1-amd64", added[0].ID)
	again, _, err := p.Add(write("linux-6.12.1-amd64.btf", kernel), "")
	require.NoError(t, err, "replaces it")
	assert.Equal(t, added, again)
	_, _, err = p.Add(write("vmlinux", kernel), "6.6.13-amd64-mine")
	require.NoError(t, err)
	many, _, err := p.Add(write("hub.tar", archive(t, map[string][]byte{
		"ubuntu/20.04/x86_64/5.4.0-9-aws.btf": kernel, "ubuntu/20.04/arm64/5.4.0-9-aws.btf": kernel, "README": []byte("x"),
	})), "")
	require.NoError(t, err)
	assert.Len(t, many, 2)

	up, _, err := p.Add(write("up.tar", archive(t, map[string][]byte{"../../5.4.1-amd64.btf": kernel})), "")
	require.NoError(t, err)
	assert.Equal(t, "5.4.1-amd64", up[0].ID)
	require.NoError(t, os.Remove(up[0].Path))
	_, _, err = p.Add(write("red.tar", archive(t, map[string][]byte{"5.4.1-\x1b[31mamd64.btf": kernel})), "")
	assert.ErrorContains(t, err, `5.4.1-\x1b[31mamd64.btf: its name has control characters`)

	var ids []string
	for _, k := range p.List() {
		ids = append(ids, k.ID)
		spec, err := k.Load(nil)
		require.NoError(t, err)
		assert.Equal(t, kernel, spec.Raw())
	}
	assert.Equal(t, []string{"6.12.1-amd64", "6.6.13-amd64-mine", "5.4.0-9-aws-amd64-ubuntu-20.04", "5.4.0-9-aws-arm64-ubuntu-20.04"}, ids)
	for _, name := range []string{"6.6", "6.6-mine", "ubuntu-20.04-5.4-arm64", "6.12"} {
		_, err := p.Find(name)
		assert.NoError(t, err, name)
	}

	for name, c := range map[string]struct {
		file, as string
		data     []byte
		want     error
		text     string
	}{
		"no release":     {"vmlinux", "", kernel, ErrNoRelease, "--as"},
		"bad name":       {"vmlinux", "mine", kernel, nil, "release"},
		"a path":         {"vmlinux", "../6.12", kernel, nil, "release"},
		"no kernel":      {"linux-6.12.btf", "", types(t, "event"), ErrNotKernel, "task_struct"},
		"no types":       {"linux-6.12.btf", "", []byte("text"), btf.ErrNotBTF, "linux-6.12.btf"},
		"module":         {"kvm.ko.xz", "", kernel, ErrNotKernel, "--module-btf"},
		"object":         {"exec.bpf.o", "", kernel, ErrNotKernel, "object"},
		"rpm":            {"kernel-core-6.12.rpm", "", []byte("\xed\xab\xee\xdb and more"), nil, "rpm2cpio"},
		"twice the same": {"two.tar", "", archive(t, map[string][]byte{"6.12-amd64.btf": kernel, "linux-6.12-amd64.btf": kernel}), nil, "two kernels"},
		"empty archive":  {"none.tar", "", archive(t, map[string][]byte{"README": []byte("x")}), btf.ErrNoBTF, "archive"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := p.Add(write(c.file, c.data), c.as)
			require.Error(t, err)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
			}
			assert.ErrorContains(t, err, c.text)
		})
	}
	_, _, err = p.Add(filepath.Join(dir, "none"), "")
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, _, err = p.Add(t.TempDir(), "")
	assert.ErrorContains(t, err, "there are no files of types")
	_, _, err = p.Add(dir, "6.12")
	assert.ErrorContains(t, err, "one name is not enough")
	_, _, err = (&Path{}).Add(write("vmlinux", kernel), "6.12")
	assert.ErrorIs(t, err, errNoHome)
	left, err := filepath.Glob(filepath.Join(p.Own, "new-*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestReleaseOfAKernel(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ file, release, want string }{
		"a package":              {"linux-image-6.12.107+deb13-amd64_6.12.107-1_amd64.deb", "", "6.12.107+deb13-amd64"},
		"an unsigned package":    {"linux-image-6.1.0-50-amd64-unsigned_6.1.176-1_amd64.deb", "", "6.1.0-50-amd64"},
		"a file's name":          {"linux-7.2.13-amd64.btf.xz", "", "7.2.13-amd64"},
		"a release next to it":   {"linux-7.2.14-amd64.btf.xz", "7.2.14+deb14-amd64\n", "7.2.14+deb14-amd64"},
		"an archive":             {"7.2.15.btf.tar.xz", "7.2.15-cloud\n", "7.2.15-cloud"},
		"no release next to it":  {"7.2.16.btf", "any text\n", "7.2.16"},
		"too long a release":     {"7.2.17.btf", "7.2.17-" + strings.Repeat("x", 100), "7.2.17"},
		"control characters":     {"7.2.18.btf", "7.2.18-\x1b[31m", "7.2.18"},
		"a name without release": {"vmlinux.btf", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, c.file)
			if c.release != "" {
				require.NoError(t, os.WriteFile(releaseFile(path), []byte(c.release), 0o644))
			}
			got, _ := Uname(loader.NewTarget(baseName(path), nil), path)
			assert.Equal(t, c.want, got)
			if k, ok := describe(path, "", Place{}); ok {
				assert.Equal(t, c.want, k.Release)
			}
		})
	}
}

// TestAddKeepsTheRelease: the name that a kernel is stored under lacks a part of what uname -r
// prints.
func TestAddKeepsTheRelease(t *testing.T) {
	p := pathOf(filepath.Join(t.TempDir(), "own"))
	p.Own = p.Places[0].Pattern
	path, err := p.store("6.12.107-amd64-debian", "6.12.107+deb13-amd64", types(t, "task_struct"))
	require.NoError(t, err)
	list := p.List()
	require.Len(t, list, 1)
	assert.Equal(t, "6.12.107+deb13-amd64", list[0].Release)
	got, _ := Uname(loader.NewTarget("linux-6.12.107-amd64-debian", nil), path)
	assert.Equal(t, "6.12.107+deb13-amd64", got)
	_, err = p.store("6.12.107-amd64-debian", "", types(t, "task_struct"))
	require.NoError(t, err)
	p.listed = nil
	assert.Equal(t, "6.12.107-amd64-debian", p.List()[0].Release, "another kernel of the same name")
}

func TestDefaultPath(t *testing.T) {
	t.Setenv(Variable, "/a"+string(filepath.ListSeparator)+string(filepath.ListSeparator)+"/b")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	p := Default()
	require.GreaterOrEqual(t, len(p.Places), 3)
	assert.Equal(t, []string{"/a", "/b"}, []string{p.Places[0].Pattern, p.Places[1].Pattern})
	assert.Equal(t, literal(p.Own), p.Places[2].Pattern)
}

func TestSystemPlaces(t *testing.T) {
	root := t.TempDir()
	touch(t, root, "debug/lib/modules/6.12.1-9-generic/vmlinux", "boot/vmlinuz-6.1.0-9-generic", "boot/config-6.1.0-9-generic")
	p := &Path{Places: []Place{
		{Pattern: filepath.Join(literal(root), "debug/lib/modules/*/vmlinux"), named: true, arch: "arm64", all: true},
		{Pattern: filepath.Join(literal(root), "boot/vmlinu[xz]-*"), arch: "arm64", all: true},
	}}
	var ids []string
	for _, k := range p.List() {
		ids = append(ids, k.ID)
	}
	assert.Equal(t, []string{"6.12.1-9-generic-arm64", "6.1.0-9-generic-arm64"}, ids)
	_, err := p.Find("6.12-arm64")
	assert.NoError(t, err)
}

func FuzzNames(f *testing.F) {
	for _, s := range []string{"6.12", "debian-6.12.107", "linux-image-6.1.0-56-amd64_6.1.192-2_amd64.deb", "v", "-", "6.", "999999999999999999999.1", "linux-image-_-_.deb", "linux-image-x_1%3a-_a.deb", "linux-image-x_.x5.6_a.deb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if k, ok := describe("/x/"+name, name, Place{}); ok {
			require.NotEmpty(t, k.ID)
			require.NotEmpty(t, k.numbers)
		}
		_, _ = (&Path{}).Find(name)
	})
}

// TestEmbeddedByName: the embedded kernel is found by its names where no other kernel has them, and
// only then.
func TestEmbeddedByName(t *testing.T) {
	none := pathOf(t.TempDir())
	for _, name := range []string{"6.12", "6.12.107", "6.12-amd64", "6.12-x86_64", "debian-6.12", embedded.Name, embedded.Release} {
		found, err := none.Expand(name)
		require.NoError(t, err, name)
		assert.Equal(t, []Source{EmbeddedSource()}, found, name)
	}
	for _, name := range []string{"6.1", "6.12.1", "6.12-arm64", "6.12-cloud", "6.12-rt", "6.13"} {
		_, err := none.Expand(name)
		assert.ErrorIs(t, err, ErrUnknown, name)
	}
	dir := t.TempDir()
	touch(t, dir, "linux-6.12.9-arm64.btf")
	found, err := pathOf(dir).Expand("6.12")
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(dir, "linux-6.12.9-arm64.btf"), found[0].Path, "any kernel of the search path is better")
	assert.Empty(t, none.List(), "it is in no place")
}
