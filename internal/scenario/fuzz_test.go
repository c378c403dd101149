package scenario

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/testing/ceiling"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// FuzzParse: whatever the text, parsing ends with a File or an *Error with a place.
func FuzzParse(f *testing.F) {
	ceiling.Limit(f, 2<<30)
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var file *File
		var err error
		// Parsing takes some kilobytes for each token; parameters and aliases multiply runs up to
		// their limits.
		ceiling.Check(t, 256<<20+4096*uint64(len(data)), func() { file, err = Parse("f.yaml", data) })
		if err == nil && (file == nil || len(file.Sequence) > len(data)) {
			t.Fatalf("file %v", file)
		}
		if err == nil {
			return
		}
		var e *grammar.Error
		if !errors.As(err, &e) || e.Line < 1 || e.Col < 1 {
			t.Fatalf("error without a place: %v", err)
		}
	})
}

// addSeeds adds the examples' files, and texts with all sorts of YAML.
func addSeeds(f *testing.F) {
	files, err := filepath.Glob("../../examples/*/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range []string{
		"", "runs: []", "{\"runs\": [{\"prog\": \"a\"}]}", "a: &x [*x]", "runs: [{prog: a, helpers: {bpf_x: {fail_at: 2, errno: EFAULT}}}]",
		"? [a]\n: b", "objects: {a: !file {path: /x}, b: $a}\nruns:\n- prog: x\n  expect: {ret: u64:0x1, maps: {m: !exact {1: null}}}", "<<: a", "a: &x [1]\nb: &y [*x, *x]\nruns: [*y]", "defaults: {prog: p}\nruns: [{name: 'n ${a}', each: {a: [1, 2], b: [3, 4]}, cpu: '${b}', truncate: all}]",
		"runs: [{<<: &x {prog: a}, name: b}, {<<: [*x], name: c}]", "runs: [{prog: x, packet: '00:11'}]", "- - - -", "!a !b c",
	} {
		f.Add([]byte(text))
	}
}

// FuzzOpen: a file checked against an object and a kernel's types, with mistakes in its form or
// without, ends with a Runner or with mistakes that have places.
func FuzzOpen(f *testing.F) {
	ceiling.Limit(f, 2<<30)
	addSeeds(f)
	obj, err := loader.Open("../../examples/exec/exec.bpf.o")
	if err != nil {
		f.Fatal(err)
	}
	raw, err := os.ReadFile("../../testdata/btf/min/linux-6.12.107-amd64.min.btf")
	if err != nil {
		f.Fatal(err)
	}
	spec, err := btf.Parse(raw, nil)
	if err != nil {
		f.Fatal(err)
	}
	target := loader.NewTarget("6.12", spec, loader.WithVersion(uapi.VersionCode(6, 12)))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, wrong := Parse("f.yaml", data)
		if file == nil || len(file.Runs) > 100 {
			return
		}
		var r *Runner
		var err error
		ceiling.Check(t, 512<<20+4096*uint64(len(data)), func() {
			if r, err = Open(file, obj, target, Options{}); err == nil {
				r.Close()
			}
		})
		if wrong != nil && err == nil {
			t.Fatalf("a file with mistakes can be run: %v", wrong)
		}
		var e *grammar.Error
		if errors.As(err, &e) && (e.Line < 1 || e.Col < 1) {
			t.Fatalf("error without a place: %v", err)
		}
	})
}
