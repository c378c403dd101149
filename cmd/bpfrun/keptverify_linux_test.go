package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/filecache"
	"github.com/bpfrun/bpfrun/internal/kernels"
)

// settledFile copies a file and waits until the copy can be told by its times.
func settledFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, data, 0o600))
}

// otherwise puts text in place of what each entry of the results has for users, so that it shows
// where one is used.
func otherwise(t *testing.T, cache string) (entries int) {
	t.Helper()
	d := &filecache.Dir{Path: filepath.Join(cache, "results"), Suffix: ".res", Magic: "bpfrun-results-1", Limit: resultsLimit, Largest: largestResults}
	files, err := filepath.Glob(filepath.Join(d.Path, "*"+d.Suffix))
	require.NoError(t, err)
	for _, f := range files {
		key := filepath.Base(f[:len(f)-len(d.Suffix)])
		var v verified
		require.NoError(t, json.Unmarshal(d.Get(key), &v))
		v.Text = "from the cache\n"
		data, err := json.Marshal(v)
		require.NoError(t, err)
		d.Put(key, data)
	}
	return len(files)
}

// Verdicts are the same without a cache, with an empty one, and with a full one.
func TestKeptVerdictsAreTheSame(t *testing.T) {
	objects, err := filepath.Glob("../../examples/*/*.bpf.o")
	require.NoError(t, err)
	kernel := "testdata/btf/min/linux-6.12.107-amd64.min.btf"
	cache := t.TempDir()
	t.Setenv(kernels.CacheVariable, cache)
	for _, flags := range [][]string{nil, {"--json"}, {"-q"}} {
		for _, o := range objects {
			o = strings.TrimPrefix(o, "../../") // command lines run in the repository's root
			args := append([]string{"verify", o, "--btf", kernel}, flags...)
			plain, messages, code := commandLine(t, append(args, "--no-cache")...)
			for range 2 {
				out, errs, c := commandLine(t, args...)
				require.Equal(t, plain, out, "%q", args)
				require.Equal(t, messages, errs)
				require.Equal(t, code, c)
			}
		}
	}
	list, err := os.ReadDir(filepath.Join(cache, "results"))
	require.NoError(t, err)
	assert.Greater(t, len(list), 2*len(objects))
}

// Whatever verdicts depend on changes the key: no entry of another input is used.
func TestWhatVerdictsDependOn(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("files are not identified without reading them on this system")
	}
	dir, cache := t.TempDir(), t.TempDir()
	t.Setenv(kernels.CacheVariable, cache)
	object, kernel, other := filepath.Join(dir, "a.bpf.o"), filepath.Join(dir, "linux-6.12.107.btf"), filepath.Join(dir, "linux-6.1.176.btf")
	config := filepath.Join(dir, "config")
	settledFile(t, "../../examples/openat/openat.bpf.o", object)
	settledFile(t, "../../testdata/btf/min/linux-6.12.107-amd64.min.btf", kernel)
	settledFile(t, "../../testdata/btf/min/linux-6.1.176-amd64.min.btf", other)
	require.NoError(t, os.WriteFile(config, []byte("CONFIG_HZ=100\n"), 0o600))
	time.Sleep(filecache.Settled + 100*time.Millisecond)
	usual := []string{"verify", object, "--btf", kernel}
	_, _, _ = commandLine(t, usual...)
	require.Equal(t, 1, otherwise(t, cache))
	fromCache := func(args ...string) bool {
		out, _, _ := commandLine(t, args...)
		return out == "from the cache\n"
	}
	require.True(t, fromCache(usual...))
	for name, args := range map[string][]string{
		"kernel":   {"verify", object, "--btf", other},
		"program":  append(usual, "-p", "enter"),
		"lockdown": append(usual, "--lockdown", "integrity"),
		"log":      append(usual, "--log"),
		"json":     append(usual, "--json"),
		"quiet":    append(usual, "-q"),
		"color":    append(usual, "--color", "always"),
		"version":  append(usual, "--kernel-version", "5.10"),
		"kconfig":  append(usual, "--kconfig", config),
		"map size": append(usual, "--map-size", "pending=7"),
		"type":     append(usual, "--type", "enter=kprobe"),
		"loader":   append(usual, "--loader", "kernel"),
		"no cache": append(usual, "--no-cache"),
	} {
		assert.False(t, fromCache(args...), name)
	}
	require.True(t, fromCache(usual...), "none of them changed it")
	data, err := os.ReadFile(object)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(object, bytes.ReplaceAll(data, []byte("pending"), []byte("Pending")), 0o600))
	assert.False(t, fromCache(usual...), "the object's content")
	require.NoError(t, os.WriteFile(object, data, 0o600))
	assert.True(t, fromCache(usual...), "the object as it was")
	now := time.Now()
	require.NoError(t, os.Chtimes(kernel, now, now))
	assert.False(t, fromCache(usual...), "the kernel's file has changed")
}
