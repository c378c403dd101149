package main

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
	"github.com/bpfrun/bpfrun/loader"
)

// pipeline takes an object all the way: open, link for the types, run every program, write table
// and document, on every engine. Errors are good; panics are not, nor are other documents from
// other engines. It returns the error, or how the programs ended and a hash of all that was written.
func pipeline(object, types []byte) string {
	obj, err := loader.OpenBytes("object.o", object)
	if err != nil {
		return err.Error()
	}
	spec, err := btffile.LoadBytes("types.btf", types, nil)
	if err != nil {
		return err.Error()
	}
	linked, err := obj.Load(loader.NewTarget("linux-6.12.1", spec), loader.LoadOptions{})
	if err != nil {
		return err.Error()
	}
	written := fnv.New64a()
	_ = report.WriteInfo(written, report.NewInfoDocument(obj), false)
	_ = report.WriteRelo(written, report.NewReloDocument(linked, "types.btf"), report.TableOptions{})
	want := runDamaged(linked, machine.Config{MaxInsns: 5000})
	_, _ = io.WriteString(written, want)
	said := []string{"runs"}
	for _, p := range linked.Programs {
		if p.Err != nil {
			said = append(said, p.Err.Error())
		}
	}
	for _, eager := range []bool{false, true} {
		if got := runDamaged(linked, machine.Config{MaxInsns: 5000, Engine: machine.EngineJIT, EagerLoops: eager}); got != want {
			panic(fmt.Sprintf("loops optimised: %v\nnative code: %s\ninterpreter: %s", eager, got, want))
		}
	}
	return fmt.Sprintf("%s\t%x", said[len(said)-1], written.Sum64())
}

// runDamaged runs every program and returns the document.
func runDamaged(linked *loader.Linked, cfg machine.Config) string {
	doc := report.NewRunDocument(linked, "types.btf")
	m, err := machine.New(linked, cfg)
	if err != nil {
		doc.Fail(err)
		var out bytes.Buffer
		_ = report.WriteTable(&out, doc, report.TableOptions{})
		return out.String()
	}
	defer m.Close()
	for _, name := range m.Names() {
		res, err := m.Run(context.Background(), name, machine.Input{IgnoreUnset: true}) // native code does not track them
		if err != nil {
			continue
		}
		doc.Add(m, res)
	}
	doc.Finish(m)
	doc.AddMaps(m)
	var out bytes.Buffer
	_ = report.WriteTable(&out, doc, report.TableOptions{Verbose: true})
	_ = report.WriteJSON(&out, doc)
	return out.String()
}

// damage calls try with data cut at, and with one bit flipped in, every stride-th byte; with a
// stride of one all bits, one by one.
func damage(data []byte, stride int, try func(what string, damaged []byte)) {
	for i := 0; i < len(data); i += stride {
		try(fmt.Sprintf("cut at %d", i), data[:i:i])
		for n := range 8 {
			if stride > 1 && n != i/stride%8 {
				continue
			}
			flipped := bytes.Clone(data)
			flipped[i] ^= 1 << n
			try(fmt.Sprintf("byte %d bit %d", i, n), flipped)
		}
	}
}

// damagedStride is how many bytes further the next place is.
const damagedStride = 41

// TestDamagedInput damages small objects and types at many places, and compares what becomes of
// them. BPFRUN_SWEEP=1 takes every byte, and then compares nothing.
func TestDamagedInput(t *testing.T) {
	stride := testsize.Pick(11, damagedStride, damagedStride)
	if os.Getenv("BPFRUN_SWEEP") != "" {
		stride = 1
	}
	// Far above what any of them takes, so that a slow machine passes and an endless loop does not.
	const slow, most = time.Minute, 64 << 20
	types, err := os.ReadFile("../../testdata/btf/min/linux-6.12.107-amd64.min.btf")
	require.NoError(t, err)
	var all rewrite.Outcomes
	sweep := func(t *testing.T, damaged func([]byte) (object, types []byte), of []byte) {
		n := 0
		damage(of, stride, func(what string, b []byte) {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("%s: %v\n%s", what, r, debug.Stack())
				}
			}()
			o, ty := damaged(b)
			var before, after runtime.MemStats
			measured := n%64 == 0 // reading the statistics stops the world
			if measured {
				runtime.ReadMemStats(&before)
			}
			start := time.Now()
			all.Ask(t.Name()+" "+what, func() string { return pipeline(o, ty) })
			if d := time.Since(start); d > slow {
				t.Errorf("%s: took %v", what, d)
			}
			if measured {
				runtime.ReadMemStats(&after)
				if got := after.TotalAlloc - before.TotalAlloc; got > most {
					t.Errorf("%s: allocated %d MiB", what, got>>20)
				}
			}
			n++
		})
		t.Logf("%d damaged inputs", n)
	}
	for _, path := range []string{
		"../../examples/exec/exec.bpf.o", "../../examples/tailcall/tailcall.bpf.o", "../../testdata/objects/clang-14/maps_values.o",
		"../../testdata/objects/clang-14/kconfig.o", "../../testdata/objects/clang-22-v4/jumptable.o",
	} {
		object, err := os.ReadFile(path)
		require.NoError(t, err)
		t.Run(path[len("../../"):], func(t *testing.T) {
			sweep(t, func(b []byte) ([]byte, []byte) { return b, types }, object)
		})
	}
	object, err := os.ReadFile("../../examples/guarded/guarded.bpf.o")
	require.NoError(t, err)
	t.Run("types", func(t *testing.T) {
		sweep(t, func(b []byte) ([]byte, []byte) { return object, b }, types)
	})
	if stride == damagedStride {
		all.Compare(t, "testdata/damaged.txt")
	}
}
