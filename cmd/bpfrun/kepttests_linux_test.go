package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/filecache"
	"github.com/bpfrun/bpfrun/internal/kernels"
)

var (
	tookTime = regexp.MustCompile(`\d+\.\d+ (m?s)\b`)
	// slowest are the lines about slow tests, which there are on a busy machine.
	slowest = regexp.MustCompile(`(?m)^(?:slowest| {7}) +\d+\.\d+ ms .*\n`)
)

// timeless leaves out of a report what depends on the machine's speed.
func timeless(report string) string {
	return tookTime.ReplaceAllString(slowest.ReplaceAllString(report, ""), "$1")
}

// Tests report the same without a cache, with an empty one, and with a full one.
func TestKeptTestsAreTheSame(t *testing.T) {
	cache := t.TempDir()
	t.Setenv(kernels.CacheVariable, cache)
	for _, dir := range []string{"examples/exec", "examples/firewall", "examples/openat", "examples/xdp", "examples/tc", "examples/loop", "examples/iter"} {
		args := []string{"test", dir, "--btf", "embedded", "-v"}
		plain, messages, code := commandLine(t, append(args, "--no-cache")...)
		for range 2 {
			out, errs, c := commandLine(t, args...)
			require.Equal(t, timeless(plain), timeless(out), dir)
			require.Equal(t, messages, errs)
			require.Equal(t, code, c)
		}
	}
	list, err := os.ReadDir(filepath.Join(cache, "results"))
	require.NoError(t, err)
	assert.NotEmpty(t, list)
}

// Whatever tests depend on changes the key: no entry of another input is used. Failures are not
// kept.
func TestWhatTestsDependOn(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("files are not identified without reading them on this system")
	}
	dir, cache := t.TempDir(), t.TempDir()
	t.Setenv(kernels.CacheVariable, cache)
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) { require.NoError(t, os.WriteFile(at(name), []byte(text), 0o600)) }
	settledFile(t, "../../examples/xdp/xdp.bpf.o", at("a.bpf.o"))
	settledFile(t, "../../testdata/btf/min/linux-6.12.107-amd64.min.btf", at("linux-6.12.107.btf"))
	settledFile(t, "../../testdata/btf/min/linux-6.1.176-amd64.min.btf", at("linux-6.1.176.btf"))
	write("frame", string(make([]byte, 60)))
	write("b", "CONFIG_HZ=100\n")
	programs := regexp.MustCompile(`(?m)^\s*(\w+)\s+xdp`)
	info, _, _ := commandLine(t, "info", at("a.bpf.o"), "--btf", at("linux-6.12.107.btf"))
	m := programs.FindStringSubmatch(info)
	require.NotNil(t, m, info)
	obj := m[1]
	text := "runs:\n- {prog: " + obj + ", name: one, packet: eth/ip/tcp}\n- {prog: " + obj + ", name: two, packet: eth/ip/udp}\n"
	write("a.yaml", text)
	time.Sleep(filecache.Settled + 100*time.Millisecond)
	usual := []string{"test", at("a.yaml"), "--btf", at("linux-6.12.107.btf"), "-v"}
	out, errs, code := commandLine(t, usual...)
	require.Zero(t, code, out+errs)
	d := &filecache.Dir{Path: filepath.Join(cache, "results"), Suffix: ".res", Magic: "bpfrun-results-1", Limit: resultsLimit, Largest: largestResults}
	files, err := filepath.Glob(filepath.Join(d.Path, "*"+d.Suffix))
	require.NoError(t, err)
	require.Len(t, files, 1)
	key := filepath.Base(files[0][:len(files[0])-len(d.Suffix)])
	var p passed
	require.NoError(t, json.Unmarshal(d.Get(key), &p))
	require.Len(t, p.Cases, 2)
	p.Cases[0].Name = "from the cache"
	data, err := json.Marshal(p)
	require.NoError(t, err)
	d.Put(key, data)
	fromCache := func(args ...string) bool {
		out, _, _ := commandLine(t, args...)
		return bytes.Contains([]byte(out), []byte("from the cache"))
	}
	require.True(t, fromCache(usual...))
	for name, args := range map[string][]string{
		"kernel":    {"test", at("a.yaml"), "--btf", at("linux-6.1.176.btf"), "-v"},
		"selection": append(usual, "--run", "two"),
		"seed":      append(usual, "--seed", "7"),
		"seeds":     append(usual, "--seeds", "2", "--seed", "9"),
		"clock":     append(usual, "--clock", "2h"),
		"cpus":      append(usual, "--cpus", "4"),
		"max-insns": append(usual, "--max-insns", "1000000"),
		"engine":    append(usual, "--engine", "interp", "--seed", "1", "--strict"),
		"both":      append(usual, "--engine", "both"),
		"ignore":    append(usual, "--ignore", "leak"),
		"no-verify": append(usual, "--no-verify"),
		"version":   append(usual, "--kernel-version", "5.10"),
		"kconfig":   append(usual, "--kconfig", at("b")),
		"json":      append(usual, "--json"),
		"coverage":  append(usual, "--cover"),
		"no cache":  append(usual, "--no-cache"),
	} {
		assert.False(t, fromCache(args...), name)
	}
	require.True(t, fromCache(usual...), "none of them changed it")
	changed := func(name, what string, change func([]byte) []byte) {
		old, err := os.ReadFile(at(name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(at(name), change(bytes.Clone(old)), 0o600))
		assert.False(t, fromCache(usual...), what)
		require.NoError(t, os.WriteFile(at(name), old, 0o600))
		assert.True(t, fromCache(usual...), "%s as it was", what)
	}
	changed("a.yaml", "the scenario", func(b []byte) []byte { return append(b, '\n') })
	changed("a.bpf.o", "the object", func(b []byte) []byte { return append(b, 0) })
	write("a.yaml", text+"- {prog: "+obj+", name: fails, packet: eth/ip/tcp, expect: {ret: 12345}}\n")
	for range 2 {
		out, _, code = commandLine(t, usual...)
		assert.Equal(t, exitExpectation, code, out)
	}
	write("a.yaml", text+"- {prog: "+obj+", name: names a file, packet: '@frame'}\n")
	out, errs, code = commandLine(t, usual...)
	require.Zero(t, code, out+errs)
	left, err := filepath.Glob(filepath.Join(d.Path, "*"+d.Suffix))
	require.NoError(t, err)
	for _, f := range left {
		data, err := os.ReadFile(f)
		require.NoError(t, err)
		assert.NotContains(t, string(data), "fails", "failures are not kept")
		assert.NotContains(t, string(data), "names a file", "its content is not in the key")
	}
}
