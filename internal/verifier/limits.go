package verifier

// Limits of the kernel.
const (
	maxInsns      = 1000000
	maxPending    = 8192
	maxFrames     = 8
	maxStack      = 512
	maxSubprogs   = 256
	maxUsedMaps   = 64
	maxVarOff     = 1 << 29
	maxVarSize    = 1 << 29
	maxPacketOff  = 0xffff
	maxErrno      = 4095
	maxKfuncs     = 256
	maxHistory    = 40
	defaultMemory = 1 << 30
)
