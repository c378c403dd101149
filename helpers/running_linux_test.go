package helpers

import (
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/testing/bpfprobe"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// The running kernel, through the system call itself: maps, BPF_PROG_LOAD and BPF_PROG_TEST_RUN
// only.

const (
	cmdMapCreate  = 0
	cmdMapLookup  = 1
	cmdMapUpdate  = 2
	cmdProgLoad   = 5
	cmdTestRun    = 10
	cmdMapFreeze  = 22
	logSize       = 1 << 20
	outSize       = 1 << 16
	ctxOutMaximum = 192
)

func bpf(cmd uintptr, attr unsafe.Pointer, size uintptr) (int, uapi.Errno) {
	fd, _, e := unix.Syscall(unix.SYS_BPF, cmd, uintptr(attr), size)
	return int(fd), uapi.Errno(e)
}

func addr(b []byte) uint64 {
	if len(b) == 0 {
		return 0
	}
	return uint64(uintptr(unsafe.Pointer(&b[0])))
}

func kernelMap(t testing.TB, s maps.Spec) int {
	t.Helper()
	var a struct {
		typ, key, value, entries, flags, inner, numa uint32
		name                                         [16]byte
		ifindex, btf, keyType, valueType, vmlinux    uint32
		extra                                        uint64
	}
	a.typ, a.key, a.value, a.entries, a.flags, a.extra = uint32(s.Type), s.KeySize, s.ValueSize, s.MaxEntries, s.Flags, s.Extra
	fd, e := bpf(cmdMapCreate, unsafe.Pointer(&a), unsafe.Sizeof(a))
	require.Zero(t, e, "map %v: %v", s.Type, e)
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

func kernelElem(t testing.TB, cmd uintptr, fd int, value []byte) {
	t.Helper()
	key := make([]byte, 4)
	a := struct {
		fd, _             uint32
		key, value, flags uint64
	}{fd: uint32(fd), key: addr(key), value: addr(value)}
	_, e := bpf(cmd, unsafe.Pointer(&a), unsafe.Sizeof(a))
	require.Zero(t, e)
	runtime.KeepAlive(key)
	runtime.KeepAlive(value)
}

// kernelOutcome loads and runs a program in the running kernel.
func (c *recorded) kernelOutcome(t testing.TB) outcome {
	t.Helper()
	scratch := kernelMap(t, maps.Spec{Type: uapi.MapTypeArray, KeySize: 4, ValueSize: scratchSize, MaxEntries: 1})
	kernelElem(t, cmdMapUpdate, scratch, c.scratch())
	ro := kernelMap(t, maps.Spec{Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 256, MaxEntries: 1, Flags: uapi.MapRdonlyProg})
	kernelElem(t, cmdMapUpdate, ro, c.readOnly())
	freeze := uint32(ro)
	_, e := bpf(cmdMapFreeze, unsafe.Pointer(&freeze), 4)
	require.Zero(t, e)
	fds := []int{scratch, ro}
	for _, s := range c.maps {
		fds = append(fds, kernelMap(t, s))
	}
	insns, kfuncs := c.assemble(t)
	for i := range insns {
		switch insns[i].Op() {
		case decode.OpLdMapFD, decode.OpLdMapValue:
			insns[i].Imm = int32(fds[insns[i].Imm])
		case decode.OpCallKfunc:
			insns[i].Imm = kernelFunc(t, kfuncs[insns[i].Imm])
		}
	}
	fd, log, e := c.load(decode.Marshal(insns, binary.LittleEndian))
	if e != 0 {
		t.Logf("%s: %v: %s", c.name, e, log)
		return outcome{Refused: e.Error()}
	}
	defer unix.Close(fd)
	out := c.testRun(t, fd)
	value := make([]byte, scratchSize)
	kernelElem(t, cmdMapLookup, scratch, value)
	out.Scratch = trimZeros(c.clean(value))
	return out
}

func (c *recorded) load(code []byte) (int, string, uapi.Errno) {
	typ := c.typ
	license, log := []byte("GPL\x00"), make([]byte, logSize)
	type loadAttr struct {
		typ, n                uint32
		insns, license        uint64
		logLevel, logSize     uint32
		log                   uint64
		version, flags        uint32
		name                  [16]byte
		ifindex, expected     uint32
		btf, finfoRec         uint32
		finfo                 uint64
		finfoN, linfoRec      uint32
		linfo                 uint64
		linfoN, attachBTF     uint32
		attachProg, coreN     uint32
		fds, core             uint64
		coreRec, logTrue, tok uint32
	}
	a := loadAttr{typ: uint32(typ), n: uint32(len(code) / 8), insns: addr(code), license: addr(license), flags: c.flags, expected: uint32(c.attach)}
	if typ == uapi.ProgTypeSyscall {
		a.flags |= uapi.ProgSleepable
	}
	fd, e := bpf(cmdProgLoad, unsafe.Pointer(&a), unsafe.Sizeof(a))
	if e != 0 {
		a.logLevel, a.logSize, a.log = 1, logSize, addr(log)
		fd, e = bpf(cmdProgLoad, unsafe.Pointer(&a), unsafe.Sizeof(a))
	}
	runtime.KeepAlive(license)
	runtime.KeepAlive(code)
	text := cString(log)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return fd, strings.Join(lines[max(0, len(lines)-6):], "\n"), e
}

func (c *recorded) testRun(t testing.TB, fd int) outcome {
	t.Helper()
	in, out, ctxOut := c.packet(), make([]byte, outSize), make([]byte, ctxOutMaximum)
	a := struct {
		fd, ret, inSize, outSize uint32
		in, out                  uint64
		repeat, duration         uint32
		ctxSize, ctxOutSize      uint32
		ctx, ctxOut              uint64
		flags, cpu, batch, _     uint32
	}{fd: uint32(fd), inSize: uint32(len(in)), in: addr(in), ctxSize: uint32(len(c.ctx)), ctx: addr(c.ctx)}
	if len(in) > 0 {
		a.outSize, a.out = outSize, addr(out)
	}
	if len(c.ctx) > 0 && c.typ != uapi.ProgTypeSyscall && c.typ != uapi.ProgTypeRawTracepoint {
		a.ctxOutSize, a.ctxOut = uint32(len(c.ctx)), addr(ctxOut)
	}
	ctxIn := append([]byte(nil), c.ctx...)
	if len(ctxIn) > 0 {
		a.ctx = addr(ctxIn)
	}
	_, e := bpf(cmdTestRun, unsafe.Pointer(&a), unsafe.Sizeof(a))
	time.Sleep(20 * time.Millisecond) // loading and running programs at full speed is more than some kernels bear
	if e != 0 {
		return outcome{Errno: e.Error()}
	}
	o := outcome{Ret: a.ret, Data: hex.EncodeToString(out[:min(a.outSize, outSize)])}
	if len(in) == 0 {
		o.Data = ""
	}
	if a.ctxOut != 0 {
		o.Ctx = trimZeros(ctxOut[:len(c.ctx)])
	} else if c.typ == uapi.ProgTypeSyscall {
		o.Ctx = trimZeros(ctxIn)
	}
	runtime.KeepAlive(in)
	return o
}

var runningTypes = sync.OnceValues(func() (*btf.Spec, error) { return btffile.Load("/sys/kernel/btf/vmlinux", nil) })

// kernelFunc is the BTF id of a kfunc of the running kernel, 0 if it has none: it then refuses the
// program.
func kernelFunc(t testing.TB, name string) int32 {
	t.Helper()
	spec, err := runningTypes()
	require.NoError(t, err)
	if ids := spec.IDs(btf.KindFunc, name); len(ids) > 0 {
		return int32(ids[0])
	}
	return 0
}

// record runs the programs in the kernel and writes what they did.
func record(t *testing.T, group string, cases []recorded) {
	t.Helper()
	bpfprobe.Require(t)
	if first, _, _ := strings.Cut(cases[0].name, " "); cases[0].later && kernelFunc(t, first) == 0 {
		t.Skipf("the running kernel has no %s: scripts/cases-vm.sh runs another", first)
	}
	got := map[string]outcome{}
	for _, c := range cases {
		got[c.name] = c.kernelOutcome(t)
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(goldenPath(group)), 0o755))
	file, err := os.Create(goldenPath(group))
	require.NoError(t, err)
	packed := gzip.NewWriter(file)
	text := json.NewEncoder(packed)
	text.SetIndent("", "  ")
	require.NoError(t, text.Encode(got))
	require.NoError(t, packed.Close())
	require.NoError(t, file.Close())
}
