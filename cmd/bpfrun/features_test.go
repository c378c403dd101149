package main

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
