package progtype

import (
	"slices"
	"strings"
)

// HookPlace narrows where programs of tracing types run: not every function and tracepoint is reached in interrupts.
type HookPlace struct {
	// Tracepoint says what the names are; they are prefixes if they end in "*".
	Tracepoint bool
	Names      []string
	// Task, SoftIRQ and HardIRQ are where the kernel gets there.
	Task, SoftIRQ, HardIRQ bool
	// Masked means that interrupts are disabled there, so that only an NMI comes in between.
	Masked bool
}

// HookPlaces are the hooks that are known, the first that fits. Those that are not listed are reached anywhere.
var HookPlaces = []HookPlace{
	{Tracepoint: true, Task: true, Names: []string{
		"sched_process_fork", "sched_process_exec", "sched_process_exit", "sys_enter", "sys_exit", "sys_enter_*", "sys_exit_*", "task_newtask", "task_rename",
		"cgroup_attach_task", "cgroup_mkdir", "cgroup_rmdir", "cgroup_release", "module_load", "module_free", "mark_victim", "signal_deliver",
	}},
	{Tracepoint: true, Task: true, Masked: true, Names: []string{"sched_switch"}},
	{Tracepoint: true, Task: true, SoftIRQ: true, HardIRQ: true, Masked: true, Names: []string{"sched_wakeup", "sched_wakeup_new", "sched_waking", "sched_migrate_task"}},
	{Tracepoint: true, HardIRQ: true, Masked: true, Names: []string{"irq_handler_entry", "irq_handler_exit", "hrtimer_expire_entry", "hrtimer_expire_exit"}},
	{Tracepoint: true, SoftIRQ: true, Names: []string{"sched_process_free", "xdp_*", "napi_poll", "softirq_entry", "softirq_exit", "netif_receive_skb"}},
	{Task: true, SoftIRQ: true, Names: []string{"security_sk_*", "security_sock_rcv_skb", "security_inet_conn_*", "security_xfrm_*", "security_secid_*", "security_skb_*"}},
	{HardIRQ: true, SoftIRQ: true, Task: true, Names: []string{"do_IRQ", "do_error_trap", "do_idle", "do_timer", "do_nmi"}},
	{SoftIRQ: true, Names: []string{"do_softirq*"}},
	{Task: true, Names: []string{
		"__x64_sys_*", "__ia32_sys_*", "__arm64_sys_*", "__se_sys_*", "ksys_*", "vfs_*", "security_*", "do_*", "__do_sys_*", "filp_*", "path_*", "chmod_common", "chown_common",
		"mnt_*", "shmem_file_setup", "hugetlb_file_setup", "memfd_*", "tty_write", "disassociate_ctty", "commit_creds", "wake_up_new_task", "taskstats_exit", "begin_new_exec",
		"bprm_*", "exec_*", "tcp_sendmsg", "tcp_recvmsg", "tcp_cleanup_rbuf", "tcp_v4_connect", "tcp_v6_connect", "udp_sendmsg", "udpv6_sendmsg", "udp_recvmsg", "inet_csk_accept",
		"inet_bind", "inet6_bind", "inet_listen", "sock_sendmsg", "sock_recvmsg", "__sys_*", "load_elf_*",
	}},
}

// At narrows the place of a program that traces the kernel by its hook: a function, or "category/name" of a tracepoint. masked means that interrupts are
// disabled there.
func (p Place) At(section, hook string) (out Place, masked bool) {
	if !p.hooked {
		return p, false
	}
	kind, _, _ := strings.Cut(section, "/")
	tracepoint := slices.Contains([]string{"tp", "tracepoint", "raw_tp", "raw_tp.w", "raw_tracepoint", "raw_tracepoint.w", "tp_btf"}, kind)
	hook = hook[strings.LastIndexByte(hook, '/')+1:]
	for _, h := range HookPlaces {
		if h.Tracepoint == tracepoint && slices.ContainsFunc(h.Names, func(n string) bool { return fits(n, hook) }) {
			p.Task, p.SoftIRQ, p.HardIRQ = p.Task && h.Task, p.SoftIRQ && h.SoftIRQ, p.HardIRQ && h.HardIRQ
			return p, h.Masked
		}
	}
	return p, false
}

// fits reports whether a hook has a name, or begins with one that ends in "*".
func fits(name, hook string) bool {
	prefix, begins := strings.CutSuffix(name, "*")
	return name == hook || begins && strings.HasPrefix(hook, prefix)
}
