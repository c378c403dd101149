package since

// contextRows are about which programs can run in the middle of others on one CPU.
var contextRows = [...]Row{
	{"MigrateDisable", v5_15, nil, Memory, "migrate_disable",
		"programs run with migration disabled: preemptible kernels can switch to another task in the middle of one"},
	{"PreemptLazy", v6_13, nil, Memory, "preempt_schedule",
		"CONFIG_PREEMPT_LAZY: kernels that prefer throughput are preemptible too"},
	{"TrampolineGuard", v5_12, nil, Memory, "__bpf_prog_enter_recur",
		"a program at the entry or the return of a function is not entered again on the same CPU, and the event counts as missed"},
	{"RawTracepointGuard", v6_1, nil, Memory, "__bpf_trace_run",
		"nor is a program at a raw tracepoint"},
	{"LSMUnguarded", v6_2, nil, Memory, "bpf_prog_check_recur",
		"LSM programs have no such guard"},
	{"TimersFreedLater", v6_10, nil, Memory, "bpf_timer_cancel_and_free",
		"whoever deletes an element does not wait for the callback of its timer, and a callback that cancels one which cancels its own gets -EDEADLK"},
	{"UprobeUnguarded", v6_0, nil, Memory, "bpf_prog_run_array_uprobe",
		"programs at uprobes have no guard, and can be preempted"},
	{"TracepointPreemptible", v7_0, nil, Memory, "__DECLARE_TRACE",
		"programs at raw tracepoints can be preempted"},
}
