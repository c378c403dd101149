package main

import (
	"encoding/binary"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
)

func TestGeneratedFilesAreFresh(t *testing.T) {
	want, err := generate("../../..")
	require.NoError(t, err)
	require.Len(t, want, 5)
	for name, text := range want {
		got, err := os.ReadFile("../" + name)
		require.NoError(t, err)
		assert.Equal(t, string(text), string(got), "%s: run go generate ./internal/uapi", name)
	}
}

func TestNamesAreTheKernelsWordByWord(t *testing.T) {
	for name, want := range map[string]string{
		"get_smp_processor_id": "GetSmpProcessorId", "XDP": "XDP", "LRU_PERCPU_HASH": "LRUPercpuHash", "CGROUP_INET4_BIND": "CgroupInet4Bind", "l3_csum_replace": "L3CsumReplace",
	} {
		assert.Equal(t, want, goName(name))
	}
}

func TestMembers(t *testing.T) {
	b := btf.NewBuilder(nil)
	b.Add(btf.Type{Kind: btf.KindEnum, Name: "e", Size: 4, Values: []btf.Enumerator{
		{Name: "E_OLD_DEPRECATED", Value: 0}, {Name: "E_NEW", Value: 0}, {Name: "E_B", Value: 1}, {Name: "E_ALIAS", Value: 1}, {Name: "__MAX_E", Value: 2},
	}})
	s, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	e := enum{kernel: "e", cut: "E_"}
	got, err := e.members(s)
	require.NoError(t, err)
	assert.Equal(t, []member{{0, "NEW"}, {1, "B"}}, got)
	e.cut = "E_B"
	_, err = e.members(s)
	assert.ErrorContains(t, err, "no number 0")
	e.kernel = "missing"
	_, err = e.members(s)
	assert.ErrorContains(t, err, "no enum missing")
}
