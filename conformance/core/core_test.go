package core

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/conformance/libbpf"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/loader"
)

const data = "../../testdata/"

func kernels(t testing.TB, pattern string) []Kernel {
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var out []Kernel
	for _, f := range files {
		out = append(out, Kernel{Name: filepath.Base(f), Open: func() (*loader.Target, error) {
			spec, err := testbtf.Load(f)
			if err != nil {
				return nil, err
			}
			return loader.NewTarget(filepath.Base(f), spec), nil
		}})
	}
	return out
}

// TestAgainstLibbpf: every probe, compiled by two compilers, as libbpf answered it.
func TestAgainstLibbpf(t *testing.T) {
	for compiler, want := range map[string]Result{"clang-14": {503, 0, 1}, "clang-22": {530, 0, 1}} {
		var out bytes.Buffer
		got, err := Check(data+"core/expect-relo."+compiler+".jsonl.gz", Config{Objects: data + "core/" + compiler, Kernels: kernels(t, data+"core/btf/*.btf"), Parallel: 2}, &out)
		require.NoError(t, err)
		assert.Equal(t, want, got, "%s: %s", compiler, out.String())
		assert.Contains(t, out.String(), "deviates on purpose: an unsigned enumerator")
	}
}

// TestExamplesAgainstLibbpf: the examples, found by file name below their directory, on full
// kernels.
func TestExamplesAgainstLibbpf(t *testing.T) {
	var out bytes.Buffer
	file, err := os.Open(data + "btf/expect-examples.jsonl.gz")
	require.NoError(t, err)
	defer file.Close()
	lines, err := gzip.NewReader(file)
	require.NoError(t, err)
	var have []string // only the kernels whose full BTF is committed
	for s := bufio.NewScanner(lines); s.Scan(); {
		if strings.Contains(s.Text(), "linux-5.10.262-amd64-cloud.btf") {
			have = append(have, s.Text())
		}
	}
	require.NotEmpty(t, have)
	got, err := Check(lineFile(t, strings.Join(have, "\n")), Config{Objects: "../../examples", Kernels: kernels(t, data+"btf/linux-5.10*.btf.xz")}, &out)
	require.NoError(t, err)
	assert.Equal(t, Result{Passed: len(have)}, got, out.String())
}

func lineFile(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "expect.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func TestLines(t *testing.T) {
	const at = `{"object":"exists.o","btf":"exists.some.btf","program":"ex",`
	for _, c := range []struct{ line, want string }{
		{at + `"insn":6,"kind":"byte_off","old":0,"new":24,"result":"ok"}`, ""},
		{at + `"insn":6,"kind":"byte_off","old":"0x0","new":"0x18","result":"ok"}`, ""},
		{at + `"relo":1,"kind":"byte_off","old":0,"new":24,"result":"ok","insn":null}`, ""},
		{at + `"relo":1,"kind":"byte_off","new":24,"result":"ok","insn":-1}`, ""},
		{at + `"kind":"byte_off","spec":"[5] struct ex.a (0:0 @ offset 0)","result":"ok"}`, ""},
		{at + `"kind":"byte_off","local":"<byte_off> [5] struct ex.a (0:0 @ offset 0)","result":"ok"}`, ""},
		{`{"object":"exists.o","btf":"exists.some.btf","status":0}`, ""},
		{`{"object":"exists.o","btf":"exists.some.btf","result":"ok"}`, ""},
		{`{"object":"exists.o","btf":"exists.some.btf","result":"error"}`, "want error"},
		{at + `"insn":6,"kind":"byte_off","old":0,"new":25,"result":"ok"}`, "new value 24, want 25"},
		{at + `"insn":6,"kind":"byte_off","old":-1,"new":24,"result":"ok"}`, "old value 0, want -1"},
		{at + `"insn":6,"kind":"byte_off","old":null,"new":null,"result":"poison"}`, "ok, want poison"},
		{at + `"insn":6,"kind":"byte_sz","result":"ok"}`, "no such relocation"},
		{at + `"insn":7,"kind":"byte_off","result":"ok"}`, "no such relocation"},
		{at + `"insn":6,"kind":"byte_off","old":true,"result":"ok"}`, "is not a number"},
		{at + `"insn":6,"kind":"byte_off","mem_size":"4>8","result":"ok"}`, "memory size"},
		{at + `"core":"00"}`, "want 00"},
		{`{"object":"exists.o","btf":"exists.some.btf","program":"nobody","core":"00"}`, "no such function"},
		{`{"object":"nothing.o","btf":"exists.some.btf","program":"ex","core":"00"}`, "object: "},
		{`{"object":"exists.o","btf":"linux-2.6.btf","program":"ex","core":"00"}`, "no BTF of this name"},
	} {
		var out bytes.Buffer
		got, err := Check(lineFile(t, c.line), Config{Objects: data + "core/clang-14", Kernels: kernels(t, data+"core/btf/exists*.btf")}, &out)
		require.NoError(t, err, c.line)
		if c.want == "" {
			assert.Zero(t, got.Failed, "%s\n%s", c.line, out.String())
			continue
		}
		assert.Equal(t, 1, got.Failed, c.line)
		assert.Contains(t, out.String(), c.want, c.line)
	}
}

func TestBadFiles(t *testing.T) {
	for _, text := range []string{"{", `{"object":"x"}`, `{"object":"x","btf":"y"}`, "\x1f\x8bnot gzip", `[1]`} {
		_, err := Check(lineFile(t, text), Config{}, &bytes.Buffer{})
		assert.Error(t, err, text)
	}
	_, err := Check(filepath.Join(t.TempDir(), "absent"), Config{}, &bytes.Buffer{})
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// TestRecord: what is recorded is found right again, also compressed; a changed line is not.
func TestRecord(t *testing.T) {
	ks := kernels(t, data+"core/btf/*.btf")
	var out bytes.Buffer
	for _, name := range []string{"exists.some", "letters.kernel", "memsz.wider", "nesting.moved", "enum64.moved"} {
		object := name[:strings.IndexByte(name, '.')] + ".o"
		obj, err := loader.Open(data + "core/clang-22/" + object)
		require.NoError(t, err)
		spec, err := btffile.Load(data+"core/btf/"+name+".btf", nil)
		require.NoError(t, err)
		require.NoError(t, Record(&out, object, obj, name+".btf", loader.NewTarget(name, spec)))
	}
	n := strings.Count(out.String(), "\n")
	assert.Contains(t, out.String(), `"core":"`)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write(out.Bytes())
	require.NoError(t, errors.Join(err, z.Close()))
	cfg := Config{Objects: data + "core/clang-22", Kernels: ks}
	var report bytes.Buffer
	got, err := Check(lineFile(t, packed.String()), cfg, &report)
	require.NoError(t, err)
	assert.Equal(t, Result{Passed: n}, got, report.String())

	changed := strings.Replace(out.String(), `"core":"`, `"core":"f`, 1)
	got, err = Check(lineFile(t, changed), cfg, &report)
	require.NoError(t, err)
	assert.Equal(t, Result{Passed: n - 1, Failed: 1}, got)
}

// TestInstalledLibbpf asks the libbpf of this system about some probes.
func TestInstalledLibbpf(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a C program")
	}
	h, err := libbpf.Build(t.Context(), "")
	if err != nil {
		t.Skipf("%v", err)
	}
	defer func() { require.NoError(t, h.Close()) }()
	var lines bytes.Buffer
	for _, name := range []string{"exists.some", "bitfields.shuffled", "nesting.moved", "prune_order.two", "types.same"} {
		object := name[:strings.IndexByte(name, '.')] + ".o"
		out, err := h.Run(t.Context(), object, data+"core/clang-14/"+object, name+".btf", data+"core/btf/"+name+".btf")
		if err != nil {
			t.Skipf("%v", err)
		}
		lines.Write(out)
	}
	if !strings.Contains(lines.String(), `"kind"`) {
		t.Skip("libbpf did not get as far as relocating: older than 1.6?")
	}
	var report bytes.Buffer
	got, err := Check(lineFile(t, lines.String()), Config{Objects: data + "core/clang-14", Kernels: kernels(t, data+"core/btf/*.btf")}, &report)
	require.NoError(t, err)
	assert.Zero(t, got.Failed, "libbpf %s: %s", h.Version, report.String())
	assert.Greater(t, got.Passed, 20)
}
