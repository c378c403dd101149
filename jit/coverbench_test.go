package jit

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// covering are the ways to run a program: without coverage, with that of slots, and with that of
// branches, too.
var covering = [...]string{"off", "slots", "ways"}

// BenchmarkCoverage runs whole programs natively with and without coverage, which is forgotten
// after each run as a machine does. Windows of runs alternate, and the best of each count: what the
// system does besides falls into few of them.
func BenchmarkCoverage(b *testing.B) {
	files, err := filepath.Glob("../vm/testdata/bench/*.hex")
	require.NoError(b, err)
	require.NotEmpty(b, files)
	const window = 10
	runs := make([][len(covering)]func(), len(files))
	best := make([][len(covering)]time.Duration, len(files))
	for i, file := range files {
		for kind := range covering {
			runs[i][kind], best[i][kind] = coveredRun(b, file, kind), time.Hour
			for range 500 { // compiles, again with loops, and without what is recorded
				runs[i][kind]()
			}
		}
	}
	for b.Loop() {
		for i := range runs {
			for kind, run := range runs[i] {
				begun := time.Now()
				for range window {
					run()
				}
				best[i][kind] = min(best[i][kind], time.Since(begun))
			}
		}
	}
	mean := [len(covering)]float64{}
	for i, file := range files {
		off := float64(best[i][0])
		b.Logf("%-8s %8.0f ns, slots %.2f, ways %.2f times", strings.TrimSuffix(filepath.Base(file), ".hex"), off/window, float64(best[i][1])/off, float64(best[i][2])/off)
		for kind, d := range best[i] {
			mean[kind] += math.Log(float64(d)/off) / float64(len(files))
		}
	}
	for kind, name := range covering[1:] {
		b.ReportMetric(math.Exp(mean[kind+1]), name+"/off")
	}
}

// coveredRun returns what runs a program of the interpreter's benchmarks.
func coveredRun(b *testing.B, file string, kind int) (run func()) {
	text, err := os.ReadFile(file)
	require.NoError(b, err)
	code, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	require.NoError(b, err)
	insns, err := decode.Unmarshal(code, binary.LittleEndian)
	require.NoError(b, err)
	img, err := vm.Lower(vm.LowerConfig{Name: file, Insns: insns, Fuse: true})
	require.NoError(b, err)
	m, err := mem.New(mem.Config{})
	require.NoError(b, err)
	b.Cleanup(m.Close)
	region, err := m.Alloc(64<<10, mem.Region{Name: "mem"})
	require.NoError(b, err)
	for i := range m.Bytes(region) {
		m.Bytes(region)[i] = byte(i * 31)
	}
	e, err := New(m)
	if err != nil {
		b.Skip(err)
	}
	b.Cleanup(e.Close)
	th := vm.NewThread(m, vm.ThreadConfig{})
	th.SetEngine(e)
	var p *vm.Patches
	if kind > 0 {
		p = vm.NewPatches(true)
		if kind > 1 {
			p.RecordWays()
		}
		th.SetPatches(p)
		e.Cover(p)
	}
	return func() {
		th.Start(img, region.Base, region.Size)
		if th.Run(1<<40) != vm.Done {
			b.Fatal(th.Fault())
		}
		if p != nil {
			p.Restore(&vm.CoverSnapshot{})
		}
	}
}
