package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/guest"
	"github.com/bpfrun/bpfrun/helpers/held"
	"github.com/bpfrun/bpfrun/helpers/printf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Call is one call of a helper or kfunc. Arguments are checked against the prototype before the
// implementation runs: the map argument is a map; keys, values and buffers are accessible.
type Call struct {
	*Env
	Thread *vm.Thread
	Args   *[5]uint64 // r1 to r5 as passed

	ref  *mapRef // the map argument
	key  []byte  // the key argument; if it is only looked up, it may be the program's memory itself
	text string  // the constant string argument
	lock uint32  // contents of the lock argument, 0 if it is not held
	bufs [5][]byte
	room [5][]byte // memory that bufs reuse
}

// Impl is the implementation of a helper or kfunc.
type Impl func(c *Call) (uint64, *vm.Action)

// In returns a copy of the bytes of a memory or map value argument that the function reads, or nil.
func (c *Call) In(i int) []byte { return c.bufs[i] }

// Out returns a buffer for a memory argument that the function writes, whose address has been
// checked. Its contents are undefined.
func (c *Call) Out(i int) []byte { return c.bufs[i] }

// zeroed zeroes a result and returns the errno, as helpers do on their error paths.
func (c *Call) zeroed(i int, errno uapi.Errno) (uint64, *vm.Action) {
	b := c.Out(i)
	clear(b)
	return errnoRet(errno), c.guest.Write(c.Args[i], b)
}

// bind creates the function that the engine calls. Helpers never nest, so an environment has one
// Call, which usually belongs to the same thread and registers as before: comparing costs less than
// storing pointers.
func (do Impl) bind(steps []step) vm.HelperFunc {
	if len(steps) == 0 {
		return func(t *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
			c := &t.User.(*Env).call
			if c.Thread != t || c.Args != args {
				c.ready(t, args)
			}
			return do(c)
		}
	}
	if len(steps) == 2 && steps[0] == (step{kind: stepMap}) && steps[1] == (step{kind: stepLookupKey, arg: 1}) {
		return do.bindLookup()
	}
	return func(t *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
		c := &t.User.(*Env).call
		if c.Thread != t || c.Args != args {
			c.ready(t, args)
		}
		for i := range steps {
			if f := c.decode(&steps[i]); f != nil {
				return 0, f
			}
		}
		return do(c)
	}
}

// bindLookup is bind for functions that only look up a key of a map, which programs call most.
func (do Impl) bindLookup() vm.HelperFunc {
	return func(t *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
		c := &t.User.(*Env).call
		if c.Thread != t || c.Args != args {
			c.ready(t, args)
		}
		ref, f := c.mapRef(args[0])
		if f != nil {
			return 0, f
		}
		c.ref = ref
		if c.key = c.Mem.Plain(args[1], ref.keySize); c.key == nil {
			if c.key, f = c.guest.Key(args[1], ref.keySize); f != nil {
				return 0, f
			}
		}
		return do(c)
	}
}

func (c *Call) ready(t *vm.Thread, args *[5]uint64) { c.Env, c.Thread, c.Args = t.User.(*Env), t, args }

// step decodes one argument.
type step struct {
	kind stepKind
	arg  uint8
	size uint32 // size in bytes of fixed memory
}

type stepKind uint8

const (
	stepMap       stepKind = iota
	stepLookupKey          // a key that is only looked up
	stepKey
	stepValueIn
	stepValueOut
	stepIn    // memory, the next argument is its size
	stepOut   // the same, for results
	stepFixed // as many bytes as the prototype has
	stepString
	stepLock
)

// stepsOf returns the steps that decode the arguments of a function that returns ret.
func stepsOf(args []proto.Arg, ret proto.Return) []step {
	var out []step
	for i, a := range args {
		s := step{arg: uint8(i)}
		switch {
		case a.Kind == proto.ConstMap:
			s.kind = stepMap
		case a.Kind == proto.MapKey && ret.Kind == proto.RetMapValue:
			s.kind = stepLookupKey
		case a.Kind == proto.MapKey:
			s.kind = stepKey
		case a.Kind == proto.MapValue && a.Flags&proto.Uninit != 0:
			s.kind = stepValueOut
		case a.Kind == proto.MapValue:
			s.kind = stepValueIn
		case a.Kind == proto.Mem && a.Flags&(proto.Uninit|proto.Write) != 0 && a.Flags&proto.MaybeNull == 0:
			s.kind = stepOut
		case a.Kind == proto.Mem && a.Flags&proto.ReadOnly != 0:
			s.kind = stepIn
		case a.Kind == proto.FixedMem && a.Flags&proto.ReadOnly != 0:
			s.kind, s.size = stepFixed, uint32(a.Size)
		case a.Kind == proto.ConstString:
			s.kind = stepString
		case a.Kind == proto.SpinLock:
			s.kind = stepLock
		default:
			continue
		}
		out = append(out, s)
	}
	return out
}

// decode checks an argument and stores its decoded value.
func (c *Call) decode(s *step) *vm.Action {
	addr := c.Args[s.arg]
	var f *vm.Action
	switch s.kind {
	case stepMap:
		c.ref, f = c.mapRef(addr)
	case stepLookupKey:
		c.key, f = c.lookupKey(addr)
	case stepKey:
		c.key, f = c.guest.Key(addr, c.ref.keySize)
	case stepValueIn:
		if c.ref.sock != nil || addr == 0 {
			c.bufs[s.arg] = nil // a socket, or none
			return nil
		}
		return c.readArg(s.arg, addr, uint64(c.ref.m.Spec().ValueSize))
	case stepValueOut:
		n := uint64(c.ref.m.Spec().ValueSize)
		if c.ref.m.Spec().Type == uapi.MapTypeBloomFilter {
			return c.readArg(s.arg, addr, n) // reads the current value
		}
		return c.roomFor(s.arg, addr, n)
	case stepIn:
		return c.readArg(s.arg, addr, c.Args[s.arg+1])
	case stepFixed:
		return c.readArg(s.arg, addr, uint64(s.size))
	case stepOut:
		return c.roomFor(s.arg, addr, c.Args[s.arg+1])
	case stepString:
		c.text, f = c.constString(addr)
	case stepLock:
		c.lock, f = c.guest.ReadU32(addr)
	}
	return f
}

// lookupKey returns a key for functions that only look it up: it may be the program's memory
// itself.
func (c *Call) lookupKey(addr uint64) ([]byte, *vm.Action) {
	if b := c.Mem.Plain(addr, c.ref.keySize); b != nil {
		return b, nil
	}
	return c.guest.Key(addr, c.ref.keySize)
}

// constString reads a NUL-terminated string of a read-only map.
func (c *Call) constString(addr uint64) (string, *vm.Action) {
	buf, f := c.guest.Buffer(printf.MaxString)
	if f != nil {
		return "", f
	}
	n, errno, f := c.probe.String((*guest.Prober).Kernel, addr, buf)
	if errno != 0 && f == nil {
		f = badArg("%#x is not a string: %v", addr, errno)
	}
	if f != nil {
		return "", f
	}
	return string(buf[:n-1]), nil
}

// readArg copies n bytes of an argument.
func (c *Call) readArg(i uint8, addr, n uint64) *vm.Action {
	if n == 0 {
		c.bufs[i] = nil
		return nil
	}
	if b := c.Mem.Plain(addr, n); b != nil {
		c.room[i] = append(c.room[i][:0], b...)
		c.bufs[i] = c.room[i]
		return nil
	}
	if f := c.checked(i, addr, n, false); f != nil {
		return f
	}
	if f := c.Mem.Read(addr, c.bufs[i]); f != nil {
		return memFault(f)
	}
	return nil
}

// roomFor returns a buffer for n bytes to be written to addr.
func (c *Call) roomFor(i uint8, addr, n uint64) *vm.Action {
	if n == 0 {
		c.bufs[i] = nil
		return nil
	}
	return c.checked(i, addr, n, true)
}

// checked checks an access before it allocates a buffer for it: the size may be arbitrary.
func (c *Call) checked(i uint8, addr, n uint64, write bool) *vm.Action {
	if f := c.Mem.Check(addr, n, write); f != nil {
		return memFault(f)
	}
	if n > guest.MaxBuffer {
		return badArg("size %#x", n)
	}
	if write && c.Thread.Tracks() {
		c.Mem.Allow(addr, n) // all of it counts as set, as the verifier assumes; the function's stores decide what was written
	}
	if uint64(cap(c.room[i])) < n {
		c.room[i] = make([]byte, n)
	}
	c.bufs[i] = c.room[i][:n]
	return nil
}

// on turns functions of the object in one of their arguments, which find looks up, into
// implementations.
func on[T any](arg int, find func(*Call, uint64) (T, *vm.Action)) func(func(*Call, T) (uint64, *vm.Action)) Impl {
	return func(do func(*Call, T) (uint64, *vm.Action)) Impl {
		return func(c *Call) (uint64, *vm.Action) {
			obj, f := find(c, c.Args[arg])
			if f != nil {
				return 0, f
			}
			return do(c, obj)
		}
	}
}

// Objects looked up from the first argument.
var (
	onSkb           = on(0, (*Call).skbAt)
	onPacket        = on(0, (*Call).packetOf)
	onSocket        = on(0, (*Call).socketAt)
	onContextSocket = on(0, (*Call).contextSocket)
	onOptionSocket  = on(0, (*Call).optionSocket)
	onSockOps       = on(0, (*Call).sockOps)
	onSysctl        = on(0, (*Call).sysctlAt)
	onReceived      = on(0, (*Call).received)
	onDynptr        = on(0, (*Call).dynptrAt)
	onMask          = on(0, (*Call).maskAt)
	onWalk          = on(0, (*Call).walkAt)
)

// Maps with operations that others lack.
var (
	onQueue    = onMap[maps.Queue]
	onRing     = onMap[maps.RingBuffer]
	onUserRing = onMap[maps.UserRing]
	onPrograms = onMap[maps.ProgArray]
	onPerf     = onMap[maps.PerfArray]
	onStorage  = onMap[maps.LocalStorage]
)

// onMap turns functions of such maps into implementations.
func onMap[T maps.Map](do func(*Call, T) (uint64, *vm.Action)) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		m, ok := c.ref.m.(T)
		if !ok {
			return 0, wrongMap(c.ref.m)
		}
		return do(c, m)
	}
}

// take returns an object with a reference that the program must release; NULL for nil.
func (c *Call) take(o *object.Object, name string) (uint64, *vm.Action) {
	if o == nil {
		return 0, nil
	}
	c.Run.Held.Take(held.Reference, o.Addr(), name)
	return o.Addr(), nil
}

// give releases a reference; it is a fault if the program does not hold it.
func (c *Call) give(by string, k held.Kind, addr uint64) *vm.Action {
	if !c.Run.Held.Give(k, addr) {
		return badArg("%v", &held.NotHeld{By: by, Kind: k, Addr: addr})
	}
	return nil
}
