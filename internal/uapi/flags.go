package uapi

// Map creation flags (BPF_F_*, map_flags of BPF_MAP_CREATE).
const (
	MapNoPrealloc     = 1 << 0  // hash: allocate elements when they are inserted; required for LPM tries and local storage
	MapNoCommonLRU    = 1 << 1  // LRU hash: one LRU list per CPU
	MapNumaNode       = 1 << 2  // numa_node is set
	MapRdonly         = 1 << 3  // user space may only read
	MapWronly         = 1 << 4  // user space may only write
	MapStackBuildID   = 1 << 5  // stack trace: build id and offset instead of addresses
	MapZeroSeed       = 1 << 6  // hash: seed 0
	MapRdonlyProg     = 1 << 7  // programs may only read
	MapWronlyProg     = 1 << 8  // programs may only write
	MapClone          = 1 << 9  // sk storage: copied to accepted sockets
	MapMmapable       = 1 << 10 // array: values may be mapped into user space
	MapPreserveElems  = 1 << 11 // perf event array: keep events when the map's file descriptor is closed
	MapInnerMap       = 1 << 12 // array: max_entries of inner maps may differ
	MapLink           = 1 << 13 // struct_ops: attached through a link
	MapPathFD         = 1 << 14 // BPF_OBJ_PIN and GET: relative to a directory
	MapVtypeBTFObjFD  = 1 << 15 // struct_ops: the value type is in a module's BTF
	MapTokenFD        = 1 << 16 // a BPF token is passed
	MapSegvOnFault    = 1 << 17 // arena: SIGSEGV instead of allocating pages for user space
	MapNoUserConv     = 1 << 18 // arena: addr_space_cast to user addresses does nothing
	MapRbOverwrite    = 1 << 19 // ring buffer: overwrite the oldest records
	MaxKnownMapFlag   = MapRbOverwrite
	MapAccessMask     = MapRdonly | MapRdonlyProg | MapWronly | MapWronlyProg
	MapKnownFlagsMask = MaxKnownMapFlag<<1 - 1
)

// Update flags (bpf_map_update_elem and BPF_MAP_UPDATE_ELEM).
const (
	Any     = 0      // create or update
	NoExist = 1      // create only
	Exist   = 2      // update only
	Lock    = 1 << 2 // copy under the element's bpf_spin_lock
	CPU     = 1 << 3 // per-CPU maps, from 6.18: only the CPU in the upper 32 bits (system call only)
	AllCPUs = 1 << 4 // per-CPU maps, from 6.18: the same value on every CPU (system call only)
)

// LocalStorageGetCreate makes bpf_sk_storage_get and the other bpf_*_storage_get helpers create the
// storage.
const LocalStorageGetCreate = 1

// Ring buffer flags (bpf_ringbuf_output, submit, discard) and bpf_ringbuf_query selectors.
const (
	RbNoWakeup     = 1
	RbForceWakeup  = 2
	RbAvailData    = 0
	RbRingSize     = 1
	RbConsPos      = 2
	RbProdPos      = 3
	RbOverwritePos = 4

	RingbufBusyBit    = 1 << 31
	RingbufDiscardBit = 1 << 30
	RingbufHdrSize    = 8
)

// Perf event flags (bpf_perf_event_output, bpf_perf_event_read_value, bpf_skb_output,
// bpf_xdp_output).
const (
	PerfIndexMask  uint64 = 0xffffffff
	PerfCurrentCPU        = PerfIndexMask
	PerfCtxLenMask uint64 = 0xfffff << 32 // bytes of the packet to append
)

// Stack flags (bpf_get_stackid, bpf_get_stack, bpf_get_task_stack).
const (
	StackSkipMask    = 0xff
	StackUser        = 1 << 8
	StackFastCmp     = 1 << 9
	StackReuseID     = 1 << 10
	StackUserBuildID = 1 << 11
)

// Program load flags (prog_flags of BPF_PROG_LOAD).
const (
	ProgStrictAlignment     = 1 << 0
	ProgAnyAlignment        = 1 << 1
	ProgTestRndHi32         = 1 << 2
	ProgTestStateFreq       = 1 << 3
	ProgSleepable           = 1 << 4
	ProgXDPHasFrags         = 1 << 5
	ProgXDPDevBoundOnly     = 1 << 6
	ProgTestRegInvariants   = 1 << 7
	ProgTokenFD             = 1 << 16
	ProgTestRunOnCPU        = 1 << 0 // flags of BPF_PROG_TEST_RUN
	ProgTestXDPLiveFrames   = 1 << 1
	ProgTestSkbChecksumComp = 1 << 2
)

// Packet helper flags.
const (
	SkbStoreRecomputeCsum  = 1 << 0 // bpf_skb_store_bytes
	SkbStoreInvalidateHash = 1 << 1
	CsumHdrFieldMask       = 0xf // bpf_l3_csum_replace, bpf_l4_csum_replace: size of the field
	CsumPseudoHdr          = 1 << 4
	CsumMarkMangled0       = 1 << 5
	CsumMarkEnforce        = 1 << 6
	CsumIPv6               = 1 << 7
	RedirectIngress        = 1 << 0 // bpf_redirect, bpf_clone_redirect, bpf_msg_redirect_map
	RedirectBroadcast      = 1 << 3 // bpf_redirect_map on devmaps
	RedirectExcludeIngress = 1 << 4
	CsumLevelQuery         = 0 // bpf_csum_level
	CsumLevelInc           = 1
	CsumLevelDec           = 2
	CsumLevelReset         = 3
	AdjRoomNet             = 0 // bpf_skb_adjust_room: mode
	AdjRoomMac             = 1
	AdjRoomFixedGSO        = 1 << 0 // bpf_skb_adjust_room: flags
	AdjRoomEncapL3IPv4     = 1 << 1
	AdjRoomEncapL3IPv6     = 1 << 2
	AdjRoomEncapL4GRE      = 1 << 3
	AdjRoomEncapL4UDP      = 1 << 4
	AdjRoomNoCsumReset     = 1 << 5
	AdjRoomEncapL2Eth      = 1 << 6
	AdjRoomDecapL3IPv4     = 1 << 7
	AdjRoomDecapL3IPv6     = 1 << 8
	AdjRoomDecapL4GRE      = 1 << 9
	AdjRoomDecapL4UDP      = 1 << 10
	AdjRoomDecapIPXIP4     = 1 << 11
	AdjRoomDecapIPXIP6     = 1 << 12
	AdjRoomEncapL2Mask     = 0xff
	AdjRoomEncapL2Shift    = 56
	HdrStartMac            = 0 // bpf_skb_load_bytes_relative
	HdrStartNet            = 1
	TunnelIPv6             = 1 << 0 // bpf_skb_get_tunnel_key, bpf_skb_set_tunnel_key
	TunnelZeroCsumTx       = 1 << 1
	TunnelDontFragment     = 1 << 2
	TunnelSeqNumber        = 1 << 3
	TunnelNoKey            = 1 << 4 // set
	TunnelFlags            = 1 << 4 // get
	CurrentNetns           = -1     // netns argument of the socket lookup helpers
	SkLookupReplace        = 1 << 0 // bpf_sk_assign in sk_lookup programs
	SkLookupNoReuseport    = 1 << 1
	FibLookupDirect        = 1 << 0 // bpf_fib_lookup
	FibLookupOutput        = 1 << 1
	FibLookupSkipNeigh     = 1 << 2
	FibLookupTbid          = 1 << 3
	FibLookupSrc           = 1 << 4
	FibLookupMark          = 1 << 5
	FibRetSuccess          = 0
	FibRetBlackhole        = 1
	FibRetUnreachable      = 2
	FibRetProhibit         = 3
	FibRetNotFwded         = 4
	FibRetFwdDisabled      = 5
	FibRetUnsuppLwt        = 6
	FibRetNoNeigh          = 7
	FibRetFragNeeded       = 8
	FibRetNoSrcAddr        = 9
	CheckMTUSegs           = 1 << 0 // bpf_check_mtu
	CheckMTURetSuccess     = 0
	CheckMTURetFragNeeded  = 1
	CheckMTURetSegsTooBig  = 2
	SkbTstampUnspec        = 0 // bpf_skb_set_tstamp
	SkbTstampDeliveryMono  = 1
	LwtEncapSeg6           = 0 // bpf_lwt_push_encap
	LwtEncapSeg6Inline     = 1
	LwtEncapIP             = 2
	SysctlBaseName         = 1 << 0 // bpf_sysctl_get_name
	BprmSecureExec         = 1 << 0 // bpf_bprm_opts_set
	BranchRecordsSize      = 1 << 0 // bpf_read_branch_records
)

// Flags of bpf_timer_start, and the clock ids of bpf_timer_init.
const (
	TimerAbs    = 1 << 0
	TimerCPUPin = 1 << 1

	ClockRealtime  = 0
	ClockMonotonic = 1
	ClockBoottime  = 7
	ClockTAI       = 11
)

// Sizes and limits of the interface.
const (
	MaxStack      = 512     // bytes of stack per call chain (MAX_BPF_STACK)
	MaxCallFrames = 8       // MAX_CALL_FRAMES
	MaxTailCalls  = 33      // MAX_TAIL_CALL_CNT
	ObjNameLen    = 16      // BPF_OBJ_NAME_LEN
	TaskCommLen   = 16      // TASK_COMM_LEN
	MaxInsns      = 1000000 // BPF_COMPLEXITY_LIMIT_INSNS: instructions of the longest program that a privileged user may load
	MaxLoops      = 8 << 20 // BPF_MAX_LOOPS: iterations of bpf_loop
	TagSize       = 8       // BPF_TAG_SIZE
	BuildIDSize   = 20      // BPF_BUILD_ID_SIZE
	MaxTrampLinks = 38      // BPF_MAX_TRAMP_LINKS
	MaxVarPrintk  = 12      // MAX_BPRINTF_VARARGS
	StreamStdout  = 1       // BPF_STDOUT
	StreamStderr  = 2       // BPF_STDERR
	SpinLockSize  = 4
	TimerSize     = 16
	DynptrSize    = 16
)
