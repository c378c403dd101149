package verifier

import "github.com/bpfrun/bpfrun/internal/uapi"

// callMeta is what the arguments of a call determine about the call.
type callMeta struct {
	id         uapi.FuncID
	mapp       *mapInfo
	uid        uint32
	raw        bool
	packet     bool
	release    int // register number
	regno      int
	accessSize int
	memSize    uint64
	maxSize    uint64
	ref        uint32
	dyn        uint32
	sub        int
	retSpec    uint8
	retID      uint32
	kptr       *field
	// For kernel functions.
	k           *kfunc
	constant    uint64
	hasConstant bool
	retSize     uint64
	retRdonly   bool
	dynID       uint32
	dynType     uint8
	dynRef      uint32
	iterSpi     int
	iterFrame   int
	argSpec     uint8
	argID       uint32
	owning      bool
	root        *field // list head or tree root
	rootRec     *record
	constKey    uint64
}
