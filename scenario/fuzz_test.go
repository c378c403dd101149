package scenario

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// FuzzParse: whatever the text, parsing ends with a File or an *Error with a place.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("../examples/*/*.yaml")
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
		"? [a]\n: b", "objects: {a: !file {path: /x}, b: $a}\nruns:\n- prog: x\n  expect: {ret: u64:0x1, maps: {m: !exact {1: null}}}", "<<: a", "runs: [{prog: x, packet: '00:11'}]", "- - - -", "!a !b c",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("f.yaml", data)
		if err == nil {
			if file == nil || len(file.Sequence) > len(data) {
				t.Fatalf("file %v", file)
			}
			return
		}
		var e *Error
		if !errors.As(err, &e) || e.Line < 1 || e.Col < 1 {
			t.Fatalf("error without a place: %v", err)
		}
	})
}
