package corerelo

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
)

const probeDir = "../testdata/core"

// probeLine is what a real libbpf did with one record of a compiled probe
// (testdata/core/expect-relo.*.jsonl.gz). insn is -1 where it did not tell.
type probeLine struct {
	Object  string `json:"object"`
	BTF     string `json:"btf"`
	Program string `json:"program"`
	Insn    int    `json:"insn"`
	Kind    string `json:"kind"`
	Spec    string `json:"spec"`
	Old     uint64 `json:"old"`
	New     uint64 `json:"new"`
	Result  string `json:"result"`
}

// TestProbesAgainstLibbpf relocates the compiled probes for their targets.
func TestProbesAgainstLibbpf(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(probeDir, "expect-relo.*.jsonl.gz"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		compiler := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "expect-relo."), ".jsonl.gz")
		cases := map[[2]string][]probeLine{}
		for _, line := range readProbeLines(t, file) {
			key := [2]string{line.Object, line.BTF}
			cases[key] = append(cases[key], line)
		}
		for key, want := range cases {
			t.Run(compiler+"/"+key[1], func(t *testing.T) {
				if strings.HasPrefix(key[0], "err_enum_u32") {
					t.Skip("libbpf refuses unsigned enumerators of 2^31 and more, on purpose this package does not")
				}
				o := openObject(t, filepath.Join(probeDir, compiler, key[0]))
				target, err := btffile.Load(filepath.Join(probeDir, "btf", key[1]), nil)
				require.NoError(t, err)
				checkProbe(t, o, target, want)
			})
		}
	}
}

func readProbeLines(t *testing.T, file string) []probeLine {
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	var lines []probeLine
	scan := bufio.NewScanner(z)
	for scan.Scan() {
		var line probeLine
		if json.Unmarshal(scan.Bytes(), &line) == nil && line.Kind != "" {
			lines = append(lines, line)
		}
	}
	require.NoError(t, scan.Err())
	return lines
}

func checkProbe(t *testing.T, o *object, target *btf.Spec, want []probeLine) {
	r := NewResolver(o.local, Target{BTF: target})
	require.GreaterOrEqual(t, len(o.records), len(want))
	for i, w := range want {
		rec := o.records[i]
		rel, err := r.Resolve(rec.Record)
		var p Patch
		if err == nil {
			p, err = rel.Apply(o.code[rec.section], int(rec.InsnOff/8))
		}
		got := probeLine{
			Object: w.Object, BTF: w.BTF, Program: rec.function, Insn: rec.insn, Kind: rec.Kind.String(),
			Spec: rel.Local.Text(), Result: "ok",
		}
		switch {
		case err != nil:
			got.Result = "error"
		case p.Poisoned:
			got.Result = "poison"
		default:
			got.Old, got.New = p.Old, p.New
		}
		// libbpf logs the second slot of a poisoned LD_IMM64 first
		if w.Insn < 0 || p.Poisoned && p.Slots == 2 && w.Insn == rec.insn+1 {
			got.Insn = w.Insn
		}
		assert.Equal(t, w, got, "record %d: %v", i, err)
	}
}
