package decode

import (
	"encoding/binary"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

var update = rewrite.Flag

// noLLVM are the instructions LLVM's assembler has no text for (or, gotol, no number as target).
func noLLVM(info *Info) bool {
	switch info.Form {
	case FormImm64:
		return info.Op != OpLdImm64
	case FormCall, FormCallKfunc:
		return info.Op != OpCallHelper
	case FormLdInd, FormGotoL:
		return true
	}
	return false
}

var encoding = regexp.MustCompile(`^\s*(.*?)\s*# encoding: \[(.*)\]$`)

// askLLVM assembles our text of every instruction.
func askLLVM(t *testing.T, mc string) string {
	var in strings.Builder
	for op := OpInvalid + 1; op < NumOps; op++ {
		if noLLVM(op.Info()) {
			continue
		}
		imm := int32(-5)
		if op == OpAddrSpaceCast {
			imm = 1
		}
		insns := []Insn{op.Encode(2, 3, -8, imm)}
		if insns[0].IsLdImm64() {
			insns = append(insns, Insn{Imm: -1})
		}
		in.WriteString(Disassemble(insns, 0, nil) + "\n")
	}
	cmd := exec.Command(mc, "-triple", "bpfel", "-mcpu=v4", "--show-encoding")
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	var golden strings.Builder
	for _, line := range strings.Split(string(out), "\n") {
		if m := encoding.FindStringSubmatch(line); m != nil {
			code := strings.NewReplacer("0x", "", ",", "").Replace(m[2])
			golden.WriteString(code + "  " + m[1] + "\n")
		}
	}
	return golden.String()
}

// TestLLVM compares encodings and text with those of llvm-mc.
func TestLLVM(t *testing.T) {
	path := filepath.Join("testdata", "llvm-mc.txt")
	if mc := os.Getenv("LLVM_MC"); mc != "" {
		got := askLLVM(t, mc)
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, string(want), got)
	}
	golden, err := os.ReadFile(path)
	require.NoError(t, err)
	seen := map[Op]bool{}
	for _, line := range strings.Split(strings.TrimSpace(string(golden)), "\n") {
		code, text, ok := strings.Cut(line, "  ")
		require.True(t, ok, line)
		raw, err := hex.DecodeString(code)
		require.NoError(t, err)
		insns, err := Unmarshal(raw, binary.LittleEndian)
		require.NoError(t, err)
		got, err := Assemble(text)
		require.NoError(t, err)
		assert.Equal(t, insns, got, text)
		assert.Equal(t, text, Disassemble(insns, 0, nil))
		seen[insns[0].Op()] = true
	}
	for op := OpInvalid + 1; op < NumOps; op++ {
		assert.Equal(t, !noLLVM(op.Info()), seen[op], op.String())
	}
}
