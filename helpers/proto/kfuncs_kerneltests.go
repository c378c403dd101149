package proto

import "slices"

// kernelTestKfuncs are kfuncs for the kernel's own tests (net/bpf/test_run.c
// test_sk_check_kfunc_ids; kernel/bpf/helpers.c common_btf_ids).
var kernelTestKfuncs = []Kfunc{
	{Name: "bpf_kfunc_call_memb_release", Topic: "kernel tests", Since: r(5, 18), Flags: ReleaseArg, Uses: kernelTestUses},
	{Name: "bpf_kfunc_call_test_release", Topic: "kernel tests", Since: r(5, 18), Flags: ReleaseArg, Uses: kernelTestUses},
}

// onlyTraced are functions that kernels tag as kfuncs because programs may change their result
// (bpf_test_modify_return_ids); no program may call them.
var onlyTraced = []string{"bpf_fentry_test1", "bpf_modify_return_test", "bpf_modify_return_test2", "bpf_modify_return_test_tp"}

// OnlyTraced reports whether a function that is tagged as a kfunc is there to be traced: no program
// may call it.
func OnlyTraced(name string) bool { return slices.Contains(onlyTraced, name) }
