package main

import (
	"encoding/json"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/jit"
)

// TestF33ProgramDump is row F33 of the features of conformance/features_test.go: a program dump
// with prototypes of functions and source lines, as the kernel's BTF document shows them of bpftool
// (the half that is not of jited code).
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

// TestF33NativeProgramDump is the half of row F33 that is of jited code: prototypes, source lines,
// instructions and native code below each, in the language of every processor that there is code
// for, whatever this one is.
func TestF33NativeProgramDump(t *testing.T) {
	native := map[string]string{"amd64": `mov r\w+, r\w+`, "arm64": `(?i)mov x\d+, x\d+`}
	require.Len(t, native, len(jit.Processors()))
	for _, processor := range jit.Processors() {
		t.Run(processor, func(t *testing.T) {
			out, errs, code := commandLine(t, "disasm", "--jit="+processor, "testdata/objects/clang-22/subprog.o", "-p", "calls", "--btf", btfEmbedded)
			require.Equal(t, exitOK, code, errs)
			for _, want := range []string{
				`(?m)^calls \(syscall\): int calls\(__u64 \*ctx\)$`, `(?m)^branch: __u64 branch\(__u64 x\)$`,
				`(?m)^; trail = 0; @ (testdata/)?src/subprog\.bpf\.c:\d+$`,
				`(?m)^ +0: r6 = r1\n +[0-9a-f]+  ` + native[processor] + `$`, // an instruction, and native code below it
			} {
				assert.Regexp(t, regexp.MustCompile(want), out)
			}
		})
	}
	if own := runtime.GOARCH; slices.Contains(jit.Processors(), own) {
		named, _, _ := commandLine(t, "disasm", "--jit="+own, "testdata/objects/clang-22/subprog.o", "-p", "calls", "--btf", btfEmbedded)
		plain, _, _ := commandLine(t, "disasm", "--jit", "testdata/objects/clang-22/subprog.o", "-p", "calls", "--btf", btfEmbedded)
		assert.Equal(t, named, plain)
	}
}

// TestF33AsJSON: the JSON of bpftool prog dump, of bytecode and of native code.
func TestF33AsJSON(t *testing.T) {
	read := func(doc any, args ...string) {
		t.Helper()
		out, errs, code := commandLine(t, append(args, "disasm", "--bpftool", "--raw", "testdata/objects/clang-22/subprog.o", "-p", "calls", "--btf", btfEmbedded)...)
		require.Equal(t, exitOK, code, errs)
		d := json.NewDecoder(strings.NewReader(out))
		d.DisallowUnknownFields()
		require.NoError(t, d.Decode(doc))
	}
	var xlated []report.BpftoolInsn
	read(&xlated)
	first := xlated[0]
	assert.Equal(t, "int calls(__u64 * ctx)", first.Proto)
	assert.Equal(t, "(bf) r6 = r1", first.Disasm)
	assert.Equal(t, &report.BpftoolOpcodes{Code: "0xbf", SrcReg: "0x1", DstReg: "0x6", Off: []string{"0x00", "0x00"}, Imm: []string{"0x00", "0x00", "0x00", "0x00"}}, first.Opcodes)
	assert.NotZero(t, first.LineNum)
	assert.Contains(t, first.File, "subprog.bpf.c")
	protos := 0
	for _, in := range xlated {
		if in.Proto != "" {
			protos++
		}
	}
	assert.Greater(t, protos, 2)
	for _, processor := range jit.Processors() {
		var jited []report.BpftoolFunction
		read(&jited, "--jit="+processor)
		require.Greater(t, len(jited), 2)
		assert.Equal(t, "calls", jited[0].Name)
		assert.Equal(t, "int calls(__u64 * ctx)", jited[0].Proto)
		require.NotEmpty(t, jited[0].Insns)
		assert.Equal(t, "0x0", jited[0].Insns[0].PC)
		assert.NotEmpty(t, jited[0].Insns[0].Src)
		assert.NotEmpty(t, jited[0].Insns[0].Opcodes)
	}
	_, errs, code := commandLine(t, "disasm", "--jit=s390x", "testdata/objects/clang-22/subprog.o", "--btf", btfEmbedded)
	assert.Equal(t, exitNotSimulated, code)
	assert.Contains(t, errs, "amd64 and arm64")
}
