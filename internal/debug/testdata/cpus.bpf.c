// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// cpus: programs that share maps, for sessions on several CPUs: a count that loses updates, one under a lock, one value for each CPU, and
// records.
typedef unsigned int __u32;
typedef unsigned long long __u64;

#define SEC(name) __attribute__((section(name), used))

struct bpf_spin_lock {
	__u32 val;
};

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static __u32 (*bpf_get_smp_processor_id)(void) = (void *)8;
static long (*bpf_spin_lock)(struct bpf_spin_lock *lock) = (void *)93;
static long (*bpf_spin_unlock)(struct bpf_spin_lock *lock) = (void *)94;
static long (*bpf_ringbuf_output)(void *ringbuf, void *data, __u64 size, __u64 flags) = (void *)130;

struct {
	int (*type)[2]; // BPF_MAP_TYPE_ARRAY
	int (*max_entries)[1];
	__u32 *key;
	__u64 *value;
} hits SEC(".maps");

struct guarded {
	struct bpf_spin_lock lock;
	__u32 n;
};

struct {
	int (*type)[2];
	int (*max_entries)[1];
	__u32 *key;
	struct guarded *value;
} safe SEC(".maps");

struct {
	int (*type)[6]; // BPF_MAP_TYPE_PERCPU_ARRAY
	int (*max_entries)[1];
	__u32 *key;
	__u64 *value;
} mine SEC(".maps");

struct {
	int (*type)[27]; // BPF_MAP_TYPE_RINGBUF
	int (*max_entries)[4096];
} events SEC(".maps");

// count adds one as C does it: a load, an addition, a store.
SEC("tc") int count(void *ctx)
{
	__u32 zero = 0;
	__u64 *n = bpf_map_lookup_elem(&hits, &zero);

	if (!n)
		return 2;
	*n += 1;
	return 0;
}

// count_locked adds one under a lock.
SEC("tc") int count_locked(void *ctx)
{
	__u32 zero = 0;
	struct guarded *g = bpf_map_lookup_elem(&safe, &zero);

	if (!g)
		return 2;
	bpf_spin_lock(&g->lock);
	g->n++;
	bpf_spin_unlock(&g->lock);
	return 0;
}

// report counts in the value of its CPU and tells user space which that is.
SEC("tc") int report(void *ctx)
{
	__u32 zero = 0, cpu = bpf_get_smp_processor_id();
	__u64 *n = bpf_map_lookup_elem(&mine, &zero);

	if (!n)
		return 2;
	*n += 1;
	bpf_ringbuf_output(&events, &cpu, sizeof(cpu), 0);
	return 0;
}

// oops reads what a lookup did not find while it holds a lock.
SEC("tc") int oops(void *ctx)
{
	__u32 zero = 0, one = 1;
	struct guarded *g = bpf_map_lookup_elem(&safe, &zero);
	__u64 *n = bpf_map_lookup_elem(&hits, &one);

	if (!g)
		return 2;
	bpf_spin_lock(&g->lock);
	g->n = *n;
	bpf_spin_unlock(&g->lock);
	return 0;
}

// Two locks in both orders, on kernels that have them: the second of two CPUs that wait for each other is told so.
struct bpf_res_spin_lock {
	__u32 val;
};
extern int bpf_res_spin_lock(struct bpf_res_spin_lock *lock) __attribute__((section(".ksyms"), weak));
extern void bpf_res_spin_unlock(struct bpf_res_spin_lock *lock) __attribute__((section(".ksyms"), weak));

struct resilient {
	struct bpf_res_spin_lock lock;
	__u32 n;
};

struct {
	int (*type)[2];
	int (*max_entries)[2];
	__u32 *key;
	struct resilient *value;
} pair SEC(".maps");

static __attribute__((always_inline)) int both(__u32 first, __u32 second)
{
	struct resilient *a = bpf_map_lookup_elem(&pair, &first), *b = bpf_map_lookup_elem(&pair, &second);
	int err;

	if (!a || !b || bpf_res_spin_lock(&a->lock))
		return 2;
	err = bpf_res_spin_lock(&b->lock);
	if (!err) {
		b->n++;
		bpf_res_spin_unlock(&b->lock);
	}
	bpf_res_spin_unlock(&a->lock);
	return err ? 1 : 0;
}

SEC("tc") int lock_ab(void *ctx) { return both(0, 1); }
SEC("tc") int lock_ba(void *ctx) { return both(1, 0); }

char LICENSE[] SEC("license") = "GPL";
