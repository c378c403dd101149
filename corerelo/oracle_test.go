package corerelo

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// Every rule of the tables, and random ones, were given as ELF objects to a real
// libbpf (1.8, by conformance/libbpf/core_libbpf.c); testdata/libbpf.json.gz
// holds what it did. Recording again needs the program on Linux, no privileges:
//
//	BPFRUN_CORE_LIBBPF=/path/to/core_libbpf go test ./corerelo -update
//
// More random graphs than those recorded are compared with
//
//	BPFRUN_CORE_LIBBPF=/path/to/core_libbpf BPFRUN_CORE_GRAPHS=10000 go test ./corerelo -run MoreRandom
var (
	update     = rewrite.Flag
	oraclePath = os.Getenv("BPFRUN_CORE_LIBBPF")
)

const recordedFile = "testdata/libbpf.json.gz"

// record is what libbpf did with the records of a rule: "ok OLD NEW", "ok OLD
// NEW FROM>TO", "poison" or "error", which is the last; and its debug log.
type record struct {
	Answers, Log []string
}

// recorded maps a rule's name to its record.
var recorded = map[string]record{}

func TestMain(m *testing.M) {
	flag.Parse()
	if data, err := os.ReadFile(recordedFile); err == nil && !*update {
		if err := readRecorded(data); err != nil {
			fmt.Fprintln(os.Stderr, recordedFile, err)
			os.Exit(1)
		}
	}
	code := m.Run()
	if *update && code == 0 {
		if err := writeRecorded(); err != nil {
			fmt.Fprintln(os.Stderr, recordedFile, err)
			code = 1
		}
	}
	os.Exit(code)
}

func readRecorded(data []byte) error {
	zr, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return json.NewDecoder(zr).Decode(&recorded)
}

func writeRecorded() error {
	var buf bytes.Buffer
	zw := gzip.NewWriter(&buf)
	if err := json.NewEncoder(zw).Encode(recorded); err != nil {
		return err
	}
	if err := zw.Close(); err != nil {
		return err
	}
	return os.WriteFile(recordedFile, buf.Bytes(), 0o644)
}

// askLibbpf runs the oracle on a fixture.
func askLibbpf(t testing.TB, f fixture) record {
	t.Helper()
	dir := t.TempDir()
	obj, target := filepath.Join(dir, "probe.o"), filepath.Join(dir, "target.btf")
	p := probe{records: f.records, insns: f.insns}
	require.NoError(t, os.WriteFile(obj, p.elfObject(f.graph, newStrings()), 0o600))
	require.NoError(t, os.WriteFile(target, f.targetGraph.encode(byteOrder), 0o600))
	cmd := exec.Command(oraclePath, "-l", obj, target)
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.Output()
	require.NoError(t, err)
	var lines []string
	dec := json.NewDecoder(bytes.NewReader(out))
	for dec.More() {
		var line struct {
			Result  string `json:"result"`
			Old     uint64 `json:"old"`
			New     uint64 `json:"new"`
			MemSize string `json:"mem_size"`
			Status  *int   `json:"status"`
		}
		require.NoError(t, dec.Decode(&line))
		switch {
		case line.Status != nil:
			if *line.Status != 0 && (len(lines) == 0 || lines[len(lines)-1] != "error") {
				lines = append(lines, "error")
			}
		case line.Result == "ok":
			lines = append(lines, okLine(line.Old, line.New, line.MemSize))
		default:
			lines = append(lines, line.Result)
		}
	}
	return record{lines, coreLines(log.String())}
}

// coreLines picks what libbpf's debug log says about CO-RE.
func coreLines(log string) []string {
	var out []string
	for line := range strings.Lines(log) {
		line = strings.TrimSuffix(line, "\n")
		for _, start := range []string{"prog 'p': relo ", "CO-RE relocating ["} {
			if at := strings.Index(line, start); at >= 0 {
				out = append(out, line[at:])
			}
		}
	}
	return out
}

func okLine(old, now uint64, memSize string) string {
	s := fmt.Sprintf("ok %d %d", old, now)
	if memSize != "" {
		s += " " + memSize
	}
	return s
}

// answer resolves a fixture and writes the outcome as a record.
func (f fixture) answer() record {
	r := NewResolver(f.local, Target{BTF: f.target})
	insns := slices.Clone(f.insns)
	var out record
	for i, rec := range f.records {
		rel, err := r.Resolve(rec)
		if err != nil {
			out.Log = append(out.Log, rel.Log("p", i, nil, nil)...)
			out.Answers = append(out.Answers, "error")
			return out
		}
		p, err := rel.Apply(insns, f.at[i])
		out.Log = append(out.Log, rel.Log("p", i, &p, err)...)
		switch {
		case err != nil:
			out.Answers = append(out.Answers, "error")
			return out
		case p.Poisoned:
			out.Answers = append(out.Answers, "poison")
		default:
			size := ""
			if p.OldSize != p.NewSize {
				size = fmt.Sprintf("%d>%d", p.OldSize, p.NewSize)
			}
			out.Answers = append(out.Answers, okLine(p.Old, p.New, size))
		}
	}
	return out
}

// compareRecorded checks a fixture against libbpf, asking it with -update.
func compareRecorded(t *testing.T, name string, f fixture, deviates bool) {
	t.Helper()
	if *update && oraclePath != "" {
		recorded[name] = askLibbpf(t, f)
	}
	want, ok := recorded[name]
	if !ok {
		t.Fatalf("no record of libbpf for %q; see oracle_test.go", name)
	}
	compareRecord(t, want, f, deviates)
}

func compareRecord(t *testing.T, want record, f fixture, deviates bool) {
	t.Helper()
	got := f.answer()
	if deviates {
		assert.NotEqual(t, want.Answers, got.Answers, "documented as a deviation from libbpf, but equal")
		return
	}
	assert.Equal(t, want.Answers, got.Answers, "libbpf's answers")
	for i, line := range want.Log {
		// libbpf prints an enumerator of what is not an enum from stray memory
		if i < len(got.Log) && (strings.Contains(line, "::(null)") || strings.HasPrefix(line, got.Log[i]+"::")) {
			want.Log[i] = got.Log[i]
		}
	}
	assert.Equal(t, want.Log, got.Log, "libbpf's log")
}

// TestMoreRandomAgainstLibbpf compares graphs nobody has looked at, among them mutated ones: the
// target is the local types' own graph with some of its parts exchanged.
func TestMoreRandomAgainstLibbpf(t *testing.T) {
	count, _ := strconv.ParseUint(os.Getenv("BPFRUN_CORE_GRAPHS"), 10, 64)
	if count == 0 || oraclePath == "" {
		t.Skip("BPFRUN_CORE_GRAPHS and BPFRUN_CORE_LIBBPF are not set")
	}
	first := uint64(1000)
	if s := os.Getenv("BPFRUN_CORE_SEED"); s != "" {
		var err error
		first, err = strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
	}
	for seed := first; seed < first+count && !t.Failed(); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			rule := randomRule(rng)
			if seed%2 == 1 {
				rule = mutatedRule(rng)
			}
			f := rule.build(t)
			compareRecord(t, askLibbpf(t, f), f, false)
		})
	}
}

// TestRandomAgainstLibbpf compares random types and records.
func TestRandomAgainstLibbpf(t *testing.T) {
	for seed := range uint64(600) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			f := randomRule(rand.New(rand.NewPCG(seed, 1))).build(t)
			compareRecorded(t, fmt.Sprintf("random %d", seed), f, false)
		})
	}
}
