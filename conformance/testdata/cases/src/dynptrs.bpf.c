// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// dynptrs: over map values, packets and frames: reads, writes, slices, clones, copies.
#include "case.h"

extern int bpf_dynptr_from_skb(struct __sk_buff *s, u64 flags, struct bpf_dynptr *d) __ksym;
extern int bpf_dynptr_from_xdp(struct xdp_md *x, u64 flags, struct bpf_dynptr *d) __ksym;
extern void *bpf_dynptr_slice(const struct bpf_dynptr *d, u32 off, void *buf, u32 n) __ksym;
extern void *bpf_dynptr_slice_rdwr(const struct bpf_dynptr *d, u32 off, void *buf, u32 n) __ksym;
extern int bpf_dynptr_adjust(const struct bpf_dynptr *d, u32 start, u32 end) __ksym;
extern bool bpf_dynptr_is_null(const struct bpf_dynptr *d) __ksym;
extern bool bpf_dynptr_is_rdonly(const struct bpf_dynptr *d) __ksym;
extern u32 bpf_dynptr_size(const struct bpf_dynptr *d) __ksym;
extern int bpf_dynptr_clone(const struct bpf_dynptr *d, struct bpf_dynptr *c) __ksym;
extern int bpf_dynptr_copy(struct bpf_dynptr *dst, u32 doff, struct bpf_dynptr *src, u32 soff, u32 n) __ksym;
extern int bpf_dynptr_memset(struct bpf_dynptr *d, u32 off, u32 n, u8 v) __ksym;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, u32);
	__type(value, u8[64]);
	__uint(max_entries, 2);
} values SEC(".maps");

u8 buf[64];

SEC("tc") int t_local(struct __sk_buff *ctx)
{
	struct bpf_dynptr d, c;
	u32 k = 0;
	u8 *v = bpf_map_lookup_elem(&values, &k), *p;
	u8 tmp[8];

	if (!v)
		return 1;
	for (int i = 0; i < 64; i++)
		v[i] = i;
	CHECK("from_mem flags", bpf_dynptr_from_mem(v, 64, 1, &d));
	CHECK("null after failure", bpf_dynptr_is_null(&d));
	CHECK("from_mem", bpf_dynptr_from_mem(v, 64, 0, &d));
	CHECK("is_null", bpf_dynptr_is_null(&d));
	CHECK("is_rdonly", bpf_dynptr_is_rdonly(&d));
	CHECK("size", bpf_dynptr_size(&d));
	CHECK("read", bpf_dynptr_read(tmp, 8, &d, 10, 0));
	CHECK("read value", tmp[3]);
	CHECK("read at the end", bpf_dynptr_read(tmp, 8, &d, 56, 0));
	CHECK("read behind", bpf_dynptr_read(tmp, 8, &d, 57, 0));
	CHECK("read offset big", bpf_dynptr_read(tmp, 8, &d, 0xffffffff, 0));
	CHECK("read flags", bpf_dynptr_read(tmp, 8, &d, 0, 1));
	CHECK("write", bpf_dynptr_write(&d, 4, tmp, 4, 0));
	CHECK("write behind", bpf_dynptr_write(&d, 61, tmp, 4, 0));
	CHECK("write flags", bpf_dynptr_write(&d, 0, tmp, 4, 2));
	p = bpf_dynptr_data(&d, 20, 8);
	CHECK("data", p ? *p : -1);
	CHECK("data behind", bpf_dynptr_data(&d, 60, 8) == NULL);
	CHECK("clone", bpf_dynptr_clone(&d, &c));
	CHECK("adjust", bpf_dynptr_adjust(&c, 8, 24));
	CHECK("size adjusted", bpf_dynptr_size(&c));
	CHECK("read adjusted", bpf_dynptr_read(tmp, 2, &c, 0, 0));
	CHECK("value adjusted", tmp[0]);
	CHECK("adjust start > end", bpf_dynptr_adjust(&c, 9, 8));
	CHECK("adjust too far", bpf_dynptr_adjust(&c, 0, 17));
	CHECK("adjust to nothing", bpf_dynptr_adjust(&c, 16, 16));
	CHECK("size of nothing", bpf_dynptr_size(&c));
	CHECK("size of the original", bpf_dynptr_size(&d));
	CHECK("memset", bpf_dynptr_memset(&d, 40, 4, 0xcc));
	CHECK("memset behind", bpf_dynptr_memset(&d, 62, 4, 0xcc));
	CHECK("memset of nothing", bpf_dynptr_memset(&c, 0, 0, 1));
	p = bpf_dynptr_slice(&d, 40, NULL, 4);
	CHECK("slice", p ? p[1] : -1);
	p = bpf_dynptr_slice(&d, 61, NULL, 4);
	CHECK("slice behind", p == NULL);
	p = bpf_dynptr_slice_rdwr(&d, 30, tmp, 8);
	if (p)
		p[0] = 0x99;
	CHECK("slice_rdwr", p != NULL);
	CHECK("copy overlapping", bpf_dynptr_copy(&d, 1, &d, 0, 16));
	CHECK("copy behind", bpf_dynptr_copy(&d, 60, &d, 0, 16));
	return 0;
}

SEC("tc") int t_skb(struct __sk_buff *ctx)
{
	struct bpf_dynptr d, c, m;
	u8 tmp[20], *p;
	u32 k = 1;
	u8 *v = bpf_map_lookup_elem(&values, &k);

	CHECK("skb flags", bpf_dynptr_from_skb(ctx, 1, &d));
	CHECK("skb", bpf_dynptr_from_skb(ctx, 0, &d));
	CHECK("skb size", bpf_dynptr_size(&d));
	CHECK("skb rdonly", bpf_dynptr_is_rdonly(&d));
	CHECK("skb read", bpf_dynptr_read(tmp, 20, &d, 14, 0));
	CHECK("skb value", tmp[8]);
	CHECK("skb read behind", bpf_dynptr_read(tmp, 20, &d, 50, 0));
	CHECK("skb write", bpf_dynptr_write(&d, 0, tmp, 6, 0));
	CHECK("skb write flags", bpf_dynptr_write(&d, 6, tmp, 6, BPF_F_RECOMPUTE_CSUM));
	CHECK("skb write flags bad", bpf_dynptr_write(&d, 6, tmp, 6, 0x100));
	CHECK("skb data", bpf_dynptr_data(&d, 0, 4) == NULL);
	p = bpf_dynptr_slice(&d, 23, tmp, 1);
	CHECK("skb slice protocol", p ? *p : -1);
	p = bpf_dynptr_slice(&d, 60, tmp, 8);
	CHECK("skb slice behind", p == NULL);
	p = bpf_dynptr_slice_rdwr(&d, 12, tmp, 2);
	if (p)
		p[1] = 0xdd;
	CHECK("skb slice_rdwr", p != NULL);
	CHECK("skb adjust", bpf_dynptr_adjust(&d, 14, 34));
	CHECK("skb size adjusted", bpf_dynptr_size(&d));
	CHECK("skb read adjusted", bpf_dynptr_read(tmp, 4, &d, 16, 0));
	CHECK("skb value adjusted", tmp[0]);
	CHECK("skb memset", bpf_dynptr_memset(&d, 0, 2, 0x11));
	if (!v)
		return 1;
	bpf_dynptr_from_mem(v, 64, 0, &m);
	CHECK("copy from skb", bpf_dynptr_copy(&m, 3, &d, 0, 20));
	CHECK("copy to skb", bpf_dynptr_copy(&d, 0, &m, 40, 4));
	return 0;
}

SEC("xdp") int t_xdp(struct xdp_md *ctx)
{
	struct bpf_dynptr d;
	u8 tmp[20], *p;

	CHECK("xdp flags", bpf_dynptr_from_xdp(ctx, 1, &d));
	CHECK("xdp", bpf_dynptr_from_xdp(ctx, 0, &d));
	CHECK("xdp size", bpf_dynptr_size(&d));
	CHECK("xdp read", bpf_dynptr_read(tmp, 20, &d, 14, 0));
	CHECK("xdp value", tmp[8]);
	CHECK("xdp write", bpf_dynptr_write(&d, 0, tmp, 6, 0));
	CHECK("xdp write flags", bpf_dynptr_write(&d, 0, tmp, 6, 1));
	CHECK("xdp write behind", bpf_dynptr_write(&d, 60, tmp, 6, 0));
	p = bpf_dynptr_slice(&d, 23, tmp, 1);
	CHECK("xdp slice protocol", p ? *p : -1);
	p = bpf_dynptr_slice_rdwr(&d, 0, tmp, 14);
	if (p)
		p[13] = 0xaa;
	CHECK("xdp slice_rdwr", p != NULL);
	CHECK("xdp memset", bpf_dynptr_memset(&d, 50, 4, 0));
	return XDP_PASS;
}

SEC("cgroup_skb/ingress") int t_cgroup(struct __sk_buff *ctx)
{
	struct bpf_dynptr d;
	u8 tmp[4], *p;

	CHECK("cgroup skb", bpf_dynptr_from_skb(ctx, 0, &d));
	CHECK("cgroup rdonly", bpf_dynptr_is_rdonly(&d));
	CHECK("cgroup size", bpf_dynptr_size(&d));
	CHECK("cgroup read", bpf_dynptr_read(tmp, 4, &d, 0, 0));
	CHECK("cgroup value", tmp[0]);
	CHECK("cgroup write", bpf_dynptr_write(&d, 0, tmp, 4, 0));
	p = bpf_dynptr_slice(&d, 9, tmp, 1);
	CHECK("cgroup slice", p ? *p : -1);
	return 1;
}
