package proto_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/testing/bpfprobe"
	"github.com/bpfrun/bpfrun/internal/testing/recording"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestRecordCallers asks the running kernel, with -record, which programs may call which helper.
func TestRecordCallers(t *testing.T) {
	if !*recording.Flag {
		t.Skip("asks the running kernel with -record")
	}
	bpfprobe.Require(t)
	var uts unix.Utsname
	require.NoError(t, unix.Uname(&uts))
	release := unix.ByteSliceToString(uts.Release[:])
	version := regexp.MustCompile(`^(\d+)\.(\d+)\.(\d+)`).FindStringSubmatch(release)
	require.NotNil(t, version, release)
	raw, err := os.ReadFile("/sys/kernel/btf/vmlinux")
	require.NoError(t, err)
	spec, err := btf.Parse(raw, nil)
	require.NoError(t, err)

	var out strings.Builder
	fmt.Fprintf(&out, "# Linux %s: what a program of each kind may call, and what the verifier says of it.\n", version[0])
	gpl, sleeping, first := map[uapi.FuncID]bool{}, map[uapi.FuncID]bool{}, map[uapi.FuncID]map[string]bool{}
	for _, k := range askable {
		id := k.attachID(t, spec)
		var may []int
		for f := uapi.FuncID(1); f.Known(); f++ {
			msg := k.call(t, f, id, "GPL")
			if refusal.MatchString(msg) {
				continue
			}
			may = append(may, int(f))
			if strings.Contains(msg, "might sleep") || strings.Contains(msg, "sleepable helper") {
				sleeping[f] = true
			}
			if m := firstArg.FindStringSubmatch(msg); m != nil {
				if first[f] == nil {
					first[f] = map[string]bool{}
				}
				first[f][m[1]] = true
			}
			if !gpl[f] && strings.Contains(k.call(t, f, id, "BSD"), "GPL-restricted") {
				gpl[f] = true
			}
		}
		fmt.Fprintf(&out, "calls %s: %s\n", k.name, ranges(may))
	}
	fmt.Fprintf(&out, "gpl: %s\nsleeps: %s\n", ranges(numbers(gpl)), ranges(numbers(sleeping)))
	for f := uapi.FuncID(1); f.Known(); f++ {
		for _, m := range slices.Sorted(keysOf(first[f])) {
			fmt.Fprintf(&out, "r1 %d: %s\n", f, m)
		}
	}
	name := filepath.Join("testdata", fmt.Sprintf("callers-%s.%s.txt", version[1], version[2]))
	require.NoError(t, os.MkdirAll("testdata", 0o755))
	require.NoError(t, os.WriteFile(name, []byte(out.String()), 0o644))
}

var (
	refusal  = regexp.MustCompile(`unknown func |cannot use helper|invalid func`)
	firstArg = regexp.MustCompile(`R1 type=\S+ expected=(.*)`)
)

func numbers(m map[uapi.FuncID]bool) []int {
	var out []int
	for f := range m {
		out = append(out, int(f))
	}
	slices.Sort(out)
	return out
}

func keysOf(m map[string]bool) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// ranges writes 1 2 3 5 as "1-3 5".
func ranges(n []int) string {
	var out []string
	for i := 0; i < len(n); {
		j := i
		for j+1 < len(n) && n[j+1] == n[j]+1 {
			j++
		}
		if i == j {
			out = append(out, strconv.Itoa(n[i]))
		} else {
			out = append(out, fmt.Sprintf("%d-%d", n[i], n[j]))
		}
		i = j + 1
	}
	return strings.Join(out, " ")
}

func (k kind) attachID(t *testing.T, spec *btf.Spec) uint32 {
	t.Helper()
	if k.btfName == "" {
		return 0
	}
	ids := spec.IDs(k.btfKind, k.btfName)
	require.NotEmpty(t, ids, "%s: no %s in the kernel's BTF", k.name, k.btfName)
	return uint32(ids[0])
}

// call loads a program that calls a helper with its context and nothing else, and returns the
// verifier's log.
func (k kind) call(t *testing.T, f uapi.FuncID, attachID uint32, license string) string {
	t.Helper()
	insns := make([]byte, 24)
	insns[0] = 0x85
	binary.LittleEndian.PutUint32(insns[4:], uint32(f))
	insns[8], insns[16] = 0xb7, 0x95 // r0 = 0; exit
	log, lic := make([]byte, 1<<14), append([]byte(license), 0)
	attr := struct {
		typ, n                        uint32
		insns, license                uint64
		level, size                   uint32
		log                           uint64
		version, flags                uint32
		name                          [16]byte
		ifindex, attach               uint32
		btf, funcSize                 uint32
		funcs                         uint64
		nFuncs, lineSize              uint32
		lines                         uint64
		nLines, attachID, attachFD, _ uint32
	}{
		typ: uint32(k.caller.Type), n: 3, insns: addr(insns), license: addr(lic), level: 1, size: uint32(len(log)), log: addr(log),
		flags: k.flags, attach: uint32(k.caller.Attach), attachID: attachID,
	}
	if k.member != 0 {
		attr.attach = uint32(k.member)
	}
	fd, e := uintptr(0), unix.EAGAIN
	for e == unix.EAGAIN { // the verifier stops for signals, and the Go runtime sends itself some
		clear(log)
		fd, _, e = unix.Syscall(unix.SYS_BPF, 5, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	}
	runtime.KeepAlive(insns)
	runtime.KeepAlive(lic)
	if e == 0 {
		unix.Close(int(fd))
	}
	time.Sleep(2 * time.Millisecond) // kernels have locked up when asked faster
	msg := unix.ByteSliceToString(log)
	require.False(t, e != 0 && msg == "", "%s: %v", k.name, e)
	return msg
}

func addr(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&b[0]))) }
