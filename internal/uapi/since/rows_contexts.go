package since

// contextRows are about which programs can run in the middle of others on one CPU.
var contextRows = [...]Row{
	{"MigrateDisable", v5_11, nil, Source, "migrate_disable",
		"programs run with migration disabled: preemptible kernels can switch to another task in the middle of one"},
	{"PreemptLazy", v6_13, nil, Source, "preempt_schedule",
		"CONFIG_PREEMPT_LAZY: kernels that prefer throughput are preemptible too"},
	{"TrampolineGuard", v5_12, nil, Source, "__bpf_prog_enter_recur",
		"a program at the entry or the return of a function is not entered again on the same CPU, and the event counts as missed"},
	{"RawTracepointGuard", v6_1, []Update{{v6_0, 10}}, Source, "__bpf_trace_run",
		"nor is a program at a raw tracepoint"},
	{"LSMUnguarded", v6_2, []Update{{v6_1, 54}}, Source, "bpf_prog_check_recur",
		"LSM programs have no such guard"},
	{"TimersFreedInWork", v6_10, []Update{{v6_1, 0}, {v6_9, 10}}, Source, "bpf_timer_cancel_and_free",
		"a timer's callback that deletes an element does not wait for the callback of that element's timer, and one that cancels a timer whose callback cancels its own gets -EDEADLK"},
	{"TimersFreedLater", v7_0, nil, Source, "bpf_async_cancel_and_free",
		"nobody who deletes an element waits for the callback of its timer"},
	{"UprobeUnguarded", v6_0, nil, Source, "bpf_prog_run_array_uprobe",
		"programs at uprobes have no guard, and can be preempted"},
	{"TracepointPreemptible", v7_0, nil, Source, "__DECLARE_TRACE",
		"programs at raw tracepoints can be preempted, except at those of system calls"},
	{"SyscallTracepointPreemptible", v7_2, nil, Source, "trace_call_bpf_faultable",
		"programs at tracepoints of system calls can be preempted, and each has a guard of its own"},
}
