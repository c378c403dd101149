// Callbacks of timers and work queues against the programs that arm them and others. Names that end in _right are correct; the others have one mistake each.
#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>

#define BPF_MAP(name, kind, n, k, v)                                                                                                                   \
	struct {                                                                                                                                       \
		__uint(type, BPF_MAP_TYPE_##kind);                                                                                                     \
		__uint(max_entries, n);                                                                                                                \
		__type(key, k);                                                                                                                        \
		__type(value, v);                                                                                                                      \
	} name SEC(".maps")

#define READ_ONCE(x) (*(volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile typeof(x) *)&(x) = (v))
#define CLOCK_MONOTONIC 1

struct bpf_wq {
	__u64 opaque[2];
} __attribute__((aligned(8)));

extern int bpf_wq_init(struct bpf_wq *wq, void *map, unsigned int flags) __ksym;
extern int bpf_wq_start(struct bpf_wq *wq, unsigned int flags) __ksym;
extern int bpf_wq_set_callback_impl(struct bpf_wq *wq, int (*cb)(void *map, int *key, void *value), unsigned int flags, void *aux) __ksym;

struct timed {
	struct bpf_timer timer;
	__u64 state, count;
};

struct worked {
	struct bpf_wq work;
	__u64 count;
};

static __always_inline void begin(void *map, struct timed *v, void *callback)
{
	bpf_timer_init(&v->timer, map, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&v->timer, callback);
	bpf_timer_start(&v->timer, 1000, 0);
}

// A count that the callback changes too.
BPF_MAP(ticks, ARRAY, 1, __u32, struct timed);
__u64 ticked;
static int tick(void *map, __u32 *key, struct timed *v)
{
	ticked++;
	return 0;
}
SEC("xdp") int counts(struct xdp_md *ctx)
{
	__u32 zero = 0;
	struct timed *v = bpf_map_lookup_elem(&ticks, &zero);

	if (!v)
		return XDP_PASS;
	begin(&ticks, v, tick);
	ticked++;
	return XDP_PASS;
}

// A timer that starts itself again; a program that does not arm it reads and changes what it counts.
BPF_MAP(again, ARRAY, 1, __u32, struct timed);
static int repeats(void *map, __u32 *key, struct timed *v)
{
	v->count++;
	bpf_timer_start(&v->timer, 1000, 0);
	return 0;
}
SEC("xdp") int repeat_begins(struct xdp_md *ctx)
{
	__u32 zero = 0;
	struct timed *v = bpf_map_lookup_elem(&again, &zero);

	if (v)
		begin(&again, v, repeats);
	return XDP_PASS;
}
SEC("tc") int repeat_resets(struct __sk_buff *skb)
{
	__u32 zero = 0;
	struct timed *v = bpf_map_lookup_elem(&again, &zero);

	if (v)
		v->count += 100;
	return 0;
}

// The same, with atomic operations.
BPF_MAP(again_right, ARRAY, 1, __u32, struct timed);
static int repeats_right(void *map, __u32 *key, struct timed *v)
{
	__sync_fetch_and_add(&v->count, 1);
	bpf_timer_start(&v->timer, 1000, 0);
	return 0;
}
SEC("xdp") int repeat_right(struct xdp_md *ctx)
{
	__u32 zero = 0;
	struct timed *v = bpf_map_lookup_elem(&again_right, &zero);

	if (!v)
		return XDP_PASS;
	begin(&again_right, v, repeats_right);
	__sync_fetch_and_add(&v->count, 100);
	return XDP_PASS;
}

// A connection is deleted because it was idle a moment ago.
BPF_MAP(conns, HASH, 4, __u32, struct timed);
static int expire(void *map, __u32 *key, struct timed *v)
{
	if (READ_ONCE(v->state) == 0)
		bpf_map_delete_elem(&conns, key);
	return 0;
}
SEC("xdp") int refresh(struct xdp_md *ctx)
{
	__u32 key = 7;
	struct timed fresh = {}, *v = bpf_map_lookup_elem(&conns, &key);

	if (v) {
		WRITE_ONCE(v->state, 1);
		return XDP_PASS;
	}
	if (!bpf_map_update_elem(&conns, &key, &fresh, BPF_NOEXIST) && (v = bpf_map_lookup_elem(&conns, &key)))
		begin(&conns, v, expire);
	return XDP_PASS;
}

// Here who takes the state first wins.
BPF_MAP(conns_right, HASH, 4, __u32, struct timed);
static int expire_right(void *map, __u32 *key, struct timed *v)
{
	if (__sync_val_compare_and_swap(&v->state, 0, 2) == 0)
		bpf_map_delete_elem(&conns_right, key);
	return 0;
}
SEC("xdp") int refresh_right(struct xdp_md *ctx)
{
	__u32 key = 7;
	struct timed fresh = {}, *v = bpf_map_lookup_elem(&conns_right, &key);

	if (v) {
		__sync_val_compare_and_swap(&v->state, 0, 1);
		return XDP_PASS;
	}
	if (!bpf_map_update_elem(&conns_right, &key, &fresh, BPF_NOEXIST) && (v = bpf_map_lookup_elem(&conns_right, &key)))
		begin(&conns_right, v, expire_right);
	return XDP_PASS;
}

// The callback goes on with an element whose memory is another one's.
BPF_MAP(moving, HASH, 4, __u32, struct timed);
static int touch_moved(void *map, __u32 *key, struct timed *v)
{
	READ_ONCE(v->state);
	WRITE_ONCE(v->count, 5);
	return 0;
}
SEC("xdp") int moving_begins(struct xdp_md *ctx)
{
	__u32 key = 7;
	struct timed fresh = {}, *v;

	if (!bpf_map_update_elem(&moving, &key, &fresh, BPF_NOEXIST) && (v = bpf_map_lookup_elem(&moving, &key)))
		begin(&moving, v, touch_moved);
	return XDP_PASS;
}
SEC("xdp") int move(struct xdp_md *ctx)
{
	__u32 key = 7, other = 8;
	struct timed fresh = {};

	bpf_map_delete_elem(&moving, &key);
	bpf_map_update_elem(&moving, &other, &fresh, BPF_ANY);
	return XDP_PASS;
}

// bpf_timer_cancel waits for the callback: then nobody else is at the element.
BPF_MAP(stopped_right, ARRAY, 1, __u32, struct timed);
static int stops_right(void *map, __u32 *key, struct timed *v)
{
	v->count++;
	return 0;
}
SEC("xdp") int stop_right(struct xdp_md *ctx)
{
	__u32 zero = 0;
	struct timed *v = bpf_map_lookup_elem(&stopped_right, &zero);

	if (!v)
		return XDP_PASS;
	begin(&stopped_right, v, stops_right);
	return XDP_PASS;
}
SEC("tc") int stopping_right(struct __sk_buff *skb)
{
	__u32 zero = 0;
	struct timed *v = bpf_map_lookup_elem(&stopped_right, &zero);

	if (!v || bpf_timer_cancel(&v->timer) < 0)
		return 0;
	v->count += 100;
	return 0;
}

// A program in the middle of the callback does not wait for it.
BPF_MAP(within, ARRAY, 1, __u32, struct timed);
static int sticks(void *map, __u32 *key, struct timed *v)
{
	WRITE_ONCE(v->count, 1);
	return 0;
}
SEC("xdp") int within_begins(struct xdp_md *ctx)
{
	__u32 zero = 0;
	struct timed *v = bpf_map_lookup_elem(&within, &zero);

	if (v)
		begin(&within, v, sticks);
	return XDP_PASS;
}
SEC("fentry/__napi_schedule") int within_right(void *ctx)
{
	__u32 zero = 0;
	struct timed *v = bpf_map_lookup_elem(&within, &zero);

	if (v)
		bpf_timer_cancel(&v->timer);
	return 0;
}

// Two callbacks cancel each other, and each waits for the other one, until Linux 6.10.
BPF_MAP(crossed, ARRAY, 2, __u32, struct timed);
static __always_inline int cancel_crossed(__u32 other)
{
	struct timed *v = bpf_map_lookup_elem(&crossed, &other);

	if (v)
		bpf_timer_cancel(&v->timer);
	return 0;
}
static int cross_one(void *map, __u32 *key, struct timed *v) { return cancel_crossed(1); }
static int cross_two(void *map, __u32 *key, struct timed *v) { return cancel_crossed(0); }
SEC("xdp") int crosses(struct xdp_md *ctx)
{
	__u32 one = 0, two = 1;
	struct timed *v = bpf_map_lookup_elem(&crossed, &one), *w = bpf_map_lookup_elem(&crossed, &two);

	if (!v || !w)
		return XDP_PASS;
	begin(&crossed, v, cross_one);
	begin(&crossed, w, cross_two);
	return XDP_PASS;
}

// A worker is a task: packets come in between, on its CPU.
BPF_MAP(works, ARRAY, 1, __u32, struct worked);
struct event {
	__u64 kind, payload[4];
};
BPF_MAP(scratch, PERCPU_ARRAY, 1, __u32, struct event);
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} events SEC(".maps");
static __always_inline void report(__u64 kind)
{
	__u32 zero = 0;
	struct event *e = bpf_map_lookup_elem(&scratch, &zero);

	if (!e)
		return;
	e->kind = kind;
	e->payload[0] = kind * 100;
	bpf_ringbuf_output(&events, e, sizeof(*e), 0);
}
static int work(void *map, int *key, void *value)
{
	report(1);
	return 0;
}
SEC("tc") int work_begins(struct __sk_buff *skb)
{
	__u32 zero = 0;
	struct worked *v = bpf_map_lookup_elem(&works, &zero);

	if (!v)
		return 0;
	bpf_wq_init(&v->work, &works, 0);
	bpf_wq_set_callback_impl(&v->work, work, 0, NULL);
	bpf_wq_start(&v->work, 0);
	return 0;
}
SEC("xdp") int work_packet(struct xdp_md *ctx)
{
	report(2);
	return XDP_PASS;
}

// A timer's callback is in a softirq: no packet comes in between.
BPF_MAP(timers_right, ARRAY, 1, __u32, struct timed);
BPF_MAP(scratch_right, PERCPU_ARRAY, 1, __u32, struct event);
static __always_inline void report_right(__u64 kind)
{
	__u32 zero = 0;
	struct event *e = bpf_map_lookup_elem(&scratch_right, &zero);

	if (!e)
		return;
	e->kind = kind;
	e->payload[0] = kind * 100;
	bpf_ringbuf_output(&events, e, sizeof(*e), 0);
}
static int timer_right(void *map, __u32 *key, struct timed *v)
{
	report_right(1);
	return 0;
}
SEC("tc") int softirq_right(struct __sk_buff *skb)
{
	__u32 zero = 0;
	struct timed *v = bpf_map_lookup_elem(&timers_right, &zero);

	if (v)
		begin(&timers_right, v, timer_right);
	report_right(2);
	return 0;
}

char _license[] SEC("license") = "GPL";
