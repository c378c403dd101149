package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestConformanceCoreCommand(t *testing.T) {
	probes := []string{"--objects", "testdata/core/clang-22", "--btf", "testdata/core/btf/*.btf"}
	out, _, code := commandLine(t, append([]string{"conformance", "core", "testdata/core/expect-relo.clang-22.jsonl.gz"}, probes...)...)
	assert.Equal(t, exitOK, code)
	assert.True(t, strings.HasSuffix(out, "\n530 passed, 0 failed\n"), out)

	// What one command writes the other one reads.
	file := filepath.Join(t.TempDir(), "own.jsonl.gz")
	_, errs, code := commandLine(t, append([]string{"conformance", "record", "core", "testdata/core/clang-22/exists.o", "-o", file}, probes...)...)
	assert.Equal(t, exitOK, code, errs)
	out, _, code = commandLine(t, append([]string{"conformance", "core", file}, probes...)...)
	assert.Equal(t, exitOK, code, out)
	assert.Regexp(t, `^\d\d+ passed, 0 failed\n$`, out)

	// With the wrong kernels every line fails.
	out, _, code = commandLine(t, "conformance", "core", file, "--objects", "testdata/core/clang-22", "--btf", "testdata/btf/min/*.btf")
	assert.Equal(t, exitExpectation, code)
	assert.Contains(t, out, "no BTF of this name was given")
	assert.Contains(t, out, "\n0 passed, ")

	_, _, code = commandLine(t, "conformance", "core", "testdata/core/core.h", "--btf", "testdata/btf/min/*.btf")
	assert.Equal(t, exitUsage, code)
	_, _, code = commandLine(t, "conformance", "record", "core", "--objects", "testdata/core/btf", "--btf", "testdata/btf/min/*.btf")
	assert.Equal(t, exitUsage, code)
}
