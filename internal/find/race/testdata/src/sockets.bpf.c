// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* Programs of sockmaps: those of one socket never meet, those of two do. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_SOCKMAP);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} clients SEC(".maps"), others SEC(".maps");

/* What each tenant may still send, and what it did. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __s64);
} left SEC(".maps"), left_right SEC(".maps"), sent SEC(".maps"), sent_right SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u64);
	__type(value, __u64);
} by_socket SEC(".maps");

struct header {
	__u8 len, tenant;
};

/* A message is its length, the number of its tenant and what it says. */
static __always_inline __u32 *tenant_of(struct __sk_buff *skb, __u32 *tenant)
{
	struct header h;

	if (bpf_skb_load_bytes(skb, 0, &h, sizeof(h)))
		return 0;
	*tenant = h.tenant - 'A';
	return *tenant < 4 ? tenant : 0;
}

SEC("sk_skb/stream_parser")
int cut(struct __sk_buff *skb)
{
	struct header h;

	if (bpf_skb_load_bytes(skb, 0, &h, sizeof(h)))
		return 0; /* more */
	return h.len < sizeof(h) ? -22 : h.len;
}

/* Two messages of a tenant on two sockets both find room for themselves. */
SEC("sk_skb/stream_verdict")
int spend(struct __sk_buff *skb)
{
	__u32 tenant;
	__s64 *room;

	if (!tenant_of(skb, &tenant))
		return SK_DROP;
	room = bpf_map_lookup_elem(&left, &tenant);
	if (!room || *room < skb->len)
		return SK_DROP;
	*room -= skb->len;
	return SK_PASS;
}

/* Takes first, and gives back what there was no room for. */
SEC("sk_skb/stream_verdict")
int spend_right(struct __sk_buff *skb)
{
	__u32 tenant;
	__s64 *room;

	if (!tenant_of(skb, &tenant))
		return SK_DROP;
	room = bpf_map_lookup_elem(&left_right, &tenant);
	if (!room)
		return SK_DROP;
	if (__sync_fetch_and_add(room, -(__s64)skb->len) < skb->len) {
		__sync_fetch_and_add(room, skb->len);
		return SK_DROP;
	}
	return SK_PASS;
}

/* What one socket sent is kept under its cookie: the socket's lock is held, so that no other program has it. */
SEC("sk_skb/verdict")
int of_socket(struct __sk_buff *skb)
{
	__u64 cookie = bpf_get_socket_cookie(skb), first = skb->len;
	__u64 *bytes = bpf_map_lookup_elem(&by_socket, &cookie);

	if (bytes)
		*bytes += skb->len;
	else
		bpf_map_update_elem(&by_socket, &cookie, &first, BPF_ANY);
	return SK_PASS;
}

SEC("sk_msg")
int note(struct sk_msg_md *msg)
{
	__u8 *p = msg->data;
	__u32 tenant;
	__s64 *bytes;

	if ((void *)(p + 2) > msg->data_end)
		return SK_PASS;
	tenant = p[1] - 'A';
	bytes = bpf_map_lookup_elem(&sent, &tenant);
	if (bytes)
		*bytes += msg->size;
	return SK_PASS;
}

SEC("sk_msg")
int note_right(struct sk_msg_md *msg)
{
	__u8 *p = msg->data;
	__u32 tenant;
	__s64 *bytes;

	if ((void *)(p + 2) > msg->data_end)
		return SK_PASS;
	tenant = p[1] - 'A';
	bytes = bpf_map_lookup_elem(&sent_right, &tenant);
	if (bytes)
		__sync_fetch_and_add(bytes, msg->size);
	return SK_PASS;
}

char LICENSE[] SEC("license") = "GPL";
