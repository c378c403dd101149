// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// searched: what a search has to see of constants, of time and of maps of devices; and with -DNEW another build, which asks the clock once more and
// has a bug that only a comparison with this one shows. The tests of package fuzz search it.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

struct eth {
	__u8 dst[6], src[6];
	__be16 proto;
} __attribute__((packed));

struct ip {
	__u8 vihl, tos;
	__be16 len, id, frag;
	__u8 ttl, proto;
	__u16 csum;
	__be32 src, dst;
};

struct options {
	__u8 on, deep;
	__u16 port;
	__u32 mark;
	__u8 pad[60];
};

static volatile const struct options options;
const volatile _Bool enabled, verbose;
const volatile __u32 level = 1;

struct note {
	__u32 what; // and a hole
	__u64 when;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} notes SEC(".maps");

struct seen {
	__u64 first, last;
	__u64 count;
	__u8 name[64];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, struct seen);
} table SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, __u32);
} ports SEC(".maps");

static __always_inline void send(__u32 what)
{
	struct note *n = bpf_ringbuf_reserve(&notes, sizeof(*n), 0);

	if (!n)
		return;
	n->what = what;
	n->when = 0;
	bpf_ringbuf_submit(n, 0);
}

// Two constants, one branch each.
SEC("kprobe/security_inode_create")
int both(void *ctx)
{
	if (enabled && verbose)
		send(1);
	return 0;
}

// Two constants in one sum: no value of one alone changes the jump.
SEC("kprobe/security_inode_rename")
int together(void *ctx)
{
	__u32 a = options.on, b = options.deep;

	asm volatile("%0 &= %1" : "+r"(a) : "r"(b));
	if (a)
		send(2);
	return 0;
}

// The constants choose which comparison is made.
SEC("kprobe/security_inode_rmdir")
int chosen(void *ctx)
{
	if (options.port == 8080 && level != 1 && options.mark > 77)
		send(3);
	return 0;
}

// A second has to pass between two events.
SEC("kprobe/security_inode_mkdir")
int later(void *ctx)
{
	__u32 key = 1;
	__u64 now = bpf_ktime_get_ns();
	struct seen fresh = {}, *s = bpf_map_lookup_elem(&table, &key);

	if (!s) {
		fresh.first = now;
		bpf_map_update_elem(&table, &key, &fresh, BPF_ANY);
		return 0;
	}
	if (now - s->first > 7777777777ULL)
		send(4);
	return 0;
}

// A packet goes to a device that user space put into the map.
SEC("xdp")
int redirected(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct eth *eth = data;
	struct ip *ip = (void *)(eth + 1);
	__u32 key = 3;

	if ((void *)(ip + 1) > end || eth->proto != bpf_htons(ETH_P_IP))
		return XDP_PASS;
	if (!bpf_map_lookup_elem(&ports, &key))
		return XDP_PASS;
	ip->tos |= 1;
	return bpf_redirect_map(&ports, key, XDP_PASS);
}

// What is stored is the same but for the time: this build asks the clock once more.
SEC("kprobe/security_inode_link")
int timed(void *ctx)
{
	__u32 key = 2;
	struct seen s = {};

#ifdef NEW
	bpf_ktime_get_ns();
#endif
	s.first = bpf_ktime_get_ns();
	s.last = bpf_ktime_get_boot_ns();
	bpf_map_update_elem(&table, &key, &s, BPF_ANY);
	return 0;
}

// Only this build asks for the number.
SEC("xdp")
int compared(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

#ifdef NEW
	if (data + 24 <= end && *(__u32 *)(data + 20) == 0x51ed270b)
		return XDP_DROP;
#endif
	return XDP_PASS;
}

// One byte of many is another.
SEC("kprobe/security_inode_unlink")
int filled(void *ctx)
{
	__u32 key = 3;
	struct seen s = {};

#ifdef NEW
	s.name[41] = 9;
#endif
	bpf_map_update_elem(&table, &key, &s, BPF_ANY);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
