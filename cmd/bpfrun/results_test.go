package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernels"
)

// A program is known by the hashes that the go command gave it, and by its content where a build
// replaced them.
func TestBuildIDIsThatOfTheContent(t *testing.T) {
	path, err := os.Executable()
	require.NoError(t, err)
	id, err := buildID(path)
	require.NoError(t, err)
	if runtime.GOOS != "linux" {
		assert.Len(t, id, 64)
		return
	}
	require.Len(t, strings.Split(id, "/"), 4)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	hidden := bytes.ReplaceAll(data, []byte(id), append([]byte("redacted"), make([]byte, len(id)-8)...))
	require.NotEqual(t, data, hidden)
	other := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.WriteFile(other, hidden, 0o700))
	first, err := buildID(other)
	require.NoError(t, err)
	assert.Len(t, first, 64)
	hidden[len(hidden)-1] ^= 1
	require.NoError(t, os.WriteFile(other, hidden, 0o700))
	second, err := buildID(other)
	require.NoError(t, err)
	assert.NotEqual(t, first, second)
	_, err = buildID(filepath.Join(t.TempDir(), "none"))
	assert.Error(t, err)
}

// Each thing that opening a kernel depends on changes its key; what cannot be told from outside has
// none.
func TestKeysOfKernels(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("files are not identified without reading them on this system")
	}
	dir := t.TempDir()
	file := func(name string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(name), 0o600))
		return path
	}
	a, b, c := file("linux-6.1.2.btf"), file("b"), file("c")
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(a, link))
	later := time.Now().Add(2 * settledForTests)
	source := func(path string) btfSource {
		return btfSource{Source: kernels.Source{Name: "linux-6.1.2", Path: path}}
	}
	key := func(k *kernelFlags, s btfSource) string { return k.sourceKey(s, later) }
	seen := map[string]string{}
	for name, k := range map[string]string{
		"plain":           key(&kernelFlags{}, source(a)),
		"other file":      key(&kernelFlags{}, source(b)),
		"embedded":        key(&kernelFlags{}, source(kernels.Embedded)),
		"release":         key(&kernelFlags{}, btfSource{Source: kernels.Source{Name: "linux-6.1.3", Path: a}}),
		"no release":      key(&kernelFlags{}, btfSource{Source: kernels.Source{Name: "kernel", Path: a}}),
		"version":         key(&kernelFlags{version: "5.10"}, source(a)),
		"other version":   key(&kernelFlags{version: "5.11"}, source(a)),
		"configuration":   key(&kernelFlags{kconfig: b}, source(a)),
		"another":         key(&kernelFlags{kconfig: c}, source(a)),
		"symbols":         key(&kernelFlags{kallsyms: b}, source(a)),
		"module":          key(&kernelFlags{moduleBTF: []string{b}}, source(a)),
		"modules":         key(&kernelFlags{moduleBTF: []string{b, c}}, source(a)),
		"modules swapped": key(&kernelFlags{moduleBTF: []string{c, b}}, source(a)),
	} {
		require.NotEmpty(t, k, name)
		assert.Empty(t, seen[k], "%s has the key of another", name)
		seen[k] = name
	}
	assert.Equal(t, "plain", seen[key(&kernelFlags{}, source(link))], "a link is the file")
	require.NoError(t, os.WriteFile(b, []byte("B"), 0o600))
	assert.Empty(t, seen[key(&kernelFlags{}, source(b))], "it has changed")
	old := time.Now().Add(-time.Hour)
	before := key(&kernelFlags{}, source(c))
	require.NoError(t, os.WriteFile(c, []byte("C"), 0o600))
	require.NoError(t, os.Chtimes(c, old, old))
	assert.NotEqual(t, before, key(&kernelFlags{}, source(c)), "its time is set back")
	assert.Empty(t, (&kernelFlags{}).sourceKey(source(a), time.Now()), "it changed just now, and may again")
	defer func(saved string) { kernels.HostBTF = saved }(kernels.HostBTF)
	kernels.HostBTF = filepath.Join(dir, "none")
	for name, s := range map[string]btfSource{
		"host without types": source(kernels.Host), "missing": source(filepath.Join(dir, "none")), "directory": source(dir),
		"implied": {Source: source(a).Source, implied: "note"},
	} {
		assert.Empty(t, key(&kernelFlags{}, s), name)
	}
}

// The running kernel is known by what it is, whenever the file of its types was made.
func TestKeyOfTheHost(t *testing.T) {
	defer func(types, notes string) { kernels.HostBTF, kernels.HostNotes = types, notes }(kernels.HostBTF, kernels.HostNotes)
	kernels.HostNotes = filepath.Join(t.TempDir(), "none")
	key := func(types string, k *kernelFlags) string {
		kernels.HostBTF = filepath.Join(t.TempDir(), "vmlinux")
		require.NoError(t, os.WriteFile(kernels.HostBTF, []byte(types), 0o600))
		return k.sourceKey(btfSource{Source: kernels.HostSource()}, time.Now())
	}
	first := key("one", &kernelFlags{})
	require.NotEmpty(t, first)
	assert.Equal(t, first, key("one", &kernelFlags{}))
	assert.NotEqual(t, first, key("two", &kernelFlags{}))
	assert.NotEqual(t, first, key("one", &kernelFlags{version: "5.10"}))
	assert.Empty(t, key("one", &kernelFlags{moduleBTF: []string{"ext4"}}), "a module's types are not looked at")
}

const settledForTests = 2 * time.Second
