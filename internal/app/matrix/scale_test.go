//go:build linux

package matrix

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/loader"
)

// mutated is raw BTF in which the longest name ends with a number: a kernel of its own.
func mutated(t testing.TB, raw []byte, number int) []byte {
	t.Helper()
	raw = bytes.Clone(raw)
	var order binary.ByteOrder = binary.LittleEndian
	if raw[0] == 0xeb { // the upper byte of the magic number comes first
		order = binary.BigEndian
	}
	head, off, n := order.Uint32(raw[4:]), order.Uint32(raw[16:]), order.Uint32(raw[20:])
	var longest []byte
	for s := range bytes.SplitSeq(raw[head+off:head+off+n], []byte{0}) {
		if len(s) > len(longest) {
			longest = s
		}
	}
	require.Greater(t, len(longest), 8)
	copy(longest[len(longest)-4:], fmt.Sprintf("%04d", number))
	return raw
}

// TestManyKernels runs the objects of a package on many kernels, and prints its processor time and
// memory: BENCH_KERNELS is their number, BENCH_BTF a pattern of raw BTF files of which they are
// copies with one name changed, each made when it is opened, and BPFRUN_CORPUS has the objects.
func TestManyKernels(t *testing.T) {
	number, _ := strconv.Atoi(os.Getenv("BENCH_KERNELS"))
	files, err := filepath.Glob(os.Getenv("BENCH_BTF"))
	require.NoError(t, err)
	paths, err := filepath.Glob(filepath.Join(os.Getenv("BPFRUN_CORPUS"), "objects/debian-bookworm/libbpf-tools/*.o"))
	require.NoError(t, err)
	if number == 0 || len(files) == 0 || len(paths) == 0 {
		t.Skip("BENCH_KERNELS, BENCH_BTF or BPFRUN_CORPUS is not set")
	}
	var objects []*loader.Object
	for _, p := range paths {
		o, err := loader.Open(p)
		require.NoError(t, err)
		objects = append(objects, o)
	}
	var all []Kernel
	for i := range number {
		path := files[i%len(files)]
		name := fmt.Sprintf("%s-%d", strings.TrimSuffix(filepath.Base(path), ".btf"), i)
		all = append(all, Kernel{Name: name, Source: path, Open: func() (*loader.Target, error) {
			raw, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			spec, err := btf.Parse(mutated(t, raw, i), nil)
			return loader.NewTarget(name, spec), err
		}})
	}
	for _, unverified := range []bool{true, false} {
		var before, after unix.Rusage
		require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &before))
		m, err := Run(t.Context(), objects, all, Config{Options: loader.LoadOptions{Optional: true}, Unverified: unverified, Progress: func(done, total int) {
			if done%max(total/20, 1) == 0 {
				t.Logf("%d of %d objects on kernels", done, total)
			}
		}})
		require.NoError(t, err)
		require.Len(t, m.Targets, number)
		require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &after))
		used := (after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()) / 1e6
		status, err := os.ReadFile("/proc/self/status")
		require.NoError(t, err)
		_, peak, _ := strings.Cut(string(status), "VmHWM:")
		t.Logf("%d kernels, %d objects, verifier %t: %d ms of processor time, %s kB at most", number, len(objects), !unverified, used, strings.Fields(peak)[0])
	}
}
