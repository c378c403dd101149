package btf

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

const benchKernel = "linux-6.18.44-amd64"

func BenchmarkParseVmlinux(b *testing.B) {
	raw := kernelBTF(b, benchKernel)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		if _, err := Parse(raw, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNameIndex(b *testing.B) {
	raw := kernelBTF(b, benchKernel)
	s, err := Parse(raw, nil)
	require.NoError(b, err)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		f := &Spec{hdr: s.hdr, types: s.types, strs: s.strs, strTable: s.strTable, offs: s.offs, namedTypes: s.namedTypes, first: 1}
		f.names(KindStruct)
	}
}

func BenchmarkFind(b *testing.B) {
	s, err := Parse(kernelBTF(b, benchKernel), nil)
	require.NoError(b, err)
	s.names(KindStruct)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		if _, ok := s.Find(KindStruct, "task_struct"); !ok {
			b.Fatal("no task_struct")
		}
	}
}

func BenchmarkTypeCached(b *testing.B) {
	s, err := Parse(kernelBTF(b, benchKernel), nil)
	require.NoError(b, err)
	id, _ := s.FindID(KindStruct, "task_struct")
	b.ResetTimer()
	for b.Loop() {
		s.MustType(id)
	}
}

func BenchmarkDecodeAll(b *testing.B) {
	raw := kernelBTF(b, benchKernel)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		s, err := Parse(raw, nil)
		if err != nil {
			b.Fatal(err)
		}
		for id := range ID(s.NumTypes()) {
			s.MustType(id)
		}
	}
}

func BenchmarkDumpRaw(b *testing.B) {
	s, err := Parse(kernelBTF(b, benchKernel), nil)
	require.NoError(b, err)
	b.ResetTimer()
	for b.Loop() {
		if err := DumpRaw(io.Discard, s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDumpC(b *testing.B) {
	s, err := Parse(kernelBTF(b, benchKernel), nil)
	require.NoError(b, err)
	b.ResetTimer()
	for b.Loop() {
		if err := DumpC(io.Discard, s, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFormatTask(b *testing.B) {
	s, err := Parse(kernelBTF(b, benchKernel), nil)
	require.NoError(b, err)
	t, _ := s.Find(KindStruct, "task_struct")
	data := make([]byte, t.Size)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		s.FormatString(t.ID, data)
	}
}
