package jit

import (
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// BenchmarkCoverage runs whole programs natively without coverage, with that of slots, and with that of branches, too.
func BenchmarkCoverage(b *testing.B) {
	files, err := filepath.Glob("../vm/testdata/bench/*.hex")
	require.NoError(b, err)
	require.NotEmpty(b, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(b, err)
		code, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
		require.NoError(b, err)
		insns, err := decode.Unmarshal(code, binary.LittleEndian)
		require.NoError(b, err)
		img, err := vm.Lower(vm.LowerConfig{Name: file, Insns: insns, Fuse: true})
		require.NoError(b, err)
		for _, kind := range []string{"off", "slots", "ways"} {
			b.Run(strings.TrimSuffix(filepath.Base(file), ".hex")+"/"+kind, func(b *testing.B) {
				m, err := mem.New(mem.Config{})
				require.NoError(b, err)
				defer m.Close()
				region, err := m.Alloc(64<<10, mem.Region{Name: "mem"})
				require.NoError(b, err)
				for i := range m.Bytes(region) {
					m.Bytes(region)[i] = byte(i * 31)
				}
				e, err := New(m)
				if err != nil {
					b.Skip(err)
				}
				defer e.Close()
				th := vm.NewThread(m, vm.ThreadConfig{})
				th.SetEngine(e)
				if kind != "off" {
					p := vm.NewPatches(true)
					if kind == "ways" {
						p.RecordWays()
					}
					th.SetPatches(p)
					e.Cover(p)
				}
				run := func() {
					th.Start(img, region.Base, region.Size)
					require.Equal(b, vm.Done, th.Run(1<<40))
				}
				run() // compiles
				run()
				b.ResetTimer()
				for range b.N {
					run()
				}
			})
		}
	}
}
