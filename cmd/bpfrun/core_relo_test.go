package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReloCommand(t *testing.T) {
	missing := "testdata/objects/clang-14/missing.o"
	golden(t, "relo-verbose.txt", exitLoad, "relo", missing, "--btf", btfEmbedded, "-v")
	golden(t, "relo-quiet.txt", exitLoad, "relo", missing, "--btf", btfEmbedded, "-q")
	golden(t, "relo.json", exitLoad, "relo", missing, "--btf", btfEmbedded, "--json")
}

// logFile writes a log to be explained.
func logFile(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "verifier.log")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func TestReloExplain(t *testing.T) {
	guarded, missing := "examples/guarded/guarded.bpf.o", "testdata/objects/clang-14/missing.o"
	for _, c := range []struct {
		name, object, btf, log string
	}{
		{"explain-kernel.txt", guarded, btf510,
			"libbpf: prog 'on_exit': -- BEGIN PROG LOAD LOG --\n0: R1=ctx() R10=fp0\n26: (85) call unknown#195896080\ninvalid func unknown#195896080\nprocessed 26 insns\n"},
		{"explain-other-kernel.txt", guarded, btfEmbedded, "26: (85) call unknown#195896080\ninvalid func unknown#195896080\n"},
		{"explain-libbpf.txt", missing, btfEmbedded,
			"1: <invalid CO-RE relocation>\nfailed to resolve CO-RE relocation <byte_off> [9] struct task_struct___old.state (0:0 @ offset 0)\n"},
		{"explain-number.txt", missing, btfEmbedded, "invalid func unknown#195896080\n"},
		{"explain-other-object.txt", guarded, btfEmbedded, "prog 'nobody': x\n3: (85) call unknown#195896080\n"},
	} {
		golden(t, c.name, exitOK, "relo", c.object, "--btf", c.btf, "--explain", logFile(t, c.log))
	}
	out, _, code := commandLine(t, "relo", missing, "--btf", btfEmbedded, "--json", "--explain", logFile(t, "invalid func unknown#195896080\n"))
	assert.Equal(t, exitOK, code)
	var doc struct {
		Entries []struct {
			Insn    *int
			Matches []struct {
				Program    string
				Here       string
				Relocation struct{ Kind, Result, Hint string }
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &doc))
	require.Len(t, doc.Entries, 1)
	assert.Nil(t, doc.Entries[0].Insn)
	require.NotEmpty(t, doc.Entries[0].Matches)
	for _, m := range doc.Entries[0].Matches {
		assert.Equal(t, "missing", m.Here)
		assert.Equal(t, "poison", m.Relocation.Result)
		assert.NotEmpty(t, m.Relocation.Hint)
	}
}

func TestReloExplainUsage(t *testing.T) {
	for _, args := range [][]string{
		{"relo", "examples/exec/exec.bpf.o", "--btf", btfEmbedded, "--explain", logFile(t, "all is well\n")},
		{"relo", "examples/exec/exec.bpf.o", "--btf", btfEmbedded, "--explain", "no/such/file"},
		{"relo", "examples/exec/exec.bpf.o", "examples/xdp/xdp.bpf.o", "--btf", btfEmbedded, "--explain", logFile(t, "unknown#195896080")},
		{"relo", "examples/exec/exec.bpf.o", "--btf", btfEmbedded, "--btf", btf510, "--explain", logFile(t, "unknown#195896080")},
	} {
		_, errs, code := commandLine(t, args...)
		assert.Equal(t, exitUsage, code, "%v\n%s", args, errs)
	}
}

// TestReloHardErrors: the document is whole when relocations fail hard.
func TestReloHardErrors(t *testing.T) {
	out, _, code := commandLine(t, "relo", "testdata/core/clang-22/err_range.o", "--btf", "testdata/core/btf/err_range.far.btf", "--json")
	assert.Equal(t, exitLoad, code)
	var doc struct {
		Exit     int
		Error    *struct{ Message string }
		Programs []struct {
			Relocations []struct{ Result, Error, Old, New, Kind string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &doc))
	assert.Equal(t, exitLoad, doc.Exit)
	require.NotNil(t, doc.Error)
	results := map[string]int{}
	for _, p := range doc.Programs {
		for _, r := range p.Relocations {
			results[r.Result]++
			assert.Equal(t, r.Result == "error", r.Error != "")
			assert.NotEmpty(t, r.Old)
			assert.NotEmpty(t, r.New)
		}
	}
	assert.Positive(t, results["error"], "%v", results)
}
