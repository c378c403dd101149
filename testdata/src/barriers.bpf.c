// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// barriers: programs that stop at a gate, each at another kind of input: a packet's protocol, port and length, an empty map, a variable, an argument,
// a field of a kernel object, a field of the context, the result of a helper.
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

struct sock_common {
	__u16 skc_num;
	__u16 skc_family;
} __attribute__((preserve_access_index));

struct sock {
	struct sock_common __sk_common;
} __attribute__((preserve_access_index));

struct trace_event_raw_sys_exit {
	long ret;
} __attribute__((preserve_access_index));

struct config {
	__u32 mode;
	__u32 flags;
	__u16 port;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct config);
} config SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, struct config);
} flows SEC(".maps");

__u32 enabled;
__u64 passed[16];

static __always_inline void *header(struct xdp_md *ctx, __u32 size)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	return data + size > end ? 0 : data;
}

SEC("xdp")
int protocol(struct xdp_md *ctx)
{
	__u8 *p = header(ctx, 42);

	if (!p || *(__u16 *)(p + 12) != bpf_htons(ETH_P_IP) || p[23] != IPPROTO_UDP)
		return XDP_PASS;
	passed[0]++;
	passed[1] += *(__u32 *)(p + 26);
	return XDP_DROP;
}

// A port in network order, below a mask of flags in the byte order of the host.
SEC("xdp")
int port(struct xdp_md *ctx)
{
	__u8 *p = header(ctx, 54);

	if (!p)
		return XDP_PASS;
	if (bpf_ntohs(*(__u16 *)(p + 36)) != 8443)
		return XDP_PASS;
	if ((p[47] & 0x3f) != 0x01)
		return XDP_PASS;
	passed[0]++;
	passed[1] += *(__u32 *)(p + 26);
	return XDP_DROP;
}

SEC("xdp")
int length(struct xdp_md *ctx)
{
	__u8 *p = header(ctx, 200);

	if (!p)
		return XDP_PASS;
	passed[0]++;
	passed[1] += p[199];
	return XDP_DROP;
}

SEC("tc")
int version(struct __sk_buff *skb)
{
	__u8 first;

	if (bpf_skb_load_bytes(skb, 14, &first, 1) || first >> 4 != 6)
		return 0;
	passed[0]++;
	passed[1] += skb->len;
	return 2;
}

SEC("tc")
int mark(struct __sk_buff *skb)
{
	if (skb->mark != 0x1d00 || skb->ingress_ifindex == 7)
		return 0;
	passed[0]++;
	passed[1] += skb->len;
	return 2;
}

SEC("tc")
int configured(struct __sk_buff *skb)
{
	__u32 zero = 0;
	struct config *c = bpf_map_lookup_elem(&config, &zero);

	if (!c || c->mode != 3 || !(c->flags & 0x100))
		return 0;
	passed[0]++;
	passed[1] += c->port;
	return 2;
}

SEC("tc")
int known(struct __sk_buff *skb)
{
	__u32 key = 7;
	struct config *c = bpf_map_lookup_elem(&flows, &key);

	if (!c)
		return 0;
	if (c->port != bpf_htons(53))
		return 0;
	c->mode++;
	passed[0]++;
	return 2;
}

SEC("tc")
int switched(struct __sk_buff *skb)
{
	if (enabled < 2)
		return 0;
	passed[0]++;
	passed[1] += skb->len;
	return 2;
}

SEC("fentry/vfs_read")
int BPF_PROG(counted, struct file *file, char *buf, unsigned long count)
{
	if (count != 4096)
		return 0;
	passed[0]++;
	passed[1] += count;
	return 0;
}

SEC("fentry/tcp_connect")
int BPF_PROG(family, struct sock *sk)
{
	if (BPF_CORE_READ(sk, __sk_common.skc_family) != 10)
		return 0;
	passed[0]++;
	passed[1] += BPF_CORE_READ(sk, __sk_common.skc_num);
	return 0;
}

SEC("tracepoint/syscalls/sys_exit_openat")
int failed(struct trace_event_raw_sys_exit *ctx)
{
	if (ctx->ret != -2)
		return 0;
	passed[0]++;
	passed[1] += ctx->ret;
	return 0;
}

SEC("fentry/do_unlinkat")
int BPF_PROG(from_root, int dfd)
{
	if ((__u32)bpf_get_current_uid_gid())
		return 0;
	passed[0]++;
	passed[1] += dfd;
	return 0;
}

// What no input changes.
SEC("tc")
int never(struct __sk_buff *skb)
{
	__u64 a = skb->len, b = bpf_ktime_get_ns();

	if (((a * b) ^ (b >> 3)) % 1000003 == 77)
		passed[0] += a, passed[1] += b, passed[2] += a ^ b, passed[3] += a * 3;
	return 0;
}

char _license[] SEC("license") = "GPL";
