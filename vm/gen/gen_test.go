package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
)

func TestGeneratedFilesAreFresh(t *testing.T) {
	files, err := generate("../../decode/op.go")
	require.NoError(t, err)
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", name))
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), "%s is stale: run go generate ./vm", name)
	}
}

func TestOpNamesFollowTheTable(t *testing.T) {
	names, err := opNames("../../decode/op.go")
	require.NoError(t, err)
	require.Len(t, names, int(decode.NumOps))
	assert.Equal(t, "OpSDiv32Reg", names[decode.OpSDiv32Reg])
	assert.Equal(t, "OpExit", names[decode.OpExit])
	_, err = opNames("main.go")
	assert.Error(t, err)
}

// A sequence whose second instruction reads what the first wrote must be handled with that value,
// so its condition must say which register that is.
func TestConditionsOfFusions(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range fusions {
		require.False(t, seen[f.name], "%s appears twice", f.name)
		seen[f.name] = true
		require.Contains(t, []int{2, 3}, len(f.ops), f.name)
		body, cond := (&generator{}).shape(f.ops)
		assert.NotEmpty(t, body, f.name)
		second := f.ops[1].Info()
		if second.Form == decode.FormALUReg && second.Text != "=" {
			assert.True(t, slices.Contains(cond, "otherSrc") || slices.Contains(cond, "srcIsDst"), "%s: nothing says whose value the second reads", f.name)
		}
	}
}

func TestUnknownSequencesAreRefused(t *testing.T) {
	assert.Panics(t, func() { (&generator{}).shape(seq{decode.OpExit, decode.OpExit}) })
	assert.Panics(t, func() { (&generator{}).shape(seq{decode.OpDiv64Imm, decode.OpAdd64Imm}) })
}
