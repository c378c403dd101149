//go:build linux && (amd64 || arm64)

package exec

import (
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

// callWords makes a call with attributes of 144 bytes; words are at the given offsets.
func callWords(cmd uintptr, words map[int]uint64, out ...int) (int, uint32, error) {
	var a [144]byte
	for at, v := range words {
		if at%8 == 0 && v > 1<<32 {
			binary.NativeEndian.PutUint64(a[at:], v)
		} else {
			binary.NativeEndian.PutUint32(a[at:], uint32(v))
		}
	}
	r, _, e := unix.Syscall(unix.SYS_BPF, cmd, uintptr(unsafe.Pointer(&a)), uintptr(len(a)))
	var v uint32
	for _, at := range out {
		v = binary.NativeEndian.Uint32(a[at:])
	}
	if e != 0 {
		return 0, 0, e
	}
	return int(r), v, nil
}

// passed keeps what calls point to.
var passed [][]byte

func at(b []byte) uint64 {
	passed = append(passed, b)
	return uint64(uintptr(unsafe.Pointer(&b[0])))
}

// lskelTool loads a light skeleton as libbpf's skel_internal.h does, runs a program of it and looks
// at its maps.
func lskelTool() error {
	f, err := os.Open("../bpfsys/testdata/lskel.json.gz")
	if err != nil {
		return err
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	var s struct {
		Values []struct {
			Room int
			Data string
		}
		Context     int
		Data, Insns string
	}
	if err := json.NewDecoder(z).Decode(&s); err != nil {
		return err
	}
	data, _ := hex.DecodeString(s.Data)
	insns, _ := hex.DecodeString(s.Insns)
	blob, _, err := callWords(unix.BPF_MAP_CREATE, map[int]uint64{0: uint64(ebpf.Array), 4: 4, 8: uint64(len(data)), 12: 1})
	if err != nil {
		return fmt.Errorf("map: %w", err)
	}
	key, fds, license := make([]byte, 4), make([]byte, 4), []byte("Dual BSD/GPL\x00")
	if _, _, err := callWords(unix.BPF_MAP_UPDATE_ELEM, map[int]uint64{0: uint64(blob), 8: at(key), 16: at(data)}); err != nil {
		return fmt.Errorf("data: %w", err)
	}
	binary.NativeEndian.PutUint32(fds, uint32(blob))
	const sleepable = 16
	prog, _, err := callWords(unix.BPF_PROG_LOAD, map[int]uint64{0: unix.BPF_PROG_TYPE_SYSCALL, 4: uint64(len(insns) / 8), 8: at(insns), 16: at(license), 44: sleepable, 120: at(fds)})
	if err != nil {
		return fmt.Errorf("loader: %w", err)
	}
	ctx := make([]byte, s.Context)
	binary.NativeEndian.PutUint32(ctx, uint32(s.Context))
	for i, v := range s.Values {
		b, _ := hex.DecodeString(v.Data)
		b = append(b, make([]byte, v.Room-len(b))...)
		binary.NativeEndian.PutUint64(ctx[24+16*(2+i)+8:], at(b))
	}
	_, ret, err := callWords(unix.BPF_PROG_TEST_RUN, map[int]uint64{0: uint64(prog), 40: uint64(s.Context), 48: at(ctx)}, 4)
	if err != nil || ret != 0 {
		return fmt.Errorf("run: %w, %d", err, int32(ret))
	}
	unix.Close(blob)
	unix.Close(prog)
	fd := func(at int) int { return int(int32(binary.NativeEndian.Uint32(ctx[at:]))) }
	counts, err := ebpf.NewMapFromFD(fd(24))
	if err != nil {
		return fmt.Errorf("counts: %w", err)
	}
	count, err := ebpf.NewProgramFromFD(fd(88))
	if err != nil {
		return fmt.Errorf("count: %w", err)
	}
	got, err := count.Run(&ebpf.RunOptions{Data: make([]byte, 64)})
	if err != nil {
		return err
	}
	var n uint64
	if err := counts.Lookup(uint32(0), &n); err != nil {
		return err
	}
	info, err := counts.Info()
	if err != nil {
		return err
	}
	fmt.Printf("%s returned %d, %s[0] = %d\n", "count", got, info.Name, n)
	return nil
}

// TestLightSkeletons: the descriptors that a loader program opens are the tool's.
func TestLightSkeletons(t *testing.T) {
	r := start(t, "lskel", "")
	assert.Equal(t, "count returned 42, counts[0] = 3\n", r.out, r.notes)
	assert.Empty(t, r.notes)
}
