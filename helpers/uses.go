package helpers

// uses has a line of C for each topic: how a program calls one of its helpers or kfuncs.
var uses = []struct{ topic, line string }{
	{"HID", "__u8 *data = hid_bpf_get_data(ctx, 0, 4);"},
	{"TCP congestion control", "cubictcp_cong_avoid(sk, ack, acked);"},
	{"arenas", "page = bpf_arena_alloc_pages(&arena, NULL, 1, NUMA_NO_NODE, 0);"},
	{"casts", "struct sk_buff *skb = bpf_cast_to_kern_ctx(ctx);"},
	{"cgroups", "__u64 id = bpf_skb_cgroup_id(skb);"},
	{"checksums", "bpf_l4_csum_replace(skb, offset, old_port, new_port, sizeof(new_port));"},
	{"conntrack", "ct = bpf_skb_ct_lookup(skb, &tuple, sizeof(tuple.ipv4), &opts, sizeof(opts));"},
	{"control", "bpf_tail_call(ctx, &programs, index);"},
	{"cpu", "__u32 cpu = bpf_get_smp_processor_id();"},
	{"cpumasks", "struct bpf_cpumask *mask = bpf_cpumask_create();"},
	{"cryptography", "err = bpf_crypto_encrypt(cipher, &plain, &secret, NULL);"},
	{"dynptrs", "bpf_dynptr_from_mem(buffer, sizeof(buffer), 0, &ptr);"},
	{"events", "e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);"},
	{"files", "bpf_d_path(&file->f_path, path, sizeof(path));"},
	{"iterators", "bpf_for(i, 0, 10) sum += i; // bpf_iter_num_new, bpf_iter_num_next, bpf_iter_num_destroy"},
	{"keys", "key = bpf_lookup_user_key(serial, 0);"},
	{"kptrs", "old = bpf_kptr_xchg(&value->task, task);"},
	{"locks", "bpf_spin_lock(&value->lock);"},
	{"maps", "value = bpf_map_lookup_elem(&counts, &key);"},
	{"memory", "bpf_probe_read_kernel(&pid, sizeof(pid), &task->pid);"},
	{"objects", "struct node *n = bpf_obj_new(typeof(*n));"},
	{"packets", "bpf_skb_store_bytes(skb, offset, &ttl, sizeof(ttl), BPF_F_RECOMPUTE_CSUM);"},
	{"qdisc", "bpf_qdisc_skb_drop(skb, to_free);"},
	{"redirects", "return bpf_redirect_map(&ports, index, 0);"},
	{"remote control", "bpf_rc_keydown(ctx, protocol, scancode, 0);"},
	{"routes", "err = bpf_fib_lookup(ctx, &params, sizeof(params), 0);"},
	{"sched_ext", "scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags);"},
	{"sockets", "sk = bpf_sk_lookup_tcp(ctx, &tuple, sizeof(tuple.ipv4), BPF_F_CURRENT_NETNS, 0);"},
	{"stacks", "id = bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK);"},
	{"storage", "value = bpf_task_storage_get(&storage, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);"},
	{"strings", "same = bpf_strncmp(comm, sizeof(comm), \"bash\") == 0;"},
	{"symbols", "bpf_kallsyms_lookup_name(\"init_task\", sizeof(\"init_task\"), 0, &address);"},
	{"syscalls", "fd = bpf_sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));"},
	{"sysctl", "bpf_sysctl_get_name(ctx, name, sizeof(name), 0);"},
	{"system", "struct lowcore *lc = bpf_get_lowcore();"},
	{"task", "__u32 pid = bpf_get_current_pid_tgid() >> 32;"},
	{"tasks", "struct task_struct *p = bpf_task_from_pid(pid);"},
	{"time", "__u64 now = bpf_ktime_get_ns();"},
	{"timers", "bpf_timer_start(&value->timer, 1000000, 0); // in a millisecond"},
	{"trace", "bpf_printk(\"pid %d\", pid); // bpf_trace_printk"},
	{"tracing", "__u64 ip = bpf_get_func_ip(ctx);"},
	{"tunnels", "bpf_skb_set_tunnel_key(skb, &key, sizeof(key), 0);"},
}

// useOf returns the line of a topic, "" for none.
func useOf(topic string) string {
	for _, u := range uses {
		if u.topic == topic {
			return u.line
		}
	}
	return ""
}
