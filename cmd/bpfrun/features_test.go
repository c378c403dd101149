package main

import (
	"regexp"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/jit"
)

// TestF33ProgramDump is row F33 of the features of conformance/features_test.go: a program dump with prototypes of
// functions and source lines, as the kernel's BTF document shows them of bpftool (the half that is not of jited code).
func TestF33ProgramDump(t *testing.T) {
	out, errs, code := commandLine(t, "disasm", "testdata/objects/clang-22/subprog.o", "-p", "calls", "--btf", btfEmbedded)
	require.Equal(t, exitOK, code, errs)
	for _, want := range []string{
		`(?m)^calls \(syscall\): int calls\(__u64 \*ctx\)$`, `(?m)^branch: __u64 branch\(__u64 x\)$`, `(?m)^leaf_a: __u64 leaf_a\(__u64 x\)$`, `(?m)^note: __u64 note\(__u64 n\)$`,
		`(?m)^; ctx\[0\] = branch\(ctx\[0\]\); @ (testdata/)?src/subprog\.bpf\.c:\d+$`, `(?m)^ +\d+: call branch$`,
	} {
		assert.Regexp(t, regexp.MustCompile(want), out)
	}
}

// TestF33NativeProgramDump is the half of row F33 that is of jited code: prototypes, source lines, instructions and the processor's below
// each, in this processor's language.
func TestF33NativeProgramDump(t *testing.T) {
	native, ok := map[string]string{"amd64": `mov r\w+, r\w+`, "arm64": `(?i)mov x\d+, x\d+`}[runtime.GOARCH]
	if !ok || !jit.Supported() {
		t.Skip("no native code on " + runtime.GOARCH)
	}
	out, errs, code := commandLine(t, "disasm", "--jit", "testdata/objects/clang-22/subprog.o", "-p", "calls", "--btf", btfEmbedded)
	require.Equal(t, exitOK, code, errs)
	for _, want := range []string{
		`(?m)^calls \(syscall\): int calls\(__u64 \*ctx\)$`, `(?m)^branch: __u64 branch\(__u64 x\)$`,
		`(?m)^; trail = 0; @ (testdata/)?src/subprog\.bpf\.c:\d+$`,
		`(?m)^ +0: r6 = r1\n +[0-9a-f]+  ` + native + `$`, // an instruction, and native code below it
	} {
		assert.Regexp(t, regexp.MustCompile(want), out)
	}
}
