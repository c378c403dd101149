package verifier

import "github.com/bpfrun/bpfrun/internal/uapi"

// callMeta is what the arguments of a call determine about the call (struct bpf_call_arg_meta,
// struct bpf_kfunc_call_arg_meta).
type callMeta struct {
	id         uapi.FuncID
	mapp       *mapInfo // the map argument, which decides about keys, values and the result
	uid        uint32   // the lookup that returned it, if it is an inner map
	raw        bool     // the memory argument need not be initialised: the helper writes it
	packet     bool     // the helper may be given packet memory
	release    int      // register number of the argument to release, 0 if there is none
	regno      int      // register of memory that the helper initialises
	accessSize int      // and how many bytes of it
	memSize    uint64   // constant size of memory that the result points to
	maxSize    uint64   // greatest size of a buffer, which bounds the result
	ref        uint32   // reference that an argument holds
	dyn        uint32   // dynptr that the result is a slice of
	sub        int      // callback
	retSpec    uint8    // type of the result, where an argument decides it
	retID      uint32
	kptr       *field // the field to exchange
	// For kernel functions.
	k           *kfunc
	constant    uint64 // an argument that must be constant
	hasConstant bool
	retSize     uint64 // size of the memory that the result points to
	retRdonly   bool
	dynID       uint32 // an argument that is an initialised dynptr
	dynType     uint8
	dynRef      uint32
	iterSpi     int // where the iterator is
	iterFrame   int
	argSpec     uint8 // type of the object argument
	argID       uint32
	owning      bool    // the program owns a reference of it
	root        *field  // list head or tree root
	rootRec     *record // fields of what contains it, the lock among them
	constKey    uint64  // one more than a constant key that was found in the stack; 0: not known
}
