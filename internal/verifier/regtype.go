package verifier

import "strings"

// regType is what a register holds: a kind and flags (enum bpf_reg_type with bpf_type_flag).
type regType uint32

// Kinds.
const (
	notInit regType = iota
	scalar
	ptrCtx
	constMap
	ptrMapValue
	ptrMapKey
	ptrStack
	ptrPacketMeta
	ptrPacket
	ptrPacketEnd
	ptrFlowKeys
	ptrSocket
	ptrSockCommon
	ptrTCPSock
	ptrTPBuffer
	ptrXDPSock
	ptrBTF
	ptrMem
	ptrArena
	ptrBuf
	ptrFunc
	ptrInsn
	constDynptr
	ptrPercpuBTF // releases before 5.17 only; later ptrBTF with memPercpu

	kindMask regType = 0xff
)

// Flags.
const (
	maybeNull    regType = 1 << (8 + iota) // needs a check before it is used
	memRdonly                              // must not be written
	memRingbuf                             // a record of a ring buffer, to be submitted or dropped
	memUser                                // an address of user space
	memPercpu                              // an offset into the areas of CPUs
	ptrUntrusted                           // may lead anywhere: only loads, which are probed
	memAlloc                               // an object that the program allocated
	ptrTrusted                             // an object that is valid as long as the program runs
	memRCU                                 // valid as long as the RCU read-side section lasts
	nonOwnRef                              // another owns the object: valid while its lock is held
	dynLocal
	dynRingbuf
	dynSkb
	dynXDP
	dynSkbMeta
	dynFile
	// Flags for arguments only.
	objRelease
	memUninit
	memFixedSize
	memAligned
	memWrite
)

const (
	dynMask      = dynLocal | dynRingbuf | dynSkb | dynXDP | dynSkbMeta | dynFile
	trustedFlags = ptrTrusted | memAlloc
)

func (t regType) base() regType   { return t & kindMask }
func (t regType) flags() regType  { return t &^ kindMask }
func (t regType) mayBeNull() bool { return t&maybeNull != 0 }

// unsafeMods reports flags that remove trust, like bpf_type_has_unsafe_modifiers.
func (t regType) unsafeMods() bool { return t.flags()&^trustedFlags != 0 }

func (t regType) isPacket() bool { return t == ptrPacket || t == ptrPacketMeta }
func (t regType) isSock() bool {
	return t == ptrSocket || t == ptrSockCommon || t == ptrTCPSock || t == ptrXDPSock
}
func (t regType) isAlloc() bool       { return t&memAlloc != 0 }
func (t regType) isAllocObj() bool    { return t.base() == ptrBTF && t&memAlloc != 0 }
func (t regType) isNonOwning() bool   { return t.isAllocObj() && t&nonOwnRef != 0 }
func (t regType) isRdonlyMem() bool   { return t&memRdonly != 0 }
func (t regType) isPacketAny() bool   { return t.isPacket() || t == ptrPacketEnd }
func (t regType) isDynSlicePkt() bool { return t.base() == ptrMem && t&(dynSkb|dynXDP|dynSkbMeta) != 0 }

var kindNames = [...]string{
	notInit: "?", scalar: "scalar", ptrCtx: "ctx", constMap: "map_ptr", ptrMapValue: "map_value", ptrMapKey: "map_key",
	ptrStack: "fp", ptrPacketMeta: "pkt_meta", ptrPacket: "pkt", ptrPacketEnd: "pkt_end", ptrFlowKeys: "flow_keys",
	ptrSocket: "sock", ptrSockCommon: "sock_common", ptrTCPSock: "tcp_sock", ptrTPBuffer: "tp_buffer", ptrXDPSock: "xdp_sock",
	ptrBTF: "ptr_", ptrMem: "mem", ptrArena: "arena", ptrBuf: "buf", ptrFunc: "func", ptrInsn: "insn", constDynptr: "dynptr_ptr",
	ptrPercpuBTF: "percpu_ptr_",
}

// String names the type as the kernel's reg_type_str of recent releases does.
func (t regType) String() string {
	b := t.base()
	var s strings.Builder
	for _, f := range [...]struct {
		flag regType
		text string
	}{{memRdonly, "rdonly_"}, {memRingbuf, "ringbuf_"}, {memUser, "user_"}, {memPercpu, "percpu_"}, {memRCU, "rcu_"}, {ptrUntrusted, "untrusted_"}, {ptrTrusted, "trusted_"}} {
		if t&f.flag != 0 {
			s.WriteString(f.text)
		}
	}
	if int(b) < len(kindNames) {
		s.WriteString(kindNames[b])
	}
	if t.mayBeNull() {
		if b == ptrBTF {
			s.WriteString("or_null_")
		} else {
			s.WriteString("_or_null")
		}
	}
	return s.String()
}
