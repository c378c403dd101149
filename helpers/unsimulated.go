package helpers

// Unsimulated is a kfunc of a kernel that is not simulated.
type Unsimulated struct{ Name, Why string }

// Why kfuncs are not simulated.
const (
	kernelTest  = "for the kernel's own tests, which attach to it or call it in BPF_PROG_TEST_RUN"
	kernelCalls = "the kernel adds the call to programs itself; the call of a program is refused"
)

// unsimulated lists, by name, every kfunc of the table of prototypes and of the newest kernel's BTF
// that has no implementation. TestEveryKfunc holds it.
var unsimulated = []Unsimulated{
	{"bpf_fentry_test1", kernelTest},
	{"bpf_kfunc_call_memb_release", kernelTest},
	{"bpf_kfunc_call_test_release", kernelTest},
	{"bpf_modify_return_test", kernelTest},
	{"bpf_modify_return_test2", kernelTest},
	{"bpf_modify_return_test_tp", kernelTest},
	{"bpf_qdisc_init_prologue", kernelCalls},
	{"bpf_qdisc_reset_destroy_epilogue", kernelCalls},
	{"hid_bpf_attach_prog", "attaches a program while the syscall program runs: the programs of a HID device are those of the object"},
}

// UnsimulatedKfuncs returns the kfuncs that are refused by name, sorted by name.
func UnsimulatedKfuncs() []Unsimulated { return unsimulated }
