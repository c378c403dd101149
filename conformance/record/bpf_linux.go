package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/conformance/paced"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// Commands of bpf(2) (include/uapi/linux/bpf.h).
const (
	cmdMapCreate    = 0
	cmdMapLookup    = 1
	cmdMapUpdate    = 2
	cmdMapNextKey   = 4
	cmdProgLoad     = 5
	cmdTestRun      = 10
	cmdBTFLoad      = 18
	cmdMapLookupDel = 21
	cmdMapFreeze    = 22
)

// call calls bpf(2) and repeats interrupted calls.
func call(cmd uintptr, attr unsafe.Pointer, size uintptr) (int, error) {
	for range 30 {
		fd, _, errno := unix.Syscall(unix.SYS_BPF, cmd, uintptr(attr), size)
		switch errno {
		case 0:
			return int(fd), nil
		case unix.EINTR:
		case unix.EAGAIN:
			if cmd != cmdProgLoad {
				return -1, errno
			}
		default:
			return -1, errno
		}
	}
	return -1, unix.EAGAIN
}

// pointer converts the address of a slice for the kernel. The caller keeps the slice alive; objects
// on Go's heap do not move.
func pointer(b []byte) uint64 {
	if len(b) == 0 {
		return 0
	}
	return uint64(uintptr(unsafe.Pointer(&b[0])))
}

const logSize = 1 << 20

func loadTypes(raw []byte) (int, error) {
	log := make([]byte, logSize)
	a := struct {
		btf, log                     uint64
		size, logSize, logLevel, out uint32
		_                            [16]byte
	}{btf: pointer(raw), size: uint32(len(raw))}
	fd, err := call(cmdBTFLoad, unsafe.Pointer(&a), unsafe.Sizeof(a))
	if err != nil {
		a.log, a.logSize, a.logLevel = pointer(log), logSize, 1
		if again, e := call(cmdBTFLoad, unsafe.Pointer(&a), unsafe.Sizeof(a)); e == nil {
			unix.Close(again)
		}
		err = fmt.Errorf("load type information: %w: %s", err, lastLine(log))
	}
	runtime.KeepAlive(raw)
	runtime.KeepAlive(log)
	return fd, err
}

// mapAttr holds the attributes of BPF_MAP_CREATE.
type mapAttr struct {
	typ, key, value, entries, flags, inner, numa uint32
	name                                         [16]byte
	ifindex, btf, keyType, valueType, vmlinux    uint32
	extra                                        uint64
	_                                            [32]byte
}

func createMap(a *mapAttr) (int, error) {
	return call(cmdMapCreate, unsafe.Pointer(a), unsafe.Sizeof(*a))
}

// objectName converts s to a valid name for a map or program.
func objectName(s string) (out [16]byte) {
	n := 0
	for _, c := range []byte(s) {
		if n == len(out)-1 {
			break
		}
		if c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			out[n] = c
			n++
		}
	}
	return out
}

// element executes a command on a map element. A lookup fills value.
func element(cmd uintptr, fd int, key, value []byte, flags uint64) error {
	a := struct {
		fd, _             uint32
		key, value, flags uint64
		_                 [32]byte
	}{fd: uint32(fd), key: pointer(key), value: pointer(value), flags: flags}
	_, err := call(cmd, unsafe.Pointer(&a), unsafe.Sizeof(a))
	runtime.KeepAlive(key)
	runtime.KeepAlive(value)
	return err
}

func updateMap(fd int, key, value []byte) error { return element(cmdMapUpdate, fd, key, value, 0) }

func freezeMap(fd int) error {
	a := [16]uint32{uint32(fd)}
	_, err := call(cmdMapFreeze, unsafe.Pointer(&a), unsafe.Sizeof(a))
	return err
}

// loadAttr holds the attributes of BPF_PROG_LOAD.
type loadAttr struct {
	typ, count                uint32
	insns, license            uint64
	logLevel, logSize         uint32
	log                       uint64
	version, flags            uint32
	name                      [16]byte
	ifindex, attach           uint32
	btf, funcSize             uint32
	funcs                     uint64
	funcCount, lineSize       uint32
	lines                     uint64
	lineCount, attachBTF      uint32
	attachProg, coreCount     uint32
	fds, core                 uint64
	coreSize, logTrue, tok, _ uint32
}

// Refused means that the kernel refuses a program.
type Refused struct {
	Errno uapi.Errno
	// Log is the last line before the statistics in the verifier's log.
	Log string
}

// Error returns the reason.
func (r *Refused) Error() string {
	return fmt.Sprintf("the kernel refuses the program: %v: %s", r.Errno, r.Log)
}

// request holds the attributes of a BPF_PROG_LOAD and the memory that they point to.
type request struct {
	attr                 loadAttr
	code, license, funcs []byte
}

// newRequest creates the request that loads a linked program with the given instructions, whose
// references are bound. types is the descriptor of the object's BTF, or negative.
func newRequest(p *loader.LinkedProgram, insns []decode.Insn, types int) *request {
	r := &request{code: decode.Marshal(insns, binary.NativeEndian), license: append([]byte(p.Linked().Object.License), 0)}
	for _, f := range p.Funcs {
		if f.Type == 0 {
			r.funcs = nil
			break
		}
		r.funcs = binary.NativeEndian.AppendUint32(r.funcs, uint32(f.Start))
		r.funcs = binary.NativeEndian.AppendUint32(r.funcs, uint32(f.Type))
	}
	r.attr = loadAttr{
		typ: uint32(p.Type), count: uint32(len(insns)), insns: pointer(r.code), license: pointer(r.license), version: p.Linked().Target.Version,
		flags: p.Flags, name: objectName(p.Name), attach: uint32(p.Attach),
	}
	if progtype.Of(p.Type).Args == progtype.PointerArgs {
		r.attr.attachBTF = uint32(p.AttachID)
	}
	if member := structOpsIndex(p); p.Type == uapi.ProgTypeStructOps && member >= 0 {
		r.attr.attach = uint32(member)
	}
	r.setFuncs(types)
	return r
}

// structOpsIndex returns the index, in the kernel's struct, of the member that a struct_ops program
// implements, or -1 if it is unknown.
func structOpsIndex(p *loader.LinkedProgram) int {
	l := p.Linked()
	for _, s := range l.StructOps {
		if p.StructOps == nil || s.Map.Name != p.StructOps.Map.Name || s.KernType == 0 || s.Module != "vmlinux" && s.Module != "" {
			continue
		}
		for i, m := range l.Target.BTF.SkipMods(s.KernType).Members {
			if m.Name == p.StructOps.Member {
				return i
			}
		}
	}
	return -1
}

// setFuncs sets the func_info attributes. types is the descriptor of the BTF that contains the
// types of the functions; if it is negative, no func_info is passed.
func (r *request) setFuncs(types int) {
	if types >= 0 && len(r.funcs) > 0 {
		r.attr.btf, r.attr.funcSize, r.attr.funcs, r.attr.funcCount = uint32(types), 8, pointer(r.funcs), uint32(len(r.funcs)/8)
	}
}

// load calls bpf(2). If level is not 0, it requests a log of that level.
func (r *request) load(level uint32, log []byte) (int, error) {
	r.attr.logLevel, r.attr.logSize, r.attr.log = 0, 0, 0
	if level > 0 {
		clear(log[:min(len(log), 4096)])
		r.attr.logLevel, r.attr.logSize, r.attr.log = level, uint32(len(log)), pointer(log)
	}
	fd, err := call(cmdProgLoad, unsafe.Pointer(&r.attr), unsafe.Sizeof(r.attr))
	runtime.KeepAlive(r)
	runtime.KeepAlive(log)
	return fd, err
}

// loadProgram loads a linked program with the given instructions, whose references are bound. If
// the kernel refuses it, loadProgram loads it again to read the log.
func loadProgram(p *loader.LinkedProgram, insns []decode.Insn, types int) (int, error) {
	r := newRequest(p, insns, types)
	fd, err := r.load(0, nil)
	var errno unix.Errno
	if errors.As(err, &errno) {
		log := make([]byte, logSize)
		pace()
		if again, e := r.load(1, log); e == nil {
			unix.Close(again)
		}
		err = &Refused{Errno: uapi.Errno(errno), Log: lastLine(log)}
	}
	return fd, err
}

// lastLine returns the last message before the statistics in a log.
func lastLine(log []byte) string {
	text, _, _ := bytes.Cut(log, []byte{0})
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		l := strings.TrimSpace(lines[i])
		if l != "" && !strings.HasPrefix(l, "processed ") && !strings.HasPrefix(l, "verification time") && !strings.HasPrefix(l, "stack depth") {
			return l
		}
	}
	return ""
}

// Loads are paced; see package paced.
const (
	loadPause   = 3 * time.Millisecond
	settleEvery = 16
	settleTime  = 10 * time.Millisecond
)

var loads int

// pace waits before a load. Recording is single-threaded.
func pace() {
	time.Sleep(loadPause)
	if loads++; loads%settleEvery == 0 {
		paced.Settle(settleTime)
	}
}

// testRun is the output of BPF_PROG_TEST_RUN.
type testRun struct {
	ret       uint32
	data, ctx []byte
}

const (
	outSize = 1 << 17 // room for a packet that grew
	ctxRoom = 512     // room for any context
)

func runProgram(fd int, data, ctx []byte, repeat uint32, ctxOut bool) (*testRun, error) {
	out := make([]byte, outSize)
	back := make([]byte, ctxRoom)
	a := struct {
		fd, ret, inSize, outSize uint32
		in, out                  uint64
		repeat, duration         uint32
		ctxSize, ctxOutSize      uint32
		ctx, ctxOut              uint64
		flags, cpu, batch, _     uint32
		_                        [32]byte
	}{fd: uint32(fd), inSize: uint32(len(data)), in: pointer(data), ctxSize: uint32(len(ctx)), ctx: pointer(ctx), repeat: repeat}
	if len(data) > 0 {
		a.outSize, a.out = outSize, pointer(out)
	}
	if ctxOut && len(ctx) > 0 {
		a.ctxOutSize, a.ctxOut = uint32(len(back)), pointer(back)
	}
	_, err := call(cmdTestRun, unsafe.Pointer(&a), unsafe.Sizeof(a))
	runtime.KeepAlive(data)
	runtime.KeepAlive(ctx)
	if err != nil {
		return nil, err
	}
	r := &testRun{ret: a.ret, ctx: ctx}
	if len(data) > 0 {
		r.data = out[:min(a.outSize, outSize)]
	}
	if ctxOut && len(ctx) > 0 {
		r.ctx = back[:min(int(a.ctxOutSize), len(back))]
	}
	return r, nil
}

// Release returns the release of the running kernel, such as "6.18.44".
func Release() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}

// possibleCPUs returns the number of CPUs for which the kernel has per-CPU memory.
func possibleCPUs() int {
	text, err := os.ReadFile("/sys/devices/system/cpu/possible")
	if err != nil {
		return runtime.NumCPU()
	}
	var first, last int
	if n, _ := fmt.Sscanf(strings.TrimSpace(string(text)), "%d-%d", &first, &last); n == 2 {
		return last + 1
	}
	return 1
}
