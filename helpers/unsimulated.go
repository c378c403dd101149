package helpers

// Unsimulated is a kfunc of a kernel that is not simulated.
type Unsimulated struct{ Name, Why string }

// Why kfuncs are not simulated.
const (
	kernelTest  = "for the kernel's own tests, which attach to it or call it in BPF_PROG_TEST_RUN"
	kernelCalls = "the kernel adds the call to programs itself; the call of a program is refused"
	bbrModel    = "of the module tcp_bbr: the model of the path that BBR keeps in the socket is not simulated"
	dctcpState  = "of the module tcp_dctcp: its state in the socket is a type of the module's BTF"
)

// unsimulated lists, by name, every kfunc of the table of prototypes and of the newest kernel's BTF that has no implementation.
// TestEveryKfunc holds it.
var unsimulated = []Unsimulated{
	{"bbr_cwnd_event", bbrModel},
	{"bbr_cwnd_event_tx_start", bbrModel},
	{"bbr_init", bbrModel},
	{"bbr_main", bbrModel},
	{"bbr_min_tso_segs", bbrModel},
	{"bbr_set_state", bbrModel},
	{"bbr_sndbuf_expand", bbrModel},
	{"bbr_ssthresh", bbrModel},
	{"bbr_undo_cwnd", bbrModel},
	{"bpf_fentry_test1", kernelTest},
	{"bpf_get_lowcore", "of s390 alone: the lowcore is memory of the processor, which is not simulated"},
	{"bpf_kfunc_call_memb_release", kernelTest},
	{"bpf_kfunc_call_test_release", kernelTest},
	{"bpf_modify_return_test", kernelTest},
	{"bpf_modify_return_test2", kernelTest},
	{"bpf_modify_return_test_tp", kernelTest},
	{"bpf_qdisc_init_prologue", kernelCalls},
	{"bpf_qdisc_reset_destroy_epilogue", kernelCalls},
	{"bpf_xdp_flow_lookup", "of the module nf_flow_table: flow tables are not simulated"},
	{"dctcp_cwnd_event", dctcpState},
	{"dctcp_cwnd_event_tx_start", dctcpState},
	{"dctcp_cwnd_undo", dctcpState},
	{"dctcp_init", dctcpState},
	{"dctcp_ssthresh", dctcpState},
	{"dctcp_state", dctcpState},
	{"dctcp_update_alpha", dctcpState},
	{"hid_bpf_attach_prog", "attaches a program while the syscall program runs: the programs of a HID device are those of the object"},
}

// UnsimulatedKfuncs returns the kfuncs that are refused by name, sorted by name.
func UnsimulatedKfuncs() []Unsimulated { return unsimulated }
