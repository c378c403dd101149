package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// command runs one command line.
func command(args ...string) (code int, stdout, stderr string) {
	var out, diag bytes.Buffer
	code = run(args, &out, &diag)
	return code, out.String(), diag.String()
}

// writeScenario writes a scenario file into a directory of its own.
func writeScenario(t *testing.T, text string) string {
	t.Helper()
	object, err := filepath.Abs(execObject)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "s.yaml")
	require.NoError(t, os.WriteFile(path, []byte("object: "+object+"\n"+text), 0o644))
	return path
}

func TestTestExamples(t *testing.T) {
	dir := t.TempDir()
	junit, md := filepath.Join(dir, "r.xml"), filepath.Join(dir, "r.md")
	code, stdout, stderr := command("test", "../../examples", "--btf", "embedded", "--btf", "../../testdata/btf/linux-5.10.262-amd64-cloud.btf.xz", "-o", "junit="+junit, "-o", "md="+md)
	require.Equal(t, exitOK, code, stdout+stderr)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	assert.Regexp(t, `^\d+ scenario files, 1 object on 2 kernels: \d+ passed \(\d+ without expectations\), 0 failed, \d+ skipped in `, lines[len(lines)-1])
	assert.Contains(t, stdout, "skip ../../examples/syscall/syscall.yaml  linux-5.10.262-amd64-cloud")

	text, err := os.ReadFile(junit)
	require.NoError(t, err)
	var doc struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Suites   []struct {
			Name  string `xml:"name,attr"`
			Cases []struct {
				Name string `xml:"name,attr"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	require.NoError(t, xml.Unmarshal(text, &doc))
	assert.Zero(t, doc.Failures)
	assert.NotZero(t, doc.Tests)
	assert.Equal(t, 0, len(doc.Suites)%2, "each file on each kernel")
	text, err = os.ReadFile(md)
	require.NoError(t, err)
	assert.Contains(t, string(text), "|scenario|linux-6.12.107-amd64|linux-5.10.262-amd64-cloud|")
}

// TestTestExitCodes: what fails decides the exit code, and mistakes keep everything from running.
func TestTestExitCodes(t *testing.T) {
	const objects = "objects: {sh: {type: task_struct, tgid: 42, comm: bash}}\n"
	for _, tt := range []struct {
		name, text string
		code       int
		want       string // on either stream
	}{
		{"passes", objects + "runs: [{prog: on_exec, current: $sh, expect: {ret: 0}}]\n", exitOK, "1 passed, 0 failed in"},
		{"failed expectation", objects + "runs: [{prog: on_exec, current: $sh, expect: {ringbuf: {events: [{pid: 7}]}}}]\n", exitExpectation, "s.yaml:3:72: events[0].pid: want 7, got 42"},
		{"mistake", objects + "runs: [{prog: on_exec, current: $zsh}]\n", exitUsage, "s.yaml:3:33: unknown object \"zsh\""},
		{"expected status", objects + "runs: [{prog: on_exec, expect: {status: fault}}]\n", exitExpectation, "status: want fault, got ok"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := writeScenario(t, tt.text)
			code, stdout, stderr := command("test", path, "--btf", "embedded")
			assert.Equal(t, tt.code, code, stdout+stderr)
			assert.Contains(t, stdout+stderr, tt.want)
			if tt.code == exitUsage {
				assert.NotContains(t, stdout, "ok", "nothing ran")
			}
			code, stdout, _ = command("test", path, "--btf", "embedded", "--json")
			assert.Equal(t, tt.code, code)
			var doc struct {
				Schema string
				Exit   int
			}
			require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
			assert.Equal(t, tt.code, doc.Exit)
			assert.Equal(t, "bpfrun/1", doc.Schema)
		})
	}
	// The others run beside a file with a mistake, which is reported and decides the exit code.
	good, bad := writeScenario(t, "runs: [{prog: on_exec}]\n"), writeScenario(t, "runs: [{prog: on_exe}]\n")
	code, stdout, stderr := command("test", good, bad, "--btf", "embedded")
	assert.Equal(t, exitUsage, code, stderr)
	assert.Contains(t, stdout, "1 passed (1 without expectations), 0 failed")
	assert.Contains(t, stdout, `unknown program "on_exe" (nearest: on_exec)`)
}

func TestTestArguments(t *testing.T) {
	empty := t.TempDir()
	alone := filepath.Join(t.TempDir(), "alone.yaml")
	require.NoError(t, os.WriteFile(alone, []byte("runs: []\n"), 0o644))
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"test", empty}, "no scenario files (*.yaml) in this directory"},
		{[]string{"test", "none.yaml"}, "no such file"},
		{[]string{"test", alone}, "alone.yaml:1:1: no object"},
		{[]string{"test", execObject, "-o", "pdf=x"}, "want html=FILE or junit=FILE or md=FILE or github=FILE"},
		{[]string{"test", execObject, "--clock", "never"}, "--clock"},
		{[]string{"run", execObject, "-s", "x.yaml", "-p", "on_exec"}, "--prog cannot be combined with -s"},
		{[]string{"run", execObject, "-s", "none.yaml"}, "none.yaml"},
		{[]string{"scenario", "new", execObject, "-p", "nix", "--btf", "embedded"}, "no such program"},
	} {
		code, _, stderr := command(tt.args...)
		assert.Equal(t, exitUsage, code, tt.args)
		assert.Contains(t, stderr, tt.want, tt.args)
	}
	code, stdout, _ := command("test", execObject, "--btf", "embedded", "-v")
	assert.Equal(t, exitOK, code, "an object stands for the scenarios beside it")
	assert.Contains(t, stdout, "a user runs curl")
}

func TestRunScenario(t *testing.T) {
	code, stdout, stderr := command("run", execObject, "-s", "../../examples/exec/exec.yaml", "--btf", "embedded")
	require.Equal(t, exitOK, code, stderr)
	assert.Contains(t, stdout, "a user runs curl")
	assert.Contains(t, stdout, "kernel   reads 5, proved 5, baked 0")

	path := writeScenario(t, "runs: [{prog: on_exec, expect: {ret: 1}}]\n")
	code, stdout, _ = command("run", execObject, "-s", path, "--btf", "embedded")
	assert.Equal(t, exitExpectation, code)
	assert.Contains(t, stdout, "ret: want 1, got 0")
	assert.Contains(t, stdout, "s.yaml:2:38")
}

// TestScenarioNew: what it writes passes as a test.
func TestScenarioNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new.yaml")
	code, _, stderr := command("scenario", "new", execObject, "--btf", "embedded", "-o", path)
	require.Equal(t, exitOK, code, stderr)
	code, stdout, stderr := command("run", execObject, "-s", path, "--btf", "embedded")
	assert.Equal(t, exitOK, code, stdout+stderr)
	code, stdout, stderr = command("test", path, "--btf", "embedded")
	assert.Equal(t, exitOK, code, "the file names the object as seen from where it lies: "+stdout+stderr)
	code, stdout, stderr = command("scenario", "new", execObject, "--btf", "embedded")
	assert.Equal(t, exitOK, code, stderr)
	assert.Contains(t, stdout, "\nobject: \""+filepath.ToSlash(execObject)+"\"\n", "as seen from here")
	code, _, stderr = command("scenario", "new", execObject, "--btf", "embedded", "-o", path)
	assert.Equal(t, exitUsage, code, "a file that exists stays")
	assert.Contains(t, stderr, "exists")
}

func TestConformanceKernel(t *testing.T) {
	const dir = "../../conformance/testdata/cases"
	code, stdout, stderr := command("conformance", "kernel", dir+"/maps_nested.json", "--objects", dir, "--btf", "embedded")
	assert.Equal(t, exitOK, code, stderr)
	assert.Equal(t, "11 passed, 0 failed\n", stdout)
	code, _, stderr = command("conformance", "kernel", execObject, "--btf", "embedded")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "exec.bpf.o:1:")
}
