package fuzz_test

import (
	"testing"

	"github.com/bpfrun/bpfrun/internal/app/fuzz"
)

// BenchmarkSearch is one input of a search, with everything that a search does about it.
func BenchmarkSearch(b *testing.B) {
	for _, name := range []string{"xdp", "openat", "tp_btf", "lsm", "percpu", "session"} {
		b.Run(name, func(b *testing.B) {
			search(b, "../../../examples/"+name+"/"+name+".bpf.o", fuzz.Options{Runs: uint64(b.N), Seed: 1})
		})
	}
}
