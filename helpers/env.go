package helpers

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/kernel"
	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/progtype"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// maxBuffer bounds one copy of a helper, so that a size taken from the guest allocates
// little: nothing a program owns is larger than this.
const maxBuffer = 1 << 29

// Env is what helpers see of the machine whose program calls them. It hangs off
// [vm.Thread.User]. One Env serves one machine; Run is replaced for every run.
type Env struct {
	Mem    *mem.Memory
	Kernel *kernel.Kernel
	Arch   string // the target's architecture ("x86", "arm64", ...)
	// Version is the target kernel's version as KERNEL_VERSION makes it; error codes and
	// return widths follow it.
	Version uint32
	// MapAt finds the map whose handle is at addr.
	MapAt func(addr uint64) (maps.Map, bool)
	// TailTarget gives the code of a program array's entry.
	TailTarget func(entry any) (*vm.Image, *vm.Action)

	// Strict makes a fault of a read of kernel memory that the kernel would let pass although what it yields depends on chance. Else Warn is
	// told; it may be nil.
	Strict bool
	Warn   func(text string)

	// Local is the object's own BTF, by whose type ids programs allocate objects; nil refuses that.
	Local *btf.Spec
	Run   *Run

	lately     [8]mapRef // maps that were asked for, by a hash of their address
	call       Call      // the one under way
	keyScratch []byte
	bytes      []byte
	formats    formats
	freeSpace  map[uint64]*mem.Region
	deferred   map[uint64]deferred // timers and work items by address
	armed      uint64              // how many were armed
	firing     uint64              // the timer whose callback runs
	refs       map[uint64]int      // references to objects of programs beyond the first
}

// Run is the state of one run of a program that helpers read or change.
type Run struct {
	ProgType uapi.ProgType
	Attach   uapi.AttachType
	// FuncIP is the address of the traced function, Cookie the user's attach cookie.
	FuncIP, Cookie uint64
	// FuncArgs is the number of arguments of the traced function; FuncReturns means that
	// the context holds its return value after them.
	FuncArgs    int
	FuncReturns bool
	// Here tells which instruction runs, for messages; may be nil.
	Here func() (*vm.Image, int)
	// Context is what r1 of the program pointed to at its start.
	Context *kernel.Context
	// Packet returns the packet's bytes; nil for programs without one.
	Packet func() []byte

	// Retval is the return value that cgroup programs pass on (bpf_get_retval, bpf_set_retval).
	Retval int32

	Trace  []string
	Output []byte // of iterators, by bpf_seq_write and bpf_seq_printf
	// SeqStart is where in Output the buffer of the current read begins; SeqFull means that something did not fit into it.
	SeqStart int
	SeqFull  bool
	// SessionReturn means that a session program is called at the return of its function.
	SessionReturn bool
	// sessionCookie is the address of the eight bytes a session keeps.
	sessionCookie uint64

	Events []Event

	// Host books what the run keeps; nil is without bound.
	Host *mem.Host
	// OnLimit is called when output finds no room at Host.
	OnLimit func(error)

	kept uint64 // of Host
	held []Held
	skb  skbState
	// draining holds the user ring buffers being drained.
	draining []uint64
	target   int // position of the redirect in Events, from 1
	records  map[uint64]maps.RingBuffer
}

// Event is a side effect on the outside world that a run recorded.
type Event struct {
	Kind   EventKind
	Number uint64 // what the kind says
	Detail string
	Data   []byte
}

// Held is a reference the program took and has not given back.
type Held struct {
	Addr uint64
	What string
	// Image and PC are the call that took it, a nil Image without [Run.Here].
	Image *vm.Image
	PC    int
}

// onXDP reports whether the program runs on an xdp_buff: some helpers do something else there than on an sk_buff.
func (r *Run) onXDP() bool { return progtype.Of(r.ProgType).Takes.Has(progtype.TakesXDP) }

// NewRun returns the state of a fresh run.
func NewRun(t uapi.ProgType, a uapi.AttachType) *Run {
	return &Run{ProgType: t, Attach: a, records: map[uint64]maps.RingBuffer{}}
}

// Held returns the references still held, in the order they were taken.
func (r *Run) Held() []Held { return r.held }

// keeps books what a trace line or an effect of n bytes takes.
func (r *Run) keeps(n int) *vm.Action {
	if r.Host == nil {
		return nil
	}
	cost := mem.HostCost(n)
	if err := r.Host.Take(cost); err != nil {
		return notSimulated(err.Error())
	}
	r.kept += cost
	return nil
}

// Release gives back what the run booked at its Host, when nobody looks at its trace lines and effects any more.
func (r *Run) Release() {
	if r.Host != nil {
		r.Host.Give(r.kept)
	}
	r.kept = 0
}

// Recorded reports whether the run left anything to report, or holds something.
func (r *Run) Recorded() bool { return len(r.Trace)+len(r.Events)+len(r.held) > 0 || r.kept > 0 }

// Join returns a run with what r and then others recorded, such as those of timers' callbacks. It books what all of them booked.
func (r *Run) Join(others []*Run) *Run {
	all := *r
	all.Trace, all.Events, all.held = slices.Clip(r.Trace), slices.Clip(r.Events), slices.Clip(r.held)
	for _, o := range others {
		all.Trace, all.Events, all.held = append(all.Trace, o.Trace...), append(all.Events, o.Events...), append(all.held, o.held...)
		all.kept += o.kept
	}
	return &all
}

func (r *Run) emit(e Event) *vm.Action {
	if f := r.keeps(len(e.Data) + len(e.Detail)); f != nil {
		return f
	}
	r.Events = append(r.Events, e)
	return nil
}

func (r *Run) hold(addr uint64, what string) {
	h := Held{Addr: addr, What: what}
	if r.Here != nil {
		h.Image, h.PC = r.Here()
	}
	r.held = append(r.held, h)
}

// HoldsLock reports whether the program holds a bpf_spin_lock.
func (r *Run) HoldsLock() bool {
	for _, h := range r.held {
		if h.What == spinLockHeld {
			return true
		}
	}
	return false
}

func (r *Run) release(addr uint64) bool {
	for i, h := range r.held {
		if h.Addr == addr {
			r.held = append(r.held[:i], r.held[i+1:]...)
			return true
		}
	}
	return false
}

// releaseKind gives back the reference of that kind that was taken last.
func (r *Run) releaseKind(what string) bool {
	for i := len(r.held) - 1; i >= 0; i-- {
		if r.held[i].What == what {
			r.held = append(r.held[:i], r.held[i+1:]...)
			return true
		}
	}
	return false
}

func envOf(t *vm.Thread) *Env { return t.User.(*Env) }

func (e *Env) order() binary.ByteOrder { return e.Mem.ByteOrder() }

func errnoRet(e uapi.Errno) uint64 { return uint64(e.Neg()) }

func memFault(f *mem.Fault) *vm.Action { return vm.MemFault(f) }

// badArg is the fault of an argument the verifier would have refused.
func badArg(format string, args ...any) *vm.Action {
	return vm.FaultAction(&vm.Fault{Kind: vm.BadArgument, Text: fmt.Sprintf(format, args...)})
}

// notSimulated stops a program at something this simulation does not do.
func notSimulated(text string) *vm.Action {
	return vm.FaultAction(&vm.Fault{Kind: vm.NotSimulated, Text: text})
}

func deadlock(addr uint64) *vm.Action {
	return vm.FaultAction(&vm.Fault{Kind: vm.Deadlock, Text: fmt.Sprintf("bpf_spin_lock of %#x, which is already held", addr)})
}

func wrongMap(m maps.Map) *vm.Action {
	return badArg("map %s of type %v does not take this helper", m.Spec().Name, m.Spec().Type)
}

func (e *Env) mapAt(addr uint64) (maps.Map, *vm.Action) {
	r, f := e.mapRef(addr)
	if f != nil {
		return nil, f
	}
	return r.m, nil
}

func (e *Env) keyBuf(n int) []byte {
	if cap(e.keyScratch) < n {
		e.keyScratch = make([]byte, n)
	}
	return e.keyScratch[:n]
}

// buffer returns n bytes that stay valid until the next call; their content is
// whatever was there before.
func (e *Env) buffer(n uint64) ([]byte, *vm.Action) {
	if n > maxBuffer {
		return nil, badArg("size %#x", n)
	}
	if uint64(cap(e.bytes)) < n {
		e.bytes = make([]byte, n)
	}
	return e.bytes[:n], nil
}

// out is buffer for n bytes that go to addr, which is judged first: a wild size must not allocate.
func (e *Env) out(addr, n uint64) ([]byte, *vm.Action) {
	if f := e.Mem.Check(addr, n, true); f != nil {
		return nil, memFault(f)
	}
	return e.buffer(n)
}

// read copies n bytes from guest memory as a checked access. The result is valid until
// the next call of buffer or read.
func (e *Env) read(addr, n uint64) ([]byte, *vm.Action) {
	if n == 0 {
		return nil, nil
	}
	if b := e.Mem.Plain(addr, n); b != nil {
		e.bytes = append(e.bytes[:0], b...)
		return e.bytes, nil
	}
	// Bounds first: a wild size must not allocate.
	if f := e.Mem.Check(addr, n, false); f != nil {
		return nil, memFault(f)
	}
	b, f := e.buffer(n)
	if f != nil {
		return nil, f
	}
	if f := e.Mem.Read(addr, b); f != nil {
		return nil, memFault(f)
	}
	return b, nil
}

func (e *Env) write(addr uint64, b []byte) *vm.Action {
	if len(b) == 0 {
		return nil
	}
	if f := e.Mem.Write(addr, b); f != nil {
		return memFault(f)
	}
	return nil
}

func (e *Env) readU64(addr uint64) (uint64, *vm.Action) { return e.readInt(addr, 8) }

func (e *Env) readU32(addr uint64) (uint32, *vm.Action) {
	v, f := e.readInt(addr, 4)
	return uint32(v), f
}

func (e *Env) readInt(addr uint64, size int) (uint64, *vm.Action) {
	v, f := e.Mem.Load(addr, size)
	if f != nil {
		return 0, memFault(f)
	}
	return v, nil
}

func (e *Env) writeU64(addr, v uint64) *vm.Action { return e.writeInt(addr, 8, v) }

func (e *Env) writeU32(addr uint64, v uint32) *vm.Action { return e.writeInt(addr, 4, uint64(v)) }

// writeField stores to a field of a map value or object that the program itself may not store to.
func (e *Env) writeField(addr uint64, size int, v uint64) *vm.Action {
	if f := e.Mem.StoreField(addr, size, v); f != nil {
		return memFault(f)
	}
	return nil
}

func (e *Env) writeInt(addr uint64, size int, v uint64) *vm.Action {
	if f := e.Mem.Store(addr, size, v); f != nil {
		return memFault(f)
	}
	return nil
}

// constString reads a NUL-terminated string of a read-only map.
func (e *Env) constString(addr uint64) (string, *vm.Action) {
	buf, f := e.buffer(maxFormatString)
	if f != nil {
		return "", f
	}
	n, errno, f := readString(e, kernelSpace, addr, buf)
	if f != nil {
		return "", f
	}
	if errno != 0 {
		return "", badArg("%#x is not a string: %v", addr, errno)
	}
	return string(buf[:n-1]), nil
}

// scratch allocates guest memory for a callback's arguments; nil when none is left.
func (e *Env) scratch(size uint64, name string) *mem.Region {
	r, err := e.Mem.Alloc(max(size, 1), mem.Region{Kind: mem.Scratch, Name: name})
	if err != nil {
		return nil
	}
	if e.freeSpace == nil {
		e.freeSpace = map[uint64]*mem.Region{}
	}
	e.freeSpace[r.Base] = r
	return r
}

func (e *Env) releaseScratch(addr uint64) {
	if r := e.freeSpace[addr]; r != nil {
		delete(e.freeSpace, addr)
		e.Mem.Free(r)
	}
}

// The methods below make Env a formatSource.

func (e *Env) kernelString(addr uint64, max int) (string, bool) {
	return e.stringIn(kernelSpace, addr, max)
}

func (e *Env) userString(addr uint64, max int) (string, bool) {
	return e.stringIn(userSpace, addr, max)
}

func (e *Env) stringIn(s space, addr uint64, max int) (string, bool) {
	buf := make([]byte, max)
	n, errno, f := readString(e, s, addr, buf)
	if errno != 0 || f != nil {
		return "", false
	}
	return string(buf[:n-1]), true
}

func (e *Env) kernelBytes(addr uint64, p []byte) bool {
	errno, f := kernelSpace(e, addr, p)
	return errno == 0 && f == nil
}

func (e *Env) symbol(addr uint64, offset bool) string {
	name, off, ok := e.Kernel.SymbolAt(addr)
	switch {
	case !ok:
		return fmt.Sprintf("%#x", addr)
	case offset:
		return fmt.Sprintf("%s+%#x", name, off)
	}
	return name
}

func (e *Env) hashPointer(addr uint64) uint64 { return e.Kernel.HashPointer(addr) }

func (e *Env) takesUTF8() bool { return e.Version >= uapi.VersionCode(6, 18) }

func (e *Env) pointerBytes() int { return e.Mem.PointerSize() }
