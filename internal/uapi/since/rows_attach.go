package since

var attachRows = [...]Row{
	{"MultiAttach", v7_2, nil, Source, "check_attach_btf_id",
		"tracing programs that are attached to many functions later"},
	{"FaultableTracepoints", v7_2, nil, Source, "bpf_check_attach_target",
		"programs that may sleep attach to tracepoints of system calls only"},
	{"TracepointParamNames", v6_12, []Update{{v6_11, 11}}, Source, "bpf_check_attach_target",
		"arguments of tracepoints have the names and suffixes of the tracepoint's declaration"},
	{"NoreturnTargets", v6_15, []Update{{v6_6, 89}, {v6_12, 26}}, Source, "check_attach_btf_id",
		"programs do not attach to the return of functions that never return"},
	{"StructArgs", v6_1, nil, Source, "btf_distill_func_proto",
		"functions that take structs by value can be traced"},
	{"WideReturns", v7_2, []Update{{v6_12, 114}}, Source, "check_attach_btf_id",
		"programs do not attach to the return of functions that return more than 8 bytes"},
	{"SyscallInjection", v7_1, nil, Source, "check_attach_modify_return",
		"entries of system calls allow fmod_ret without error injection"},
	{"ModifyReturnTests", v6_2, nil, Source, "check_attach_modify_return",
		"bpf_modify_return_test allows fmod_ret without error injection"},
	{"FentryTestInjectable", v5_18, nil, Source, "check_attach_modify_return",
		"bpf_fentry_test1 allows fmod_ret"},
	{"NestedTracing", v6_8, nil, Source, "bpf_check_attach_target",
		"tracing programs can trace tracing programs, one level deep"},
}
