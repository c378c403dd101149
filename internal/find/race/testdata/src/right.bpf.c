// Programs that share maps and globals correctly, one way each: bpfrun race must find nothing. Each has maps of its own, so that it meets only itself.
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

struct pair {
	__u64 packets, bytes;
};

struct locked {
	struct bpf_spin_lock lock;
	__u32 state;
	__u64 packets, bytes;
};

struct record {
	__u32 cpu;
	__u64 value;
};

// 1. A count, changed by one operation.
BPF_MAP(count_map, ARRAY, 1, __u32, __u64);
SEC("xdp") int count_atomic(struct xdp_md *ctx)
{
	__u32 key = 0;
	__u64 *n = bpf_map_lookup_elem(&count_map, &key);

	if (n)
		__sync_fetch_and_add(n, 1);
	return XDP_PASS;
}

// 2. Two counts that belong together, each by one operation.
BPF_MAP(pair_map, ARRAY, 1, __u32, struct pair);
SEC("xdp") int pair_atomic(struct xdp_md *ctx)
{
	__u32 key = 0;
	struct pair *p = bpf_map_lookup_elem(&pair_map, &key);

	if (p) {
		__sync_fetch_and_add(&p->packets, 1);
		__sync_fetch_and_add(&p->bytes, ctx->data_end - ctx->data);
	}
	return XDP_PASS;
}

// 3. An element that the first one adds: BPF_NOEXIST, and another look.
BPF_MAP(first_map, HASH, 16, __u32, __u64);
SEC("xdp") int first_adds(struct xdp_md *ctx)
{
	__u32 key = 7;
	__u64 zero = 0, *n = bpf_map_lookup_elem(&first_map, &key);

	if (!n) {
		bpf_map_update_elem(&first_map, &key, &zero, BPF_NOEXIST);
		n = bpf_map_lookup_elem(&first_map, &key);
		if (!n)
			return XDP_PASS;
	}
	__sync_fetch_and_add(n, 1);
	return XDP_PASS;
}

// 4. The same, in an LRU map.
BPF_MAP(lru_map, LRU_HASH, 16, __u32, struct pair);
SEC("tc") int lru_adds(struct __sk_buff *skb)
{
	__u32 key = 7;
	struct pair zero = {}, *p = bpf_map_lookup_elem(&lru_map, &key);

	if (!p) {
		bpf_map_update_elem(&lru_map, &key, &zero, BPF_NOEXIST);
		p = bpf_map_lookup_elem(&lru_map, &key);
		if (!p)
			return 0;
	}
	__sync_fetch_and_add(&p->packets, 1);
	__sync_fetch_and_add(&p->bytes, skb->len);
	return 0;
}

// 5. A count for each CPU, in a softirq, which nothing of the kind interrupts.
BPF_MAP(percpu_map, PERCPU_ARRAY, 1, __u32, __u64);
SEC("xdp") int count_percpu(struct xdp_md *ctx)
{
	__u32 key = 0;
	__u64 *n = bpf_map_lookup_elem(&percpu_map, &key);

	if (n)
		*n += 1;
	return XDP_PASS;
}

// 6. A count for each CPU in a hash.
BPF_MAP(percpu_hash, PERCPU_HASH, 16, __u32, struct pair);
SEC("tc") int count_percpu_hash(struct __sk_buff *skb)
{
	__u32 key = 7;
	struct pair one = {1, skb->len}, *p = bpf_map_lookup_elem(&percpu_hash, &key);

	if (p) {
		p->packets++;
		p->bytes += skb->len;
	} else {
		bpf_map_update_elem(&percpu_hash, &key, &one, BPF_NOEXIST);
	}
	return 0;
}

// 7. A count for each CPU at a function: the program is not entered again on its CPU.
BPF_MAP(fentry_map, PERCPU_ARRAY, 1, __u32, __u64);
SEC("fentry/do_unlinkat") int count_fentry(void *ctx)
{
	__u32 key = 0;
	__u64 *n = bpf_map_lookup_elem(&fentry_map, &key);

	if (n)
		*n += 1;
	return 0;
}

// 8. Two counts under a lock.
BPF_MAP(locked_map, ARRAY, 1, __u32, struct locked);
SEC("tc") int pair_locked(struct __sk_buff *skb)
{
	__u32 key = 0;
	struct locked *v = bpf_map_lookup_elem(&locked_map, &key);

	if (!v)
		return 0;
	bpf_spin_lock(&v->lock);
	v->packets++;
	v->bytes += skb->len;
	bpf_spin_unlock(&v->lock);
	return 0;
}

// 9. A consistent copy under a lock, sent afterwards.
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} copies SEC(".maps");
BPF_MAP(copied_map, ARRAY, 1, __u32, struct locked);
SEC("tc") int copy_locked(struct __sk_buff *skb)
{
	__u32 key = 0;
	struct locked *v = bpf_map_lookup_elem(&copied_map, &key);
	struct pair copy;

	if (!v)
		return 0;
	bpf_spin_lock(&v->lock);
	v->packets++;
	v->bytes += 100;
	copy.packets = v->packets;
	copy.bytes = v->bytes;
	bpf_spin_unlock(&v->lock);
	bpf_ringbuf_output(&copies, &copy, sizeof(copy), 0);
	return 0;
}

// 10. A bucket of tokens under a lock: who gets the last one?
BPF_MAP(bucket_map, ARRAY, 1, __u32, struct locked);
SEC("tc") int bucket_locked(struct __sk_buff *skb)
{
	__u32 key = 0;
	int verdict = 2;
	struct locked *v = bpf_map_lookup_elem(&bucket_map, &key);

	if (!v)
		return 0;
	bpf_spin_lock(&v->lock);
	if (v->packets < 1) {
		v->packets++;
		verdict = 0;
	}
	bpf_spin_unlock(&v->lock);
	return verdict;
}

// 11. An element with a lock, added by the first.
BPF_MAP(flows, HASH, 16, __u32, struct locked);
SEC("tc") int flow_locked(struct __sk_buff *skb)
{
	__u32 key = 7;
	struct locked fresh = {}, *v = bpf_map_lookup_elem(&flows, &key);

	if (!v) {
		bpf_map_update_elem(&flows, &key, &fresh, BPF_NOEXIST);
		v = bpf_map_lookup_elem(&flows, &key);
		if (!v)
			return 0;
	}
	bpf_spin_lock(&v->lock);
	v->packets++;
	v->bytes += skb->len;
	bpf_spin_unlock(&v->lock);
	return 0;
}

// 12. Numbers handed out by one operation.
BPF_MAP(owners, ARRAY, 8, __u32, __u64);
__u64 next_ticket;
SEC("xdp") int ticket(struct xdp_md *ctx)
{
	__u32 mine = __sync_fetch_and_add(&next_ticket, 1) & 7;
	__u64 *slot = bpf_map_lookup_elem(&owners, &mine);

	if (slot)
		*slot = bpf_get_smp_processor_id() + 1;
	return XDP_PASS;
}

// 13. A number handed out and sent.
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} tickets SEC(".maps");
__u64 next_sent;
SEC("xdp") int ticket_sent(struct xdp_md *ctx)
{
	struct record *r = bpf_ringbuf_reserve(&tickets, sizeof(*r), 0);

	if (!r)
		return XDP_PASS;
	r->cpu = 0;
	r->value = __sync_fetch_and_add(&next_sent, 1);
	bpf_ringbuf_submit(r, 0);
	return XDP_PASS;
}

// 14. The largest value so far, by compare and exchange.
__u64 largest;
SEC("xdp") int cas_max(struct xdp_md *ctx)
{
	__u64 mine = 100 + bpf_get_smp_processor_id();

	for (int i = 0; i < 8; i++) {
		__u64 old = READ_ONCE(largest);

		if (old >= mine || __sync_val_compare_and_swap(&largest, old, mine) == old)
			break;
	}
	return XDP_PASS;
}

// 15. A count by compare and exchange.
__u64 cas_sum;
SEC("xdp") int cas_count(struct xdp_md *ctx)
{
	for (int i = 0; i < 8; i++) {
		__u64 old = READ_ONCE(cas_sum);

		if (__sync_val_compare_and_swap(&cas_sum, old, old + 3) == old)
			break;
	}
	return XDP_PASS;
}

// 16. A place that one claims, and only that one uses.
__u64 claimed, used_by;
SEC("xdp") int cas_claim(struct xdp_md *ctx)
{
	if (__sync_val_compare_and_swap(&claimed, 0, 1) != 0)
		return XDP_DROP;
	used_by = bpf_get_smp_processor_id() + 1;
	return XDP_PASS;
}

// 17. Something that is taken away at once.
__u64 waiting = 5;
SEC("xdp") int take(struct xdp_md *ctx)
{
	return __sync_lock_test_and_set(&waiting, 0) ? XDP_PASS : XDP_DROP;
}

// 18. Bits that are claimed by one operation.
__u64 bits;
SEC("xdp") int claim_bit(struct xdp_md *ctx)
{
	return __sync_fetch_and_or(&bits, 4) & 4 ? XDP_DROP : XDP_PASS;
}

// 19. A count of users: the last one resets it.
__u64 users, emptied;
SEC("xdp") int refcount(struct xdp_md *ctx)
{
	__sync_fetch_and_add(&users, 1);
	if (__sync_fetch_and_add(&users, -1) == 1)
		__sync_fetch_and_add(&emptied, 0);
	return XDP_PASS;
}

// 20. Records, each by itself.
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} records SEC(".maps");
SEC("tp_btf/sched_switch") int record_reserve(void *ctx)
{
	struct record *r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);

	if (!r)
		return 0;
	r->cpu = 1;
	r->value = 2;
	bpf_ringbuf_submit(r, 0);
	return 0;
}

// 21. The same, to a perf buffer.
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
} perf SEC(".maps");
BPF_MAP(perf_count, ARRAY, 1, __u32, __u64);
SEC("tp_btf/sched_switch") int record_perf(void *ctx)
{
	struct record r = {};
	__u32 key = 0;
	__u64 *n = bpf_map_lookup_elem(&perf_count, &key);

	if (n)
		__sync_fetch_and_add(n, 1);
	bpf_perf_event_output(ctx, &perf, BPF_F_CURRENT_CPU, &r, sizeof(r));
	return 0;
}

// 22. Only the first one reports.
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} news SEC(".maps");
BPF_MAP(known, HASH, 16, __u32, __u8);
SEC("kprobe/do_unlinkat") int report_once(void *ctx)
{
	__u32 key = bpf_get_current_pid_tgid() >> 32;
	__u8 one = 1;
	struct record r = {};

	if (bpf_map_update_elem(&known, &key, &one, BPF_NOEXIST))
		return 0;
	bpf_ringbuf_output(&news, &r, sizeof(r), 0);
	return 0;
}

// 23. What the entry of a call leaves for its return, by thread: no other CPU has it.
BPF_MAP(started, HASH, 64, __u64, __u64);
BPF_MAP(times, ARRAY, 1, __u32, __u64);
SEC("kprobe/do_unlinkat") int call_entry(void *ctx)
{
	__u64 id = bpf_get_current_pid_tgid(), now = bpf_ktime_get_ns();

	bpf_map_update_elem(&started, &id, &now, BPF_ANY);
	return 0;
}

SEC("kretprobe/do_unlinkat") int call_return(void *ctx)
{
	__u64 id = bpf_get_current_pid_tgid(), *began = bpf_map_lookup_elem(&started, &id);
	__u32 key = 0;
	__u64 *sum = bpf_map_lookup_elem(&times, &key);

	if (!began || !sum)
		return 0;
	__sync_fetch_and_add(sum, 1);
	bpf_map_delete_elem(&started, &id);
	return 0;
}

SEC("kprobe/do_rmdir") int rmdir_entry(void *ctx)
{
	__u64 id = bpf_get_current_pid_tgid(), paths = 1;

	bpf_map_update_elem(&started, &id, &paths, BPF_ANY);
	return 0;
}

// What it needs is read before the memory can become another thread's.
SEC("kretprobe/do_rmdir") int rmdir_return(void *ctx)
{
	__u64 id = bpf_get_current_pid_tgid(), n, *paths = bpf_map_lookup_elem(&started, &id);
	__u32 key = 0;
	__u64 *sum = bpf_map_lookup_elem(&times, &key);

	if (!paths || !sum)
		return 0;
	n = *(volatile __u64 *)paths;
	bpf_map_delete_elem(&started, &id);
	__sync_fetch_and_add(sum, n);
	return 0;
}

// A bit that one of them sets, in a word whose other bytes say what it is about and stay as they are.
struct claim {
	union {
		struct {
			__u8 kind, flags;
		};
		__u32 word;
	};
	__u32 tickets, served;
};
BPF_MAP(claims, ARRAY, 1, __u32, struct claim);
SEC("tc") int claims_word(struct __sk_buff *ctx)
{
	__u32 key = 0, ticket;
	struct claim *c = bpf_map_lookup_elem(&claims, &key);

	if (!c || READ_ONCE(c->kind))
		return 0;
	ticket = __sync_fetch_and_add(&c->tickets, 1);
	if (__sync_fetch_and_or(&c->word, 0x100) & 0x100)
		ticket += 4;
	return ticket + 16 * __sync_fetch_and_add(&c->served, 1);
}

// 24. Scratch memory of a CPU: each level of nesting has its own.
struct scratch {
	__u64 value[4];
};
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} levels_out SEC(".maps");
BPF_MAP(level, PERCPU_ARRAY, 1, __u32, __u32);
BPF_MAP(levels, PERCPU_ARRAY, 3, __u32, struct scratch);

static __always_inline int with_level(__u64 tag)
{
	__u32 zero = 0, at;
	__u32 *depth = bpf_map_lookup_elem(&level, &zero);
	struct scratch *s;

	if (!depth)
		return 0;
	at = READ_ONCE(*depth);
	WRITE_ONCE(*depth, at + 1);
	s = bpf_map_lookup_elem(&levels, &at);
	if (s) {
		for (int i = 0; i < 4; i++)
			WRITE_ONCE(s->value[i], tag);
		bpf_ringbuf_output(&levels_out, s, sizeof(*s), 0);
	}
	WRITE_ONCE(*depth, at);
	return 0;
}

SEC("tp_btf/sched_switch") int level_switch(void *ctx)
{
	return with_level(1);
}

SEC("fentry/do_unlinkat") int level_unlink(void *ctx)
{
	return with_level(2);
}

// 25. Scratch memory of a CPU that is used by one at a time: others do without.
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} busy_out SEC(".maps");
struct guarded {
	__u32 busy;
	__u64 value[4];
};
BPF_MAP(busy_map, PERCPU_ARRAY, 1, __u32, struct guarded);

static __always_inline int with_guard(__u64 tag)
{
	__u32 zero = 0;
	struct guarded *g = bpf_map_lookup_elem(&busy_map, &zero);

	if (!g)
		return 0;
	if (__sync_lock_test_and_set(&g->busy, 1))
		return 0;
	for (int i = 0; i < 4; i++)
		WRITE_ONCE(g->value[i], tag);
	bpf_ringbuf_output(&busy_out, g->value, sizeof(g->value), 0);
	__sync_lock_test_and_set(&g->busy, 0);
	return 0;
}

SEC("tp_btf/sched_switch") int guard_switch(void *ctx)
{
	return with_guard(1);
}

SEC("fentry/do_unlinkat") int guard_unlink(void *ctx)
{
	return with_guard(2);
}

// 26. Inner maps that user space replaces: programs find the old one or the new one.
struct inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} generation SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct inner);
} generations SEC(".maps") = {.values = {&generation}};
SEC("xdp") int inner_replaced(struct xdp_md *ctx)
{
	__u32 key = 0;
	void *in = bpf_map_lookup_elem(&generations, &key);
	__u64 *n = in ? bpf_map_lookup_elem(in, &key) : 0;

	if (n)
		__sync_fetch_and_add(n, 1);
	return XDP_PASS;
}

// 27. Two buffers: user space says which one is filled while it reads the other.
__u32 filled;
BPF_MAP(buffers, ARRAY, 2, __u32, struct pair);
SEC("xdp") int double_buffer(struct xdp_md *ctx)
{
	__u32 key = READ_ONCE(filled) & 1;
	struct pair *p = bpf_map_lookup_elem(&buffers, &key);

	if (p) {
		__sync_fetch_and_add(&p->packets, 1);
		__sync_fetch_and_add(&p->bytes, 10);
	}
	return XDP_PASS;
}

// 28. A value of each task.
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u64);
} of_task SEC(".maps");
struct task_struct {
} __attribute__((preserve_access_index));
SEC("fentry/do_unlinkat") int task_count(void *ctx)
{
	struct task_struct *t = (void *)bpf_get_current_task_btf();
	__u64 *n = bpf_task_storage_get(&of_task, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (n)
		__sync_fetch_and_add(n, 1);
	return 0;
}

// 29. A queue of work: each item goes to one.
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 8);
	__type(value, __u32);
} work SEC(".maps");
SEC("tc") int queue_work(struct __sk_buff *skb)
{
	__u32 item = 3;

	bpf_map_push_elem(&work, &item, 0);
	bpf_map_pop_elem(&work, &item);
	return 0;
}

// 30. A trie that is only looked at, with counts in its values.
struct lpm_key {
	__u32 len, addr;
};
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 8);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct lpm_key);
	__type(value, __u64);
} routes SEC(".maps");
SEC("xdp") int trie_count(struct xdp_md *ctx)
{
	struct lpm_key key = {32, 1};
	__u64 *n = bpf_map_lookup_elem(&routes, &key);

	if (n)
		__sync_fetch_and_add(n, 1);
	return XDP_PASS;
}

// 31. A flag that only ever goes up.
__u32 seen_any;
SEC("xdp") int flag_up(struct xdp_md *ctx)
{
	if (!READ_ONCE(seen_any))
		WRITE_ONCE(seen_any, 1);
	return XDP_PASS;
}

// 32. What is checked without the lock is checked again with it.
BPF_MAP(twice_map, ARRAY, 1, __u32, struct locked);
SEC("tc") int checked_twice(struct __sk_buff *skb)
{
	__u32 key = 0;
	struct locked *v = bpf_map_lookup_elem(&twice_map, &key);

	if (!v || READ_ONCE(v->state))
		return 0;
	bpf_spin_lock(&v->lock);
	if (!v->state) {
		v->state = 1;
		v->packets = 10;
		v->bytes = 20;
	}
	bpf_spin_unlock(&v->lock);
	return 0;
}

// 33. An element that is set as a whole, by a map operation.
BPF_MAP(whole_map, HASH, 16, __u32, struct pair);
SEC("tc") int set_whole(struct __sk_buff *skb)
{
	__u32 key = 7;
	struct pair p = {bpf_get_smp_processor_id(), bpf_get_smp_processor_id()};

	bpf_map_update_elem(&whole_map, &key, &p, BPF_ANY);
	return 0;
}

// 34. Who removed an element is known from the result.
BPF_MAP(resources, HASH, 16, __u32, __u64);
__u64 freed;
SEC("xdp") int freed_once(struct xdp_md *ctx)
{
	__u32 key = 7;
	__u64 one = 1;

	if (!bpf_map_lookup_elem(&resources, &key)) {
		bpf_map_update_elem(&resources, &key, &one, BPF_NOEXIST);
		return XDP_PASS;
	}
	if (bpf_map_delete_elem(&resources, &key))
		return XDP_PASS;
	__sync_fetch_and_add(&freed, 1);
	return XDP_DROP;
}

// 35. An element of a per-CPU hash that is added when there is none: another CPU that adds it does not touch this CPU's value.
BPF_MAP(drops, PERCPU_HASH, 16, __u32, struct pair);
SEC("tc") int add_percpu(struct __sk_buff *skb)
{
	__u32 key = 7;
	struct pair first = {1, skb->len}, *p = bpf_map_lookup_elem(&drops, &key);

	if (p) {
		p->packets++;
		p->bytes += skb->len;
		return 0;
	}
	bpf_map_update_elem(&drops, &key, &first, BPF_ANY);
	return 0;
}

// 36. Statistics in an array with an element for each CPU: an interrupt may take a count, another CPU may not.
BPF_MAP(by_cpu, ARRAY, 64, __u32, __u64);
SEC("fentry/tcp_rcv_established") int count_by_cpu(void *ctx)
{
	__u32 cpu = bpf_get_smp_processor_id();
	__u64 *n = bpf_map_lookup_elem(&by_cpu, &cpu);

	if (n)
		*n += 1;
	return 0;
}

SEC("fentry/tcp_v4_rcv") int count_by_cpu_too(void *ctx)
{
	__u32 cpu = bpf_get_smp_processor_id();
	__u64 *n = bpf_map_lookup_elem(&by_cpu, &cpu);

	if (n)
		*n += 1;
	return 0;
}

// 37. A scratch buffer of the CPU from which bpf_preempt_disable keeps other tasks away; interrupts do not get to these functions.
void bpf_preempt_disable(void) __ksym;
void bpf_preempt_enable(void) __ksym;
BPF_MAP(alone_map, PERCPU_ARRAY, 1, __u32, struct pair);
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} alone_out SEC(".maps");

static __always_inline int alone(__u64 tag)
{
	__u32 key = 0;
	struct pair *p = bpf_map_lookup_elem(&alone_map, &key);

	if (!p)
		return 0;
	bpf_preempt_disable();
	WRITE_ONCE(p->packets, tag);
	WRITE_ONCE(p->bytes, tag);
	bpf_ringbuf_output(&alone_out, p, sizeof(*p), 0);
	bpf_preempt_enable();
	return 0;
}

SEC("fentry/do_unlinkat") int alone_unlink(void *ctx)
{
	return alone(1);
}

SEC("fentry/vfs_read") int alone_read(void *ctx)
{
	return alone(2);
}

char _license[] SEC("license") = "GPL";
