package loader

import "testing"

// Opening, and loading for a full kernel BTF that is already parsed.
func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		object(b, "clang-22/maps_all.o")
	}
}

func BenchmarkLoad(b *testing.B) {
	o, target := object(b, "clang-22/missing.o"), kernel(b, linux72)
	for b.Loop() {
		load(b, o, target, LoadOptions{})
	}
}

func BenchmarkCorpusLoad(b *testing.B) {
	objects := corpusObjects(b)
	target := kernel(b, linux72)
	for b.Loop() {
		for _, o := range objects {
			load(b, o, target, LoadOptions{})
		}
	}
}
