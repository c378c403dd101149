package helpers

// Unsimulated is a kfunc of a kernel that is not simulated.
type Unsimulated struct{ Name, Why string }

// Why kfuncs are not simulated.
const (
	kernelTest  = "for the kernel's own tests, which attach to it or call it in BPF_PROG_TEST_RUN"
	kernelCalls = "the kernel adds the call to programs itself; the call of a program is refused"
	beforeRCU   = "only Linux 6.2 and 6.3 have it; from 6.4 on programs load the kptr in an RCU section"
)

// unsimulated lists, by name, every kfunc of the table of prototypes and of the newest kernel's BTF
// that has no implementation. TestEveryKfunc holds it.
var unsimulated = []Unsimulated{
	{"bpf_cgroup_kptr_get", beforeRCU},
	{"bpf_cpumask_kptr_get", beforeRCU},
	{"bpf_fentry_test1", kernelTest},
	{"bpf_kfunc_call_int_mem_release", kernelTest},
	{"bpf_kfunc_call_memb1_release", kernelTest},
	{"bpf_kfunc_call_memb_acquire", kernelTest},
	{"bpf_kfunc_call_memb_release", kernelTest},
	{"bpf_kfunc_call_test1", kernelTest},
	{"bpf_kfunc_call_test2", kernelTest},
	{"bpf_kfunc_call_test3", kernelTest},
	{"bpf_kfunc_call_test4", kernelTest},
	{"bpf_kfunc_call_test_acq_rdonly_mem", kernelTest},
	{"bpf_kfunc_call_test_acquire", kernelTest},
	{"bpf_kfunc_call_test_destructive", kernelTest},
	{"bpf_kfunc_call_test_fail1", kernelTest},
	{"bpf_kfunc_call_test_fail2", kernelTest},
	{"bpf_kfunc_call_test_fail3", kernelTest},
	{"bpf_kfunc_call_test_get_rdonly_mem", kernelTest},
	{"bpf_kfunc_call_test_get_rdwr_mem", kernelTest},
	{"bpf_kfunc_call_test_kptr_get", kernelTest},
	{"bpf_kfunc_call_test_mem_len_fail1", kernelTest},
	{"bpf_kfunc_call_test_mem_len_fail2", kernelTest},
	{"bpf_kfunc_call_test_mem_len_pass1", kernelTest},
	{"bpf_kfunc_call_test_offset", kernelTest},
	{"bpf_kfunc_call_test_pass1", kernelTest},
	{"bpf_kfunc_call_test_pass2", kernelTest},
	{"bpf_kfunc_call_test_pass_ctx", kernelTest},
	{"bpf_kfunc_call_test_ref", kernelTest},
	{"bpf_kfunc_call_test_release", kernelTest},
	{"bpf_kfunc_call_test_static_unused_arg", kernelTest},
	{"bpf_modify_return_test", kernelTest},
	{"bpf_modify_return_test2", kernelTest},
	{"bpf_modify_return_test_tp", kernelTest},
	{"bpf_qdisc_init_prologue", kernelCalls},
	{"bpf_qdisc_reset_destroy_epilogue", kernelCalls},
	{"bpf_task_kptr_get", beforeRCU},
	{"hid_bpf_attach_prog", "attaches a program while the syscall program runs: the programs of a HID device are those of the object"},
}

// UnsimulatedKfuncs returns the kfuncs that are refused by name, sorted by name.
func UnsimulatedKfuncs() []Unsimulated { return unsimulated }
