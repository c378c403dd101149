package vm

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/mem"
)

// eachLine decodes a file of JSON lines, gzip-compressed or not.
func eachLine[T any](t testing.TB, path string, f func(T)) {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	var r io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		r, err = gzip.NewReader(file)
		require.NoError(t, err)
	}
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		if len(s.Bytes()) == 0 {
			continue
		}
		var v T
		require.NoError(t, json.Unmarshal(s.Bytes(), &v))
		f(v)
	}
	require.NoError(t, s.Err())
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	return b
}

type kernelVector struct {
	ID, Cat, Form, P, Pkt string
	Runs                  []struct {
		In, Out string
		Ret     uint32
	}
}

// mode is a way to execute that must not change results.
type mode struct {
	name        string
	fuse, cover bool
	slice       uint64
}

var modes = []mode{
	{"fused", true, false, 1 << 24}, {"plain", false, false, 1 << 24}, {"step", true, false, 1},
	{"slices", true, false, 701}, {"cover", true, true, 1 << 24},
}

func runAll(th *Thread, slice, limit uint64) Stop {
	for {
		s := th.Run(min(slice, limit-th.Insns()))
		if s != Budget || th.Insns() >= limit {
			return s
		}
	}
}

func runKernelVector(t *testing.T, v kernelVector, md mode) (ok bool) {
	insns, err := decode.Unmarshal(unhex(t, v.P), binary.LittleEndian)
	require.NoError(t, err)
	pkt := make([]byte, 64)
	if v.Pkt != "" {
		pkt = unhex(t, v.Pkt)
	}
	m, err := mem.New(mem.Config{})
	require.NoError(t, err)
	defer m.Close()
	value, err := m.Alloc(256, mem.Region{Kind: mem.MapValue, Name: "map"})
	require.NoError(t, err)
	handle, err := m.Alloc(8, mem.Region{Kind: mem.MapHandle, Name: "map"})
	require.NoError(t, err)
	lookup := &Func{Name: "bpf_map_lookup_elem", ID: 1, Fn: func(th *Thread, args *[5]uint64) (uint64, *Action) {
		key, f := m.Load(args[1], 4)
		if f != nil {
			return 0, MemFault(f)
		}
		if args[0] != handle.Base || key != 0 {
			return 0, nil
		}
		return value.Base, nil
	}}
	img, err := Lower(LowerConfig{
		Name: v.ID, Insns: insns, Fuse: md.fuse,
		Imm64: func(pc int) (uint64, error) {
			switch insns[pc].Src {
			case 1:
				return handle.Base, nil
			case 2:
				return value.Base + uint64(uint32(insns[pc+1].Imm)), nil
			}
			return 0, errors.New("unexpected pseudo load")
		},
		Call: func(pc int, in decode.Insn) (*Func, error) {
			if in.Src == 0 && in.Imm == 1 {
				return lookup, nil
			}
			return nil, errors.New("no such helper")
		},
	})
	if !assert.NoError(t, err, v.ID) {
		return false
	}
	ctx, err := m.Alloc(192, mem.Region{Kind: mem.Context})
	require.NoError(t, err)
	th := NewThread(m, ThreadConfig{})
	th.Skb = func(_ *Thread, off int32, size int) (uint64, bool) {
		at, ok := PacketOffset(off, 0, 14)
		if !ok || at+size > len(pkt) {
			return 0, false
		}
		var b [8]byte
		copy(b[8-size:], pkt[at:])
		return binary.BigEndian.Uint64(b[:]), true
	}
	if md.cover {
		th.SetPatches(NewPatches(true))
	}
	for i, run := range v.Runs {
		b := m.Bytes(value)
		clear(b)
		copy(b, unhex(t, run.In))
		want := make([]byte, 256)
		copy(want, unhex(t, run.Out))
		th.Start(img, ctx.Base)
		if s := runAll(th, md.slice, 1<<24); s != Done {
			t.Errorf("%s (%s, %s) run %d %s: %v %v", v.ID, v.Cat, v.Form, i, md.name, s, th.Fault())
			return false
		}
		if uint32(th.Ret()) != run.Ret || string(b) != string(want) {
			t.Errorf("%s (%s, %s) run %d %s: ret %#x want %#x, value differs: %v", v.ID, v.Cat, v.Form, i, md.name, uint32(th.Ret()), run.Ret, string(b) != string(want))
			return false
		}
	}
	return true
}

// TestKernelVectors compares with what Linux 6.18 computed.
func TestKernelVectors(t *testing.T) {
	paths := []string{"testdata/kernel-6.18-subset.jsonl.gz"}
	if dir := os.Getenv("BPFRUN_CORPUS"); dir != "" {
		more, err := filepath.Glob(filepath.Join(dir, "vectors", "kernel-*-sample.jsonl.gz"))
		require.NoError(t, err)
		paths = append(paths, more...)
	}
	for _, path := range paths {
		for _, md := range modes {
			t.Run(filepath.Base(path)+"/"+md.name, func(t *testing.T) {
				passed, failed := 0, 0
				eachLine(t, path, func(v kernelVector) {
					if runKernelVector(t, v, md) {
						passed++
					} else {
						failed++
					}
				})
				assert.Zero(t, failed)
				assert.NotZero(t, passed)
				t.Logf("%d passed, %d failed", passed, failed)
			})
		}
	}
}

// publicHelper binds the one helper the suite calls: 5, "unwind", whose argument here means not to.
func publicHelper(_ int, in decode.Insn) (*Func, error) {
	if in.Src != 0 || in.Imm != 5 {
		return nil, errors.New("no such helper")
	}
	return &Func{Name: "unwind", ID: 5, Fn: func(_ *Thread, args *[5]uint64) (uint64, *Action) { return args[0], nil }}, nil
}

type publicVector struct{ Name, Code, Mem, Expect, Error string }

// TestPublicVectors runs the public bpf_conformance suite.
func TestPublicVectors(t *testing.T) {
	for _, md := range modes {
		t.Run(md.name, func(t *testing.T) {
			n := 0
			eachLine(t, "testdata/bpf_conformance.jsonl.gz", func(v publicVector) {
				if strings.HasPrefix(v.Name, "callx") {
					return // calls by register are no instruction of Linux
				}
				n++
				insns, err := decode.Unmarshal(unhex(t, v.Code), binary.LittleEndian)
				require.NoError(t, err)
				img, err := Lower(LowerConfig{Name: v.Name, Insns: insns, Fuse: md.fuse, Call: publicHelper})
				if !assert.NoError(t, err, v.Name) {
					return
				}
				m, err := mem.New(mem.Config{})
				require.NoError(t, err)
				defer m.Close()
				data := unhex(t, v.Mem)
				r, err := m.Alloc(uint64(len(data)), mem.Region{})
				require.NoError(t, err)
				copy(m.Bytes(r), data)
				th := NewThread(m, ThreadConfig{})
				if md.cover {
					th.SetPatches(NewPatches(true))
				}
				th.Start(img, r.Base, uint64(len(data)))
				want, err := strconv.ParseUint(v.Expect, 0, 64)
				require.NoError(t, err)
				if assert.Equal(t, Done, runAll(th, md.slice, 1<<20), "%s: %v", v.Name, th.Fault()) {
					assert.Equal(t, want, th.Ret(), v.Name)
				}
			})
			t.Logf("%d vectors", n)
		})
	}
}
