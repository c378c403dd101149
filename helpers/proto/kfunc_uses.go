package proto

// Lists of programs that several kfuncs share: one for each set the kernel registers, with the
// program types that came to share a hook later (kernel/bpf/btf.c bpf_prog_type_to_kfunc_hook).
var (
	anyProgram        = uses{{By: all}}
	schedExtOpsUses   = uses{{Until: r(7, 1), By: structOps | tcpCC | tcpCCRelease}, {By: schedExt}}
	schedExtSetupUses = uses{{Until: r(7, 1), By: structOps | tcpCC | tcpCCRelease}, {By: schedExt | syscall}}
	genericUses       = uses{{By: typedTypes}, {From: r(6, 2), By: structOpsAny | schedCls}, {From: r(6, 8), By: xdp}, {From: r(6, 10), By: syscall}, {From: r(6, 12), By: cgroupHook | tracepoint | perfEvent}, {From: r(6, 15), By: sockOps}, {From: r(7, 0), By: rawTracepoint}}
	cpumaskUses       = uses{{By: typedTypes | structOpsAny}, {From: r(6, 10), By: syscall}, {From: r(6, 12), By: tracepoint | perfEvent}, {From: r(7, 0), By: rawTracepoint}}
	syscallUses       = uses{{By: syscall}}
	tunnelUses        = uses{{By: sched | xdp}}
	packetUses        = uses{{By: schedCls | xdp}}
	xdpUses           = uses{{By: xdp}}
	lsmUses           = uses{{By: lsmAny}}
	keyUses           = uses{{By: typedTypes}, {From: r(6, 12), By: tracepoint | perfEvent}, {From: r(6, 18), By: cgroupHook | structOpsAny | schedCls | xdp | sockOps | syscall}, {From: r(7, 0), By: rawTracepoint}}
	schedExtAnyUses   = uses{{Until: r(7, 1), By: structOps | tcpCC | tcpCCRelease}, {By: typed | tracepoint | perfEvent | schedExt}, {From: r(7, 0), By: rawTracepoint}}
	structOpsUses     = uses{{By: structOpsAny}}
	sessionUses       = uses{{By: kprobe}, {From: r(7, 0), By: typedTypes | tracepoint | perfEvent | rawTracepoint}}
	schedClsUses      = uses{{By: schedCls}}
	cgroupUses        = uses{{By: sockAddr | cgroupSkb}, {From: r(6, 12), By: cgroupSock | sockopt | cgroupDevice | sysctl}, {From: r(6, 15), By: sockOps}}
	tracingUses       = uses{{By: typedTypes | tracepoint | perfEvent}, {From: r(7, 0), By: rawTracepoint}}
	kernelTestUses    = uses{{By: schedCls}, {From: r(6, 0), By: tracingRawTP | trampoline | iters}, {From: r(6, 1), By: lsmAny | syscall}, {From: r(6, 12), By: tracepoint | perfEvent}, {From: r(7, 0), By: rawTracepoint}}
	hidContextUses    = uses{{By: syscall}, {From: r(6, 10), Until: r(6, 11), By: typedTypes}, {From: r(6, 11), By: structOpsAny}}
	schedExtIdleUses  = uses{{Until: r(7, 1), By: structOps | tcpCC | tcpCCRelease}, {By: schedExt}, {From: r(6, 18), Until: r(7, 1), By: typedTypes | tracepoint | perfEvent}, {From: r(7, 0), Until: r(7, 1), By: rawTracepoint}, {From: r(6, 18), By: syscall}}
	// congestionUses: before kfuncs were registered by program type, the set was only for TCP
	// congestion control.
	congestionUses = uses{{Until: r(5, 18), By: tcpCCAny}, {From: r(5, 18), By: structOpsAny}}
)
