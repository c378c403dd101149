package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/conformance/isa"
	"github.com/bpfrun/bpfrun/conformance/paced"
	"github.com/bpfrun/bpfrun/decode"
)

// Constants of include/uapi/linux/bpf.h.
const (
	cmdMapCreate = 0
	cmdProgLoad  = 5
	cmdTestRun   = 10

	mapTypeArray = 2
	mapMmapable  = 1 << 10
	progSchedCls = 3
)

type attrMapCreate struct {
	mapType, keySize, valueSize, maxEntries, flags uint32
	_                                              [112]byte
}

type attrProgLoad struct {
	progType, insnCount     uint32
	insns, license          uint64
	logLevel, logSize       uint32
	logBuf                  uint64
	kernVersion, flags      uint32
	name                    [16]byte
	ifindex, attachType     uint32
	btfFD, funcInfoRecSize  uint32
	funcInfo                uint64
	funcInfoCount, lineSize uint32
	lineInfo                uint64
	lineCount, attachBTF    uint32
	attachProg, coreCount   uint32
	fdArray                 uint64
	_                       [24]byte
}

type attrTestRun struct {
	progFD, retval        uint32
	dataSizeIn, dataSize  uint32
	dataIn, dataOut       uint64
	repeat, duration      uint32
	ctxSizeIn, ctxSizeOut uint32
	ctxIn, ctxOut         uint64
	flags, cpu            uint32
	_                     [40]byte
}

// Kernel runs vectors on the running kernel. It is not safe for concurrent use, but several Kernels
// may be open at a time.
type Kernel struct {
	mapFD   int
	value   []byte // the map's value, mapped into this process
	progFD  int
	packet  []byte
	log     []byte
	fdArray [1]int32
	loads   int // number of programs unloaded since the last wait
}

// Open creates the map and returns a Kernel.
func Open() (*Kernel, error) {
	attr := attrMapCreate{mapType: mapTypeArray, keySize: 4, valueSize: isa.ValueSize, maxEntries: 1, flags: mapMmapable}
	fd, err := bpf(cmdMapCreate, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
	if err != nil {
		return nil, fmt.Errorf("record: create a map: %w", err)
	}
	value, err := unix.Mmap(fd, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("record: map the map: %w", err)
	}
	return &Kernel{mapFD: fd, value: value, progFD: -1, log: make([]byte, 64<<10), fdArray: [1]int32{int32(fd)}}, nil
}

func bpf(cmd uintptr, attr unsafe.Pointer, size uintptr) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_BPF, cmd, uintptr(attr), size)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// Close releases the program and the map.
func (k *Kernel) Close() error {
	k.unload()
	err := unix.Munmap(k.value)
	return errors.Join(err, unix.Close(k.mapFD))
}

func (k *Kernel) unload() {
	if k.progFD >= 0 {
		unix.Close(k.progFD)
		k.progFD = -1
	}
	if k.loads++; k.loads >= settleEvery {
		k.loads = 0
		paced.Settle(settleTime)
	}
}

// After settleEvery programs, a Kernel waits so that the running kernel can free them; see package
// paced.
const (
	settleEvery = 32
	settleTime  = 2 * time.Millisecond
)

var oneAtATime sync.Mutex

// Name returns the release of the kernel.
func (k *Kernel) Name() string { return Release() }

// Load loads p. If the verifier refuses the program, the error is an *[isa.Rejected].
func (k *Kernel) Load(p *isa.Program) error {
	k.unload()
	insns := append([]decode.Insn(nil), p.Insns...)
	for i := range insns {
		switch insns[i].Op() {
		case decode.OpLdMapFD, decode.OpLdMapValue:
			insns[i].Imm = int32(k.mapFD)
		}
	}
	fd, err := k.load(insns, 0)
	if errors.Is(err, errTooLong) || errors.Is(err, unix.ENOMEM) {
		return &isa.Rejected{Why: err.Error()}
	}
	if err != nil {
		if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.E2BIG) && !errors.Is(err, unix.EFAULT) {
			return fmt.Errorf("record: load: %w", err)
		}
		k.log[0] = 0
		if fd, again := k.load(insns, 1); again == nil {
			unix.Close(fd)
		}
		return &isa.Rejected{Why: k.reason(err)}
	}
	k.progFD = fd
	k.packet = p.Packet
	if k.packet == nil {
		k.packet = make([]byte, isa.DefaultPacket)
	}
	return nil
}

const (
	// loadRetries is the number of times that a system call is repeated after a signal interrupted
	// it.
	loadRetries = 30
	// loadLimit is the time limit for the verifier. Some programs keep it busy for minutes; a
	// pending signal makes it give up.
	loadLimit = 700 * time.Millisecond
)

// errTooLong means that a load took longer than loadLimit and was interrupted.
var errTooLong = errors.New("the verifier took too long")

func (k *Kernel) load(insns []decode.Insn, logLevel uint32) (int, error) {
	code := decode.Marshal(insns, binary.NativeEndian)
	license := []byte("GPL\x00")
	attr := attrProgLoad{
		progType: progSchedCls, insnCount: uint32(len(insns)), insns: pointer(&code[0]), license: pointer(&license[0]),
		fdArray: uint64(uintptr(unsafe.Pointer(&k.fdArray))),
	}
	if logLevel > 0 {
		attr.logLevel, attr.logSize, attr.logBuf = logLevel, uint32(len(k.log)), pointer(&k.log[0])
	}
	oneAtATime.Lock()
	defer oneAtATime.Unlock()
	stop := paced.Interrupt(loadLimit)
	start := time.Now()
	var fd int
	var err error
	for range loadRetries {
		fd, err = bpf(cmdProgLoad, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
		if !errors.Is(err, unix.EAGAIN) || time.Since(start) > loadLimit {
			break
		}
	}
	if stop() && errors.Is(err, unix.EAGAIN) {
		err = errTooLong
	}
	runtime.KeepAlive(code)
	runtime.KeepAlive(license)
	runtime.KeepAlive(k)
	return fd, err
}

// pointer converts a pointer for the kernel. The caller keeps the object alive; objects on Go's
// heap do not move.
func pointer(p *byte) uint64 { return uint64(uintptr(unsafe.Pointer(p))) }

// reason returns the last message before the statistics in the verifier's log.
func (k *Kernel) reason(err error) string {
	text, _, _ := strings.Cut(string(k.log), "\x00")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if l := strings.TrimSpace(lines[i]); l != "" && !strings.HasPrefix(l, "processed ") && !strings.HasPrefix(l, "verification time") {
			return l
		}
	}
	return err.Error()
}

// Run runs the loaded program with in as the value of the map. If BPF_PROG_TEST_RUN fails, the
// outcome is the fault "test-run".
func (k *Kernel) Run(in *isa.Value) isa.Outcome {
	copy(k.value, in[:])
	attr := attrTestRun{progFD: uint32(k.progFD), dataSizeIn: uint32(len(k.packet)), dataIn: pointer(&k.packet[0])}
	_, err := bpf(cmdTestRun, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
	for range loadRetries {
		if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			break
		}
		copy(k.value, in[:])
		_, err = bpf(cmdTestRun, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
	}
	runtime.KeepAlive(k)
	if err != nil {
		return isa.Outcome{Fault: "test-run", Text: err.Error()}
	}
	o := isa.Outcome{Ret: uint64(attr.retval)}
	copy(o.Value[:], k.value)
	return o
}

// Release returns the release of the running kernel, such as "6.18.44".
func Release() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}
