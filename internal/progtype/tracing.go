package progtype

import (
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Releases that several rows use.
var (
	v510 = uapi.R(5, 10) // the oldest release that the table distinguishes
	v512 = uapi.R(5, 12)
	v60  = uapi.R(6, 0)
	v611 = uapi.R(6, 11)
	v72  = uapi.R(7, 2)
)

// tracingRows lists the program types that trace the kernel or user programs, and those that extend
// the kernel.
var tracingRows = []Row{
	{
		Type: uapi.ProgTypeKprobe, Runs: probes, Chain: AllRun, Needs: Perfmon, Standard: true, Since: uapi.R(4, 1),
		Sections: []Section{
			{Name: "kprobe", Flags: HasTarget}, {Name: "kretprobe", Flags: HasTarget | AtReturn},
			{Name: "uprobe", Flags: HasTarget | User}, {Name: "uprobe.s", Flags: HasTarget | User | Sleeps},
			{Name: "uretprobe", Flags: HasTarget | User | AtReturn}, {Name: "uretprobe.s", Flags: HasTarget | User | AtReturn | Sleeps},
			{Name: "kprobe.multi", Attach: uapi.AttachTraceKprobeMulti, Flags: HasTarget | Pattern},
			{Name: "kretprobe.multi", Attach: uapi.AttachTraceKprobeMulti, Flags: HasTarget | Pattern | AtReturn},
			{Name: "kprobe.session", Attach: uapi.AttachTraceKprobeSession, Flags: HasTarget | Pattern | Session},
			{Name: "uprobe.multi", Attach: uapi.AttachTraceUprobeMulti, Flags: HasTarget | User | Pattern},
			{Name: "uretprobe.multi", Attach: uapi.AttachTraceUprobeMulti, Flags: HasTarget | User | Pattern | AtReturn},
			{Name: "uprobe.session", Attach: uapi.AttachTraceUprobeSession, Flags: HasTarget | User | Pattern | Session},
			{Name: "uprobe.multi.s", Attach: uapi.AttachTraceUprobeMulti, Flags: HasTarget | User | Pattern | Sleeps},
			{Name: "uretprobe.multi.s", Attach: uapi.AttachTraceUprobeMulti, Flags: HasTarget | User | Pattern | AtReturn | Sleeps},
			{Name: "uprobe.session.s", Attach: uapi.AttachTraceUprobeSession, Flags: HasTarget | User | Pattern | Session | Sleeps},
			{Name: "ksyscall", Flags: HasTarget | SyscallName}, {Name: "kretsyscall", Flags: HasTarget | SyscallName | AtReturn},
			{Name: "usdt", Flags: HasTarget | User | Marker}, {Name: "usdt.s", Flags: HasTarget | User | Marker | Sleeps},
		},
		Attaches: []Attach{
			{Type: uapi.AttachPerfEvent, Since: uapi.R(5, 15)},
			{Type: uapi.AttachTraceKprobeMulti, Since: uapi.R(5, 18)},
			{Type: uapi.AttachTraceUprobeMulti, Since: uapi.R(6, 6)},
			{Type: uapi.AttachTraceKprobeSession, Since: uapi.R(6, 10), Returns: []Return{{Since: v611, Range: Range{High: 1}}}},
			{Type: uapi.AttachTraceUprobeSession, Since: uapi.R(6, 13), Returns: from(0, 1)},
		},
		Takes: TakesCookie | TakesTarget, Target: Probe, Context: regsContext,
		// Only uprobes may store to the context; the kernel refuses to attach programs with stores
		// to kernel functions.
		Access: Access{Writes: uapi.R(6, 19)}, // 6.18.44 refuses stores
		Args:   NumberArgs, Returns: anyReturn, Sleepable: Sleepable{Since: v60}, PrivateStack: true,
	},
	{
		Type: uapi.ProgTypeTracepoint, Runs: tracepoints, Chain: AllRun, Needs: Perfmon, Since: uapi.R(4, 7),
		Sections: []Section{
			{Name: "tracepoint", Flags: HasTarget}, {Name: "tp", Flags: HasTarget},
			{Name: "tracepoint.s", Flags: HasTarget | Sleeps}, {Name: "tp.s", Flags: HasTarget | Sleeps},
		},
		Attaches: []Attach{{Type: uapi.AttachPerfEvent, Since: uapi.R(5, 15)}},
		Takes:    TakesCookie | TakesTarget, Target: Tracepoint, Context: recordContext,
		Args: NumberArgs, Returns: anyReturn, Sleepable: Sleepable{Since: v72}, PrivateStack: true,
	},
	{
		Type: uapi.ProgTypePerfEvent, Runs: nmi, Chain: AllRun, Needs: Perfmon, Standard: true, Since: uapi.R(4, 9),
		Sections: []Section{{Name: "perf_event"}},
		Attaches: []Attach{{Type: uapi.AttachPerfEvent, Since: uapi.R(5, 15)}},
		Takes:    TakesCookie | TakesSample, Context: sampleContext,
		Args: NumberArgs, Returns: anyReturn, PrivateStack: true,
	},
	{
		Type: uapi.ProgTypeRawTracepoint, Runs: []Place{rawTracepoints}, Chain: AllRun, Needs: Perfmon, Since: uapi.R(4, 17),
		Sections: []Section{
			{Name: "raw_tracepoint", Flags: HasTarget}, {Name: "raw_tp", Flags: HasTarget},
			{Name: "raw_tracepoint.s", Flags: HasTarget | Sleeps}, {Name: "raw_tp.s", Flags: HasTarget | Sleeps},
		},
		Takes: TakesCookie | TakesTarget | TakesBytes, Target: RawEvent, Context: numberContext,
		Args: NumberArgs, Returns: anyReturn, Sleepable: Sleepable{Since: v72}, PrivateStack: true, TestRun: true,
	},
	{
		Type: uapi.ProgTypeRawTracepointWritable, Runs: []Place{rawTracepoints}, Chain: AllRun, Needs: Perfmon, Since: uapi.R(5, 2),
		Sections: []Section{{Name: "raw_tracepoint.w", Flags: HasTarget}, {Name: "raw_tp.w", Flags: HasTarget}},
		Takes:    TakesCookie | TakesTarget, Target: RawEvent, Context: numberContext,
		Args: NumberArgs, Returns: anyReturn,
	},
	{
		Type: uapi.ProgTypeTracing, Runs: tracing, Chain: AllRun, Needs: Perfmon, Since: uapi.R(5, 5),
		Sections: []Section{
			{Name: "tp_btf", Attach: uapi.AttachTraceRawTp, Flags: HasTarget},
			{Name: "tp_btf.s", Attach: uapi.AttachTraceRawTp, Flags: HasTarget | Sleeps},
			{Name: "fentry", Attach: uapi.AttachTraceFentry, Flags: HasTarget},
			{Name: "fentry.s", Attach: uapi.AttachTraceFentry, Flags: HasTarget | Sleeps},
			{Name: "fexit", Attach: uapi.AttachTraceFexit, Flags: HasTarget | AtReturn},
			{Name: "fexit.s", Attach: uapi.AttachTraceFexit, Flags: HasTarget | AtReturn | Sleeps},
			{Name: "fmod_ret", Attach: uapi.AttachModifyReturn, Flags: HasTarget | AtReturn},
			{Name: "fmod_ret.s", Attach: uapi.AttachModifyReturn, Flags: HasTarget | AtReturn | Sleeps},
			{Name: "fsession", Attach: uapi.AttachTraceFsession, Flags: HasTarget | AtReturn | Session},
			{Name: "fsession.s", Attach: uapi.AttachTraceFsession, Flags: HasTarget | AtReturn | Session | Sleeps},
			{Name: "fsession.multi", Attach: uapi.AttachTraceFsessionMulti, Flags: HasTarget | AtReturn | Session | Pattern},
			{Name: "fsession.multi.s", Attach: uapi.AttachTraceFsessionMulti, Flags: HasTarget | AtReturn | Session | Pattern | Sleeps},
			{Name: "fentry.multi", Attach: uapi.AttachTraceFentryMulti, Flags: HasTarget | Pattern},
			{Name: "fentry.multi.s", Attach: uapi.AttachTraceFentryMulti, Flags: HasTarget | Pattern | Sleeps},
			{Name: "fexit.multi", Attach: uapi.AttachTraceFexitMulti, Flags: HasTarget | AtReturn | Pattern},
			{Name: "fexit.multi.s", Attach: uapi.AttachTraceFexitMulti, Flags: HasTarget | AtReturn | Pattern | Sleeps},
			{Name: "iter", Attach: uapi.AttachTraceIter, Flags: HasTarget},
			{Name: "iter.s", Attach: uapi.AttachTraceIter, Flags: HasTarget | Sleeps},
		},
		Attach: uapi.AttachTraceFentry,
		Attaches: []Attach{
			{Type: uapi.AttachTraceRawTp, Since: uapi.R(5, 5), Target: RawEvent, Returns: anyReturn, Sleepable: &Sleepable{Since: v72, Unchecked: uapi.R(6, 3)}},
			{Type: uapi.AttachTraceFentry, Since: uapi.R(5, 5)},
			{Type: uapi.AttachTraceFexit, Since: uapi.R(5, 5), Return: true},
			{Type: uapi.AttachModifyReturn, Since: uapi.R(5, 7), Return: true, Modifies: true, Returns: anyReturn},
			{Type: uapi.AttachTraceIter, Since: uapi.R(5, 8), Target: Iterator, Returns: from(0, 1), Sleepable: &Sleepable{Since: v60, Unchecked: v60}, NoPrivateStack: true},
			{Type: uapi.AttachTraceFsession, Since: uapi.R(7, 0), Return: true, Sleepable: &Sleepable{Since: uapi.R(7, 0), Unchecked: uapi.R(6, 3)}},
			{Type: uapi.AttachTraceFentryMulti, Since: v72, Target: Functions, Sleepable: &Sleepable{Since: v72, Unchecked: uapi.R(6, 3)}},
			{Type: uapi.AttachTraceFexitMulti, Since: v72, Target: Functions, Return: true, Sleepable: &Sleepable{Since: v72, Unchecked: uapi.R(6, 3)}},
			{Type: uapi.AttachTraceFsessionMulti, Since: v72, Target: Functions, Return: true, Sleepable: &Sleepable{Since: v72, Unchecked: uapi.R(6, 3)}},
		},
		Takes: TakesCookie | TakesTarget, Target: Function, Context: argsContext,
		Args: PointerArgs, Returns: from(0, 0), Sleepable: Sleepable{Since: v510}, PrivateStack: true,
	},
	{
		Type: uapi.ProgTypeLSM, Runs: lsmHooks, Chain: UntilError, Needs: Perfmon, Vocabulary: ErrorNames, Since: uapi.R(5, 7),
		Sections: []Section{
			{Name: "lsm", Attach: uapi.AttachLSMMac, Flags: HasTarget}, {Name: "lsm.s", Attach: uapi.AttachLSMMac, Flags: HasTarget | Sleeps},
			{Name: "lsm_cgroup", Attach: uapi.AttachLSMCgroup, Flags: HasTarget},
		},
		Attach: uapi.AttachLSMMac,
		Attaches: []Attach{
			{Type: uapi.AttachLSMMac, Since: uapi.R(5, 7)},
			{Type: uapi.AttachLSMCgroup, Since: v60, Returns: []Return{{Range: Range{High: 1}, By: ByCgroupLSM}}, Sleepable: &Sleepable{}},
		},
		Takes: TakesCookie | TakesTarget, Target: LSMHook, Context: argsContext,
		Args: PointerArgs, Returns: []Return{{Range: anything}, {Since: v611, Range: Range{Low: -maxErrno, Word: true}, By: ByLSMHook}},
		// LSM programs have no recursion protection, which private stacks require.
		Sleepable: Sleepable{Since: v510}, GPL: true,
	},
	{
		Type: uapi.ProgTypeStructOps, Needs: Perfmon, Since: uapi.R(5, 6),
		Sections: []Section{{Name: "struct_ops", Flags: HasTarget}, {Name: "struct_ops.s", Flags: HasTarget | Sleeps}},
		Attaches: []Attach{{Type: uapi.AttachStructOps, Since: uapi.R(6, 4)}},
		Takes:    TakesTarget, Target: OpsMember, Context: argsContext,
		// Private stacks are opt-in for struct_ops; only sched_ext requests them.
		Args: PointerArgs, Returns: []Return{{Range: anything}, {Since: uapi.R(6, 15), By: ByOpsMember}},
		Sleepable: Sleepable{Since: uapi.R(6, 3)}, GPL: true,
	},
	{
		Type: uapi.ProgTypeExt, Needs: NetAdmin | Perfmon, Since: uapi.R(5, 6),
		Sections: []Section{{Name: "freplace", Flags: HasTarget}},
		Takes:    TakesTarget, Target: OtherProgram, Context: noContext, Returns: anyReturn,
	},
	{
		Type: uapi.ProgTypeSyscall, Runs: inTasks("bpf_prog_test_run_syscall"), Since: uapi.R(5, 14),
		Sections: []Section{{Name: "syscall", Flags: Sleeps}},
		Takes:    TakesBytes, Context: bytesContext, Access: Access{Writes: uapi.R(5, 14)},
		Returns: anyReturn, Sleepable: Sleepable{Since: uapi.R(5, 14), Always: true}, TestRun: true,
	},
	{
		Type: uapi.ProgTypeLircMode2, Chain: AllRun, Since: uapi.R(4, 18),
		Sections: []Section{{Name: "lirc_mode2", Attach: uapi.AttachLircMode2}},
		Attach:   uapi.AttachLircMode2, Attaches: []Attach{{Type: uapi.AttachLircMode2, Since: uapi.R(4, 18)}},
		Context: lircContext, Returns: anyReturn,
	},
}

// TracesMany reports whether tracing programs of an attach type are attached to many functions by
// one link, and are verified without knowing which (is_tracing_multi).
func TracesMany(a uapi.AttachType) bool {
	at := Of(uapi.ProgTypeTracing).Attached(a)
	return at != nil && at.Target == Functions
}
