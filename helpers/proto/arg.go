package proto

import "strings"

// ArgKind is what the kernel requires of an argument (enum bpf_arg_type).
type ArgKind uint8

// Kinds of arguments. Pointers may be NULL only with [MaybeNull].
const (
	// Anything is any initialised register that does not leak a pointer where that is forbidden.
	Anything ArgKind = iota
	// Scalar is a number.
	Scalar
	// ConstMap is a map known at load time.
	ConstMap
	// MapKey points to a key of the map argument (key_size bytes).
	MapKey
	// MapValue points to a value of the map argument (value_size bytes).
	MapValue
	// Mem points to memory whose size is the next argument, of kind ConstSize or ConstSizeOrZero.
	Mem
	// FixedMem points to Arg.Size bytes.
	FixedMem
	// ConstSize is the size in bytes of the preceding memory argument: bounded, at least 1.
	ConstSize
	// ConstSizeOrZero is a size that may be 0.
	ConstSizeOrZero
	// AllocSize is a constant number of bytes to reserve.
	AllocSize
	// Ctx is the program's context, unmodified.
	Ctx
	// SpinLock points to a struct bpf_spin_lock in a map value or an allocated object.
	SpinLock
	// SockCommon is a struct bpf_sock_common or a full socket type.
	SockCommon
	// Socket is a struct bpf_sock.
	Socket
	// BTFID points to a kernel struct: Arg.BTF, or one that another argument determines.
	BTFID
	// BTFSockCommon points to a kernel struct sock_common or a struct bpf_sock_common.
	BTFSockCommon
	// PercpuBTFID is the address of a per-CPU kernel variable.
	PercpuBTFID
	// RingbufMem is a record returned by bpf_ringbuf_reserve.
	RingbufMem
	// Func is a subprogram that the helper calls.
	Func
	// Stack points to the program's stack.
	Stack
	// ConstString is a NUL-terminated string in a read-only map.
	ConstString
	// Timer points to a struct bpf_timer in a map value.
	Timer
	// Kptr points to a kptr field in a map value or an allocated object.
	Kptr
	// Dynptr points to a struct bpf_dynptr on the stack.
	Dynptr
	// Iterator points to an open-coded iterator on the stack; only kfuncs accept it.
	Iterator
)

// Flags refine an argument or a returned pointer (enum bpf_type_flag).
type Flags uint16

// Flags.
const (
	// MaybeNull allows NULL.
	MaybeNull Flags = 1 << iota
	// ReadOnly memory is not written; read-only memory may be passed.
	ReadOnly
	// Uninit memory need not be initialised: the function fills it.
	Uninit
	// Write means that the function writes to the memory. Without Uninit it reads it too.
	Write
	// Aligned memory must be aligned to its size.
	Aligned
	// Release releases the reference.
	Release
	// LocalDynptr and RingbufDynptr are kinds of dynptr.
	LocalDynptr
	RingbufDynptr
	// Trusted pointers may be passed to kfuncs.
	Trusted
)

// Arg is one parameter of a helper.
type Arg struct {
	Kind  ArgKind
	Flags Flags
	Size  uint16 // of FixedMem
	BTF   string // the struct a BTFID points to; "" where another argument decides
}

// Pointer reports whether the argument must be a pointer.
func (a Arg) Pointer() bool {
	switch a.Kind {
	case Anything, Scalar, ConstSize, ConstSizeOrZero, AllocSize, ConstMap:
		return false
	}
	return true
}

// fills reports whether the helper may write to the argument's pointee.
func (a Arg) fills() bool {
	switch a.Kind {
	case MapKey, Ctx, ConstString:
		return false
	case MapValue:
		return a.Writes()
	}
	return a.Pointer() && a.Flags&ReadOnly == 0
}

// Writes reports whether the helper writes to the argument's pointee.
func (a Arg) Writes() bool { return a.Flags&(Write|Uninit) != 0 }

var argNames = [...]string{
	Anything: "any", Scalar: "scalar", ConstMap: "map", MapKey: "key", MapValue: "value", Mem: "mem", FixedMem: "mem", ConstSize: "size",
	ConstSizeOrZero: "size or 0", AllocSize: "const size", Ctx: "ctx", SpinLock: "spin lock", SockCommon: "sock_common", Socket: "sock",
	BTFID: "object", BTFSockCommon: "sock_common", PercpuBTFID: "per-CPU variable", RingbufMem: "record", Func: "callback", Stack: "stack",
	ConstString: "const str", Timer: "timer", Kptr: "kptr", Dynptr: "dynptr", Iterator: "iterator",
}

// String returns a short name for documents: "map", "size or 0".
func (k ArgKind) String() string {
	if int(k) < len(argNames) {
		return argNames[k]
	}
	return ""
}

var flagNames = [...]string{"or NULL", "read", "uninit", "write", "aligned", "release", "local", "ringbuf", "trusted"}

// String lists the flags: "write, aligned".
func (f Flags) String() string {
	var out []string
	for i, n := range flagNames {
		if f>>i&1 != 0 {
			out = append(out, n)
		}
	}
	return strings.Join(out, ", ")
}

// String returns a short form for documents: "mem out", "task_struct *", "ctx or NULL".
func (a Arg) String() string {
	s := a.Kind.String()
	switch {
	case a.Kind == BTFID && a.BTF != "":
		s = a.BTF + " *"
	case a.Flags&Uninit != 0:
		s += " out"
	case a.Flags&Write != 0:
		s += " in/out"
	}
	if a.Flags&MaybeNull != 0 {
		s += " or NULL"
	}
	return s
}

// RetKind is what a function returns (enum bpf_return_type).
type RetKind uint8

// Kinds of results.
const (
	Integer RetKind = iota
	Void
	// RetMapValue points to a value of the map argument.
	RetMapValue
	// RetSocket, RetTCPSock and RetSockCommon are struct bpf_sock, bpf_tcp_sock and sock_common.
	RetSocket
	RetTCPSock
	RetSockCommon
	// RetRingbufMem is a reserved ring buffer record of the requested size.
	RetRingbufMem
	// RetDynptrMem is memory of a dynptr, of the requested size.
	RetDynptrMem
	// RetMemOrBTFID is a per-CPU variable: memory, or a struct known by BTF.
	RetMemOrBTFID
	// RetBTFID points to the kernel struct Return.BTF, or one that an argument determines.
	RetBTFID
)

var retNames = [...]string{
	Integer: "integer", Void: "void", RetMapValue: "map value", RetSocket: "sock", RetTCPSock: "tcp_sock", RetSockCommon: "sock_common",
	RetRingbufMem: "record", RetDynptrMem: "mem", RetMemOrBTFID: "variable", RetBTFID: "object",
}

// Return is the result of a function.
type Return struct {
	Kind  RetKind
	Flags Flags
	BTF   string
}

// Pointer reports whether the result is a pointer.
func (r Return) Pointer() bool { return r.Kind > Void }

// Typed reports whether the verifier knows the result's BTF type, so that programs may load from it
// directly.
func (r Return) Typed() bool { return r.Kind == RetBTFID || r.Kind == RetMemOrBTFID }

// String returns a short form for documents: "integer", "task_struct *", "map value or NULL".
func (r Return) String() string {
	s := ""
	if int(r.Kind) < len(retNames) {
		s = retNames[r.Kind]
	}
	if r.BTF != "" {
		s = r.BTF + " *"
	}
	if r.Flags&MaybeNull != 0 {
		s += " or NULL"
	}
	return s
}
