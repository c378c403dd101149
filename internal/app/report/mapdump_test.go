package report_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// TestMapDump fills maps as testdata/tools/mapdump.c filled those of a kernel, and compares what is
// written with what bpftool wrote (version 7.8; row F32 of the features).
func TestMapDump(t *testing.T) {
	golden, err := os.ReadFile("../../../testdata/mapdump.txt")
	require.NoError(t, err)
	o, err := loader.Open("../../../testdata/objects/clang-22/mapdump.o")
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	l, err := o.Load(loader.NewTarget("6.12", spec), loader.LoadOptions{})
	require.NoError(t, err)
	m, err := machine.New(l, machine.Config{CPUs: 2})
	require.NoError(t, err)
	defer m.Close()

	index := func(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }
	samples, _ := m.MapByName("samples")
	data, _ := m.MapByName(".data")
	size := samples.Spec().ValueSize
	require.Zero(t, samples.Update(0, index(0), data.Entries()[0].Value[:size], 0))
	pattern := make([]byte, size)
	for i := range pattern {
		pattern[i] = byte(i*7 + 1)
	}
	require.Zero(t, samples.Update(0, index(1), pattern, 0))
	ports, _ := m.MapByName("ports")
	require.Zero(t, ports.Update(0, []byte("\x50\x00eth0\x00\x00"), index(5), 0))
	percpu, _ := m.MapByName("percpu")
	for cpu := range 2 {
		require.Zero(t, percpu.Update(cpu, index(0), index(0x01020300+uint32(cpu)), 0))
	}

	var got bytes.Buffer
	for _, name := range []string{"samples", "ports", "percpu", ".data"} {
		b, ok := m.MapByName(name)
		require.True(t, ok, name)
		for _, f := range []struct {
			flag   string
			format report.MapFormat
		}{{"plain", report.MapPlain}, {"-j", report.MapJSON}, {"-p", report.MapPretty}} {
			got.WriteString("# " + f.flag + " " + name + "\n")
			require.NoError(t, report.WriteMapDump(&got, o.BTF, b, 2, f.format))
			got.WriteString("\n")
		}
	}
	want, lines := strings.Split(string(golden), "\n"), strings.Split(got.String(), "\n")
	require.Len(t, lines, len(want))
	for i := range want {
		require.Equal(t, want[i], lines[i], "line %d", i+1)
	}

	got.Reset()
	require.NoError(t, report.WriteMapDump(&got, nil, ports, 2, report.MapPlain))
	assert.Equal(t, "key: 50 00 65 74 68 30 00 00  value: 05 00 00 00\nFound 1 element\n", got.String(), "without types")
}

// Whatever bytes are in chars and arrays of char, and whatever the names are, a dump is JSON.
func FuzzMapDumpIsJSON(f *testing.F) {
	f.Add([]byte("plain\x00"), "name")
	f.Add([]byte{0x7f, 0x9b, 0x80, 0xff, '"', '\\', '\n', 1}, "n\"\\\x7f\u202e\n\xff")
	o, err := loader.Open("../../../testdata/objects/clang-22/mapdump.o")
	require.NoError(f, err)
	l, err := o.Load(loader.NewTarget("", nil), loader.LoadOptions{})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		m, err := machine.New(l, machine.Config{CPUs: 1})
		require.NoError(t, err)
		defer m.Close()
		ports, _ := m.MapByName("ports")
		b := btf.NewBuilder(nil)
		char := b.Int("char", 1, btf.IntChar)
		id := b.Struct(name, 8, btf.Member{Name: name, Type: b.Array(char, b.Int("int", 4, btf.IntSigned), 2)}, btf.Member{Name: name + "2", Type: char, BitOffset: 16},
			btf.Member{Name: "e", Type: b.Add(btf.Type{Kind: btf.KindEnum, Name: name, Size: 4, Values: []btf.Enumerator{{Name: name, Value: 7}}}), BitOffset: 32})
		for b.NextID() <= ports.Spec().ValueType || b.NextID() <= ports.Spec().KeyType {
			id = b.Mod(btf.KindTypedef, "t", id)
		}
		spec, err := b.Spec(binary.LittleEndian)
		if err != nil {
			return // a name that BTF cannot have
		}
		key := make([]byte, 8)
		copy(key, data)
		require.Zero(t, ports.Update(0, key, []byte{7, 0, 0, 0}, 0))
		for _, format := range []report.MapFormat{report.MapJSON, report.MapPretty} {
			var out bytes.Buffer
			require.NoError(t, report.WriteMapDump(&out, spec, ports, 1, format))
			require.True(t, json.Valid(out.Bytes()), "%q", out.String())
			require.NotContains(t, out.String(), "\x7f")
		}
	})
}

// TestMapDumpIsBounded: members without size in members without size, two of each, are 2^60 values.
func TestMapDumpIsBounded(t *testing.T) {
	o, err := loader.Open("../../../testdata/objects/clang-22/mapdump.o")
	require.NoError(t, err)
	l, err := o.Load(loader.NewTarget("", nil), loader.LoadOptions{})
	require.NoError(t, err)
	m, err := machine.New(l, machine.Config{CPUs: 1})
	require.NoError(t, err)
	defer m.Close()
	ports, _ := m.MapByName("ports")
	b := btf.NewBuilder(nil)
	id := b.Struct("leaf", 0)
	for range 60 {
		id = b.Struct("s", 0, btf.Member{Name: "a", Type: id}, btf.Member{Name: "b", Type: id})
	}
	for b.NextID() <= ports.Spec().ValueType || b.NextID() <= ports.Spec().KeyType {
		id = b.Mod(btf.KindTypedef, "t", id)
	}
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	require.Zero(t, ports.Update(0, make([]byte, 8), make([]byte, 4), 0))
	var out bytes.Buffer
	require.NoError(t, report.WriteMapDump(&out, spec, ports, 1, report.MapJSON))
	assert.Less(t, out.Len(), 64<<20)
}
