package progtype

import (
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// HookPlace narrows where programs of tracing types run: not every function and tracepoint is
// reached in interrupts.
type HookPlace struct {
	// Tracepoint says what the names are; they are prefixes if they end in "*".
	Tracepoint bool
	Names      []string
	// Task, SoftIRQ and HardIRQ are where the kernel gets there.
	Task, SoftIRQ, HardIRQ bool
	// Masked means that interrupts are disabled there, so that only an NMI comes in between.
	Masked bool
	// SystemCall means that the tracepoint is in a task that may wait there for memory.
	SystemCall bool
	// Assumed means that it is not known where all of them are reached: what is said is that of
	// most.
	Assumed bool
	// By is the function of the kernel that gets there; empty where each name says it.
	By string
}

// HookPlaces are the hooks that are known, the first that fits. The callers of tracepoints, of hooks
// of LSM programs and of functions that are reached outside tasks were read in the sources of Linux
// 6.18; which functions a name with "*" stands for, in the types of Linux 7.2. Of hooks that are not
// listed it is not known: they are taken to be reached anywhere. Hooks of LSM programs are those of
// the functions that call them: security_file_open.
//
// A task that wakes itself reaches sched_waking and sched_wakeup with interrupts enabled
// (try_to_wake_up); that is not among the orders.
var HookPlaces = []HookPlace{
	{Tracepoint: true, Task: true, Names: []string{
		"sched_process_fork", "sched_process_exec", "sched_process_exit", "task_newtask", "task_rename",
		"module_load", "module_free", "mark_victim",
	}},
	{Tracepoint: true, Task: true, Masked: true, By: "under a lock: TRACE_CGROUP_PATH, get_signal", Names: []string{
		"cgroup_attach_task", "cgroup_mkdir", "cgroup_rmdir", "cgroup_release", "signal_deliver",
	}},
	{Tracepoint: true, Task: true, SystemCall: true, Names: []string{"sys_enter", "sys_exit", "sys_enter_*", "sys_exit_*"}},
	{Tracepoint: true, Task: true, Masked: true, Names: []string{"sched_switch"}},
	{Tracepoint: true, Task: true, SoftIRQ: true, HardIRQ: true, Masked: true, Names: []string{"sched_wakeup", "sched_wakeup_new", "sched_waking", "sched_migrate_task"}},
	{Tracepoint: true, HardIRQ: true, Masked: true, Names: []string{"irq_handler_entry", "irq_handler_exit"}},
	{Tracepoint: true, SoftIRQ: true, HardIRQ: true, By: "hrtimer_interrupt, hrtimer_run_softirq", Names: []string{"hrtimer_expire_entry", "hrtimer_expire_exit"}},
	{Tracepoint: true, SoftIRQ: true, Names: []string{"sched_process_free", "xdp_*", "napi_poll", "softirq_entry", "softirq_exit", "netif_receive_skb"}},
	{Task: true, SoftIRQ: true, By: "sk_filter_trim_cap", Names: []string{"security_sock_rcv_skb", "security_socket_sock_rcv_skb"}},
	{Task: true, SoftIRQ: true, By: "tcp_conn_request, tcp_v4_syn_recv_sock", Names: []string{
		"security_inet_conn_*", "security_inet_csk_clone", "security_req_classify_flow", "security_sk_clone", "security_sk_clone_security", "security_sctp_*",
	}},
	{Task: true, SoftIRQ: true, By: "__sk_free, from the completion of sent packets", Names: []string{"security_sk_free", "security_sk_free_security"}},
	{Task: true, SoftIRQ: true, By: "ip_route_output_flow, xfrm_policy_check", Names: []string{"security_sk_classify_flow", "security_sk_getsecid", "security_skb_*", "security_xfrm_*", "security_secmark_*"}},
	{Task: true, SoftIRQ: true, By: "sk_clone, for a new connection", Names: []string{"security_sk_alloc", "security_sk_alloc_security"}},
	{Task: true, SoftIRQ: true, By: "delayed_put_task_struct, after a grace period", Names: []string{"security_task_free"}},
	{Task: true, SoftIRQ: true, By: "put_cred_rcu", Names: []string{"security_cred_free"}},
	{Task: true, SoftIRQ: true, By: "__bpf_prog_put_rcu", Names: []string{"security_bpf_prog_free", "security_bpf_prog_free_security"}},
	{Task: true, SoftIRQ: true, By: "sem_rcu_free, shm_rcu_free, msg_rcu_free", Names: []string{
		"security_sem_free", "security_sem_free_security", "security_shm_free", "security_shm_free_security", "security_msg_queue_free", "security_msg_queue_free_security",
	}},
	{Task: true, SoftIRQ: true, HardIRQ: true, By: "kill_pid_usb_asyncio", Names: []string{"security_task_kill"}},
	{Task: true, SoftIRQ: true, HardIRQ: true, By: "bpf_probe_read_kernel, before Linux 5.13", Names: []string{"security_locked_down"}},
	{SoftIRQ: true, By: "inode_free_by_rcu", Names: []string{"security_inode_free_security_rcu", "security_inode_free_rcu"}},
	{Task: true, SoftIRQ: true, HardIRQ: true, Masked: true, By: "send_sigio", Names: []string{"security_file_send_sigiotask"}},
	{Task: true, SoftIRQ: true, HardIRQ: true, By: "the audit of any of them", Names: []string{"security_secid_*", "security_secctx_*", "security_release_secctx", "security_lsmprop_*"}},
	{Task: true, Names: []string{
		"security_file_alloc", "security_file_alloc_security", "security_file_open", "security_file_post_open", "security_file_permission", "security_file_ioctl", "security_file_mprotect",
		"security_file_lock", "security_file_fcntl", "security_file_receive", "security_file_truncate", "security_mmap_*", "security_inode_*", "security_path_*", "security_dentry_*",
		"security_sb_*", "security_move_mount", "security_bprm_*", "security_task_alloc", "security_task_fix_*", "security_task_set*", "security_task_prctl", "security_task_prlimit",
		"security_cred_prepare", "security_cred_alloc*", "security_ptrace_*", "security_capset", "security_bpf", "security_bpf_map*", "security_bpf_prog*", "security_bpf_token*", "security_kernel_*",
		"security_socket_*", "security_unix_*", "security_netlink_send", "security_sock_graft", "security_msg_*", "security_shm_*", "security_sem_*", "security_ipc_permission", "security_key_*",
		"security_perf_event_open", "security_perf_event_alloc", "security_uring_*", "security_settime*", "security_syslog", "security_quota*", "security_create_user_ns", "security_userns_create",
	}},
	{Assumed: true, Task: true, Names: []string{"security_*"}},
	{HardIRQ: true, SoftIRQ: true, Task: true, By: "exceptions, which come in any of them", Names: []string{
		"do_error_trap", "do_trap*", "do_int3*", "do_user_addr_fault", "do_kern_addr_fault", "do_page_fault", "do_translation_fault", "do_mem_abort", "do_sea", "do_debug_exception",
	}},
	{HardIRQ: true, SoftIRQ: true, Task: true, By: "send_sigio, timers", Names: []string{"do_send_sig_info"}},
	{HardIRQ: true, Masked: true, By: "interrupt entry, tick_do_update_jiffies64", Names: []string{"do_IRQ", "do_timer", "do_nmi"}},
	{Task: true, By: "cpu_startup_entry", Names: []string{"do_idle"}},
	{SoftIRQ: true, By: "__local_bh_enable_ip, irq_exit", Names: []string{"do_softirq*"}},
	{SoftIRQ: true, By: "free_mnt_ns, after a grace period", Names: []string{"mnt_ns_release_rcu"}},
	{Task: true, SoftIRQ: true, By: "tcp_read_sock", Names: []string{"tcp_cleanup_rbuf"}},
	{Task: true, Names: []string{
		"do_sys_*", "do_syscall_*", "do_unlinkat", "do_mkdirat", "do_mknodat", "do_rmdir", "do_renameat2", "do_linkat", "do_symlinkat", "do_readlinkat", "do_filp_open", "do_file_open_root", "do_dentry_open",
		"do_truncate", "do_ftruncate", "do_faccessat", "do_fchmodat", "do_fchownat", "do_fchmod*", "do_fchown*", "do_statx", "do_utimes*", "do_mount*", "do_umount", "do_move_mount*", "do_open_execat", "do_execve*",
		"do_exit", "do_group_exit", "do_coredump", "do_fork", "do_wait", "do_mmap*", "do_munmap", "do_vmi_*", "do_mprotect*", "do_mremap*", "do_brk*", "do_madvise*", "do_futex*", "do_nanosleep", "do_epoll_*", "do_poll*", "do_select",
		"do_readv", "do_writev", "do_preadv", "do_pwritev", "do_iter_*", "do_loop_readv_writev", "do_sendfile", "do_splice*", "do_tee", "do_vmsplice", "do_fcntl", "do_dup2", "do_accept*", "do_tcp_setsockopt", "do_tcp_getsockopt", "do_ip_setsockopt", "do_ip_getsockopt", "do_ipv6_setsockopt", "do_ipv6_getsockopt",
		"do_sock_*", "do_send_specific", "do_sigaction", "do_sigtimedwait", "do_seccomp", "do_prlimit", "do_sched_setscheduler", "do_sched_yield", "do_init_module", "do_mq_*", "do_msg*", "do_sem*", "do_shm*", "do_anonymous_page", "do_wp_page", "do_swap_page", "do_fault*",
		"do_cow_fault", "do_read_fault", "do_shared_fault", "do_task_dead",
	}},
	{Assumed: true, Task: true, Names: []string{"do_*"}},
	{Task: true, Names: []string{
		"__x64_sys_*", "__ia32_sys_*", "__arm64_sys_*", "__se_sys_*", "ksys_*", "vfs_*", "__do_sys_*", "filp_*", "path_*", "chmod_common", "chown_common",
		"mnt_*", "shmem_file_setup", "hugetlb_file_setup", "memfd_*", "tty_write", "disassociate_ctty", "commit_creds", "wake_up_new_task", "taskstats_exit", "begin_new_exec",
		"bprm_*", "exec_*", "tcp_sendmsg", "tcp_recvmsg", "tcp_v4_connect", "tcp_v6_connect", "udp_sendmsg", "udpv6_sendmsg", "udp_recvmsg", "inet_csk_accept",
		"inet_bind", "inet6_bind", "inet_listen", "sock_sendmsg", "sock_recvmsg", "__sys_*", "load_elf_*",
	}},
}

// At narrows the place of a program that traces the kernel by its hook: a function, or
// "category/name" of a tracepoint. masked means that interrupts are disabled there.
func (p Place) At(section, hook string) (out Place, masked bool) {
	h, ok := p.hook(section, hook)
	if !ok {
		return p, false
	}
	p.Task, p.SoftIRQ, p.HardIRQ = p.Task && h.Task, p.SoftIRQ && h.SoftIRQ, p.HardIRQ && h.HardIRQ
	if h.SystemCall {
		p.Preempted, p.Never = since.SyscallTracepointPreemptible, false
		if p.Guard == AllTracing {
			p.GuardUntil, p.Then = since.SyscallTracepointPreemptible, OwnGuard
		}
	}
	return p, h.Masked
}

// Unsure reports whether it is not known where the kernel reaches the hook of a program that traces
// it.
func (p Place) Unsure(section, hook string) bool {
	h, ok := p.hook(section, hook)
	return p.hooked && (!ok || h.Assumed)
}

// hook finds what is known of a hook.
func (p Place) hook(section, hook string) (HookPlace, bool) {
	if !p.hooked {
		return HookPlace{}, false
	}
	kind, _, _ := strings.Cut(section, "/")
	tracepoint := slices.Contains([]string{"tp", "tracepoint", "raw_tp", "raw_tp.w", "raw_tracepoint", "raw_tracepoint.w", "tp_btf"}, kind)
	hook = hook[strings.LastIndexByte(hook, '/')+1:]
	if p.lsm {
		hook = "security_" + hook
	}
	for _, h := range HookPlaces {
		if h.Tracepoint == tracepoint && slices.ContainsFunc(h.Names, func(n string) bool { return fits(n, hook) }) {
			return h, true
		}
	}
	return HookPlace{}, false
}

// fits reports whether a hook has a name, or begins with one that ends in "*".
func fits(name, hook string) bool {
	prefix, begins := strings.CutSuffix(name, "*")
	return name == hook || begins && strings.HasPrefix(hook, prefix)
}
