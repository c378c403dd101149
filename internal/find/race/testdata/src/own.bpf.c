// Hooks that hand out an object of one event: what is kept by its address belongs to one run, what is kept by its contents does not. And what is kept
// by thread at one hook, for an object that another CPU gets.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define BPF_MAP(name, kind, n, k, v)                                                                                                                   \
	struct {                                                                                                                                       \
		__uint(type, BPF_MAP_TYPE_##kind);                                                                                                     \
		__uint(max_entries, n);                                                                                                                \
		__type(key, k);                                                                                                                        \
		__type(value, v);                                                                                                                      \
	} name SEC(".maps")

#define READ_ONCE(x) (*(volatile typeof(x) *)&(x))

struct request_queue {
} __attribute__((preserve_access_index));
struct request {
	struct request_queue *q;
	unsigned long long __sector;
} __attribute__((preserve_access_index));

static __always_inline int count(void *map, __u64 key)
{
	__u64 one = 1, *n = bpf_map_lookup_elem(map, &key);

	if (n)
		*n += 1;
	else
		bpf_map_update_elem(map, &key, &one, BPF_ANY);
	return 0;
}

BPF_MAP(requests, HASH, 16, __u64, __u64);
SEC("tp_btf/block_rq_complete") int by_request(unsigned long long *ctx)
{
	return count(&requests, ctx[0]);
}

BPF_MAP(queues, HASH, 16, __u64, __u64);
SEC("tp_btf/block_rq_complete") int by_queue(unsigned long long *ctx)
{
	struct request *rq = (void *)ctx[0];

	return count(&queues, (__u64)rq->q);
}

BPF_MAP(sectors, HASH, 16, __u64, __u64);
SEC("tp_btf/block_rq_complete") int by_sector(unsigned long long *ctx)
{
	struct request *rq = (void *)ctx[0];

	return count(&sectors, rq->__sector);
}

// A record of a tracepoint has the address too.
struct freed {
	__u64 common;
	__u64 skbaddr;
};
BPF_MAP(packets, HASH, 16, __u64, __u64);
SEC("tracepoint/skb/kfree_skb") int by_packet(struct freed *ctx)
{
	return count(&packets, ctx->skbaddr);
}

// A file that is opened has no other users, one that is read may.
BPF_MAP(opened, HASH, 16, __u64, __u64);
SEC("fentry/security_file_open") int by_opened(unsigned long long *ctx)
{
	return count(&opened, ctx[0]);
}

BPF_MAP(read, HASH, 16, __u64, __u64);
SEC("fentry/vfs_read") int by_read(unsigned long long *ctx)
{
	return count(&read, ctx[0]);
}

// The thread that made a request is known by the request; two requests of one thread end on two CPUs.
BPF_MAP(makers, HASH, 16, __u64, __u64);
BPF_MAP(of_maker, HASH, 16, __u64, __u64);
SEC("tp_btf/block_rq_insert") int made(unsigned long long *ctx)
{
	__u64 rq = ctx[0], id = bpf_get_current_pid_tgid();

	bpf_map_update_elem(&makers, &rq, &id, BPF_ANY);
	return 0;
}

SEC("tp_btf/block_rq_complete") int by_maker(unsigned long long *ctx)
{
	__u64 rq = ctx[0], *id = bpf_map_lookup_elem(&makers, &rq);

	if (!id)
		return 0;
	count(&of_maker, *id);
	return 0;
}

// The first one reports: with the result of BPF_NOEXIST, and without.
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} news SEC(".maps");
BPF_MAP(flows, HASH, 16, __u32, __u64);
SEC("xdp") int reports_ignoring(struct xdp_md *ctx)
{
	__u32 key = 7;
	__u64 one = 1;

	if (bpf_map_lookup_elem(&flows, &key))
		return XDP_PASS;
	bpf_map_update_elem(&flows, &key, &one, BPF_NOEXIST);
	bpf_ringbuf_output(&news, &one, sizeof(one), 0);
	return XDP_PASS;
}

BPF_MAP(flows_right, HASH, 16, __u32, __u64);
SEC("xdp") int reports_asking(struct xdp_md *ctx)
{
	__u32 key = 7;
	__u64 one = 1;

	if (bpf_map_lookup_elem(&flows_right, &key))
		return XDP_PASS;
	if (bpf_map_update_elem(&flows_right, &key, &one, BPF_NOEXIST))
		return XDP_PASS;
	bpf_ringbuf_output(&news, &one, sizeof(one), 0);
	return XDP_PASS;
}

// The lock of a socket is held where its state changes and where it gets data, not yet where a task begins to send.
struct sock_common {
	unsigned short skc_num;
	unsigned int skc_daddr;
} __attribute__((preserve_access_index));
struct sock {
	struct sock_common __sk_common;
} __attribute__((preserve_access_index));

BPF_MAP(states, HASH, 16, __u64, __u64);
SEC("tp_btf/inet_sock_set_state") int by_state(unsigned long long *ctx)
{
	return count(&states, ctx[0]);
}

BPF_MAP(ports, HASH, 16, __u64, __u64);
SEC("fentry/tcp_rcv_established") int by_port(unsigned long long *ctx)
{
	struct sock *sk = (void *)ctx[0];

	return count(&ports, sk->__sk_common.skc_num);
}

BPF_MAP(peers, HASH, 16, __u64, __u64);
SEC("fentry/tcp_rcv_established") int by_peer(unsigned long long *ctx)
{
	struct sock *sk = (void *)ctx[0];

	return count(&peers, sk->__sk_common.skc_daddr);
}

BPF_MAP(senders, HASH, 16, __u64, __u64);
SEC("fentry/tcp_sendmsg") int by_sender(unsigned long long *ctx)
{
	return count(&senders, ctx[0]);
}

// A record has the address, too.
struct changed {
	__u64 common;
	__u64 skaddr;
};
BPF_MAP(recorded, HASH, 16, __u64, __u64);
SEC("tracepoint/sock/inet_sock_set_state") int by_record(struct changed *ctx)
{
	return count(&recorded, ctx->skaddr);
}

// A packet that a socket gets is one of its connection: sent to its port.
struct sk_buff {
	unsigned char *head;
	unsigned short transport_header;
} __attribute__((preserve_access_index));

static __always_inline __u64 port(unsigned long long *ctx, int at)
{
	struct sk_buff *skb = (void *)ctx[1];
	__u16 port = 0;

	bpf_probe_read_kernel(&port, sizeof(port), skb->head + skb->transport_header + at);
	return port;
}

BPF_MAP(to, HASH, 16, __u64, __u64);
SEC("fentry/tcp_rcv_established") int by_destination(unsigned long long *ctx)
{
	return count(&to, port(ctx, 2));
}

BPF_MAP(from, HASH, 16, __u64, __u64);
SEC("fentry/tcp_rcv_established") int by_source(unsigned long long *ctx)
{
	return count(&from, port(ctx, 0));
}

// Nobody sends on a socket that is closed, but a timer may still send again.
BPF_MAP(open, HASH, 16, __u64, __u64);
SEC("fentry/tcp_close") int closes(unsigned long long *ctx)
{
	return count(&open, ctx[0]);
}

SEC("fentry/tcp_recvmsg") int receives(unsigned long long *ctx)
{
	return count(&open, ctx[0]);
}

SEC("fentry/tcp_retransmit_skb") int resends(unsigned long long *ctx)
{
	return count(&open, ctx[0]);
}

// A process that has executed a file has no other threads. Other processes may do so at the same time.
BPF_MAP(processes, HASH, 16, __u64, __u64);
SEC("tp_btf/sched_process_exec") int by_process(unsigned long long *ctx)
{
	return count(&processes, bpf_get_current_pid_tgid() >> 32);
}

SEC("fentry/vfs_write") int writes(unsigned long long *ctx)
{
	return count(&processes, bpf_get_current_pid_tgid() >> 32);
}

BPF_MAP(executed, HASH, 16, __u64, __u64);
SEC("tp_btf/sched_process_exec") int by_nothing(unsigned long long *ctx)
{
	return count(&executed, 0);
}

char _license[] SEC("license") = "GPL";
