package verifier

// Limits of the kernel.
const (
	maxInsns      = 1000000 // BPF_COMPLEXITY_LIMIT_INSNS, the limit of a program's length too
	maxPending    = 8192    // BPF_COMPLEXITY_LIMIT_JMP_SEQ
	maxFrames     = 8       // MAX_CALL_FRAMES
	maxStack      = 512     // MAX_BPF_STACK
	maxSubprogs   = 256     // BPF_MAX_SUBPROGS
	maxUsedMaps   = 64      // MAX_USED_MAPS
	maxVarOff     = 1 << 29 // BPF_MAX_VAR_OFF: sums of offsets do not overflow 32 bits
	maxVarSize    = 1 << 29 // BPF_MAX_VAR_SIZ
	maxPacketOff  = 0xffff  // MAX_PACKET_OFF
	maxErrno      = 4095    // MAX_ERRNO
	maxKfuncs     = 256     // MAX_KFUNC_DESCS
	maxHistory    = 40      // entries, after which is_state_visited keeps a state
	defaultMemory = 1 << 30
)
