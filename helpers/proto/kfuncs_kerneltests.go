package proto

import "slices"

// kernelTestKfuncs are kfuncs for the kernel's own tests (net/bpf/test_run.c
// test_sk_check_kfunc_ids). From 6.5 on most are in a module of the selftests.
var kernelTestKfuncs = []Kfunc{
	{Name: "bpf_kfunc_call_int_mem_release", Topic: "kernel tests", Since: r(6, 1), Until: r(6, 5), Flags: ReleaseArg, Uses: kernelTestUses},
	{Name: "bpf_kfunc_call_memb1_release", Topic: "kernel tests", Since: r(5, 19), Until: r(6, 5), Flags: ReleaseArg, Uses: kernelTestUses},
	{Name: "bpf_kfunc_call_memb_acquire", Topic: "kernel tests", Since: r(5, 19), Until: r(6, 5), Flags: Acquire | ReturnsNull, Uses: kernelTestUses},
	{Name: "bpf_kfunc_call_memb_release", Topic: "kernel tests", Since: r(5, 18), Flags: ReleaseArg, Uses: kernelTestUses},
	{Name: "bpf_kfunc_call_test1", Topic: "kernel tests", Since: r(5, 13), Until: r(6, 5), Uses: kernelTestUses},
	{Name: "bpf_kfunc_call_test2", Topic: "kernel tests", Since: r(5, 13), Until: r(6, 5), Uses: kernelTestUses},
	{Name: "bpf_kfunc_call_test3", Topic: "kernel tests", Since: r(5, 13), Until: r(6, 5), Uses: kernelTestUses},
	{Name: "bpf_kfunc_call_test4", Topic: "kernel tests", Since: r(6, 3), Until: r(6, 5), Uses: kernelTestUses},
	{Name: "bpf_kfunc_call_test_acq_rdonly_mem", Topic: "kernel tests", Since: r(6, 1), Until: r(6, 5), Flags: Acquire | ReturnsNull, Uses: kernelTestUses},
	{Name: "bpf_kfunc_call_test_acquire", Topic: "kernel tests", Since: r(5, 18), Until: r(6, 5), Flags: Acquire | ReturnsNull, Uses: kernelTestUses},
	{Name: "bpf_kfunc_call_test_destructive", Topic: "kernel tests", Since: r(6, 1), Until: r(6, 5), Flags: Destructive, Uses: kernelTestUses},
	{Name: "bpf_kfunc_call_test_fail1", Topic: "kernel tests", Since: r(5, 18), Until: r(6, 5), Uses: kernelTestUses},
	{Name: "bpf_kfunc_call_test_fail2", Topic: "kernel tests", Since: r(5, 18), Until: r(6, 5), Uses: kernelTestUses},
	{Name: "bpf_kfunc_call_test_fail3", Topic: "kernel tests", Since: r(5, 18), Until: r(6, 5), Uses: kernelTestUses},
	{Name: "bpf_kfunc_call_test_get_rdonly_mem", Topic: "kernel tests", Since: r(6, 1), Until: r(6, 5), Flags: ReturnsNull, Uses: kernelTestUses},
	{Name: "bpf_kfunc_call_test_get_rdwr_mem", Topic: "kernel tests", Since: r(6, 1), Until: r(6, 5), Flags: ReturnsNull, Uses: kernelTestUses},
	{Name: "bpf_kfunc_call_test_kptr_get", Topic: "kernel tests", Since: r(5, 19), Until: r(6, 4), Flags: Acquire | ReturnsNull | KptrGet, Uses: kernelTestUses},
	{Name: "bpf_kfunc_call_test_mem_len_fail1", Topic: "kernel tests", Since: r(5, 18), Until: r(6, 5), Uses: kernelTestUses},
	{Name: "bpf_kfunc_call_test_mem_len_fail2", Topic: "kernel tests", Since: r(5, 18), Until: r(6, 5), Uses: kernelTestUses},
	{Name: "bpf_kfunc_call_test_mem_len_pass1", Topic: "kernel tests", Since: r(5, 18), Until: r(6, 5), Uses: kernelTestUses},
	{Name: "bpf_kfunc_call_test_offset", Topic: "kernel tests", Since: r(6, 4), Until: r(6, 5), Uses: kernelTestUses},
	{Name: "bpf_kfunc_call_test_pass1", Topic: "kernel tests", Since: r(5, 18), Until: r(6, 5), Uses: kernelTestUses},
	{Name: "bpf_kfunc_call_test_pass2", Topic: "kernel tests", Since: r(5, 18), Until: r(6, 5), Uses: kernelTestUses},
	{Name: "bpf_kfunc_call_test_pass_ctx", Topic: "kernel tests", Since: r(5, 18), Until: r(6, 5), Uses: kernelTestUses},
	{Name: "bpf_kfunc_call_test_ref", Topic: "kernel tests", Since: r(6, 0), Until: r(6, 5), Flags: TrustedArgs, Later: later{{r(6, 4), TrustedArgs | RCU}}, Uses: kernelTestUses},
	{Name: "bpf_kfunc_call_test_release", Topic: "kernel tests", Since: r(5, 18), Flags: ReleaseArg, Uses: kernelTestUses},
	{Name: "bpf_kfunc_call_test_static_unused_arg", Topic: "kernel tests", Since: r(6, 3), Until: r(6, 5), Uses: kernelTestUses},
}

// onlyTraced are functions that kernels tag as kfuncs because programs may change their result
// (bpf_test_modify_return_ids); no program may call them.
var onlyTraced = []string{"bpf_fentry_test1", "bpf_modify_return_test", "bpf_modify_return_test2", "bpf_modify_return_test_tp"}

// OnlyTraced reports whether a function that is tagged as a kfunc is there to be traced: no program
// may call it.
func OnlyTraced(name string) bool { return slices.Contains(onlyTraced, name) }
