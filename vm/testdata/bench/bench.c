// Programs of the interpreter's benchmarks. r1 = 64 KiB of memory, r2 = its length.
// SPDX-License-Identifier: Apache-2.0
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
#define SEC(n) __attribute__((section(n), used))
#define noinline __attribute__((noinline))

SEC("bench/fib") u64 fib(void *mem, u64 len)
{
	u64 a = 0, b = 1;
	for (u32 i = 0; i < 10000; i++) {
		u64 c = a + b;
		a = b;
		b = c;
		asm volatile("" : "+r"(a), "+r"(b));
	}
	return a;
}

SEC("bench/hash") u64 hash(u8 *mem, u64 len)
{
	u32 h = 2166136261u;
	for (u64 i = 0; i < 8192; i++) {
		h ^= mem[i];
		h *= 16777619u;
	}
	return h;
}

SEC("bench/hash64") u64 hash64(u64 *mem, u64 len)
{
	u64 h = 0x9e3779b97f4a7c15ull;
	for (u64 i = 0; i < 4096; i++) {
		u64 k = mem[i] * 0x87c37b91114253d5ull;
		k = (k << 31) | (k >> 33);
		h ^= k * 0x4cf5ad432745937full;
		h = (h << 27) | (h >> 37);
		h = h * 5 + 0x52dce729;
	}
	return h;
}

SEC("bench/sieve") u64 sieve(u8 *mem, u64 len)
{
	u64 n = 0;
	for (u64 i = 0; i < 20000; i++) {
		mem[i] = 1;
		asm volatile("" ::: "memory");
	}
	for (u64 i = 2; i < 20000; i++) {
		if (!mem[i])
			continue;
		n++;
		for (u64 j = i * 2; j < 20000; j += i)
			mem[j] = 0;
	}
	return n;
}

SEC("bench/matmul") u64 matmul(u32 *mem, u64 len)
{
	u32 *a = mem, *b = mem + 400, *c = mem + 800;
	u64 s = 0;
	for (u32 i = 0; i < 800; i++)
		mem[i] = i * 7;
	for (u32 i = 0; i < 20; i++)
		for (u32 j = 0; j < 20; j++) {
			u32 t = 0;
			for (u32 k = 0; k < 20; k++)
				t += a[i * 20 + k] * b[k * 20 + j];
			c[i * 20 + j] = t;
			s += t;
		}
	return s;
}

struct hdr { u8 dst[6], src[6]; u16 proto; u8 ihl, tos; u16 tot, id, frag; u8 ttl, p; u16 csum; u32 sa, da; u16 sp, dp; } __attribute__((packed));

SEC("bench/pkt") u64 pkt(u8 *mem, u64 len)
{
	u64 n = 0;
	for (u32 i = 0; i < 200; i++) {
		u8 *data = mem + (i & 63) * 64, *end = data + 64;
		struct hdr *h = (void *)data;
		if (data + sizeof(*h) > end)
			return 1;
		if (__builtin_bswap16(h->proto) != 0x800) {
			n += 3;
			h->proto = __builtin_bswap16(0x800);
			continue;
		}
		u32 sum = 0;
		u16 *w = (u16 *)&h->ihl;
		for (u32 k = 0; k < 10; k++)
			sum += w[k];
		sum = (sum & 0xffff) + (sum >> 16);
		if (h->ttl)
			h->ttl--;
		if (h->p == 6 && __builtin_bswap16(h->dp) == 80)
			n += 2;
		n += sum & 0xf;
		h->csum = ~sum;
	}
	return n;
}

#ifdef ONE_SECTION
static noinline SEC("bench/calls") u64 mid(u64 a, u64 b);
SEC("bench/calls") u64 calls(u8 *mem, u64 len)
{
	u64 x = 1;
	for (u32 i = 0; i < 1000; i++)
		x = mid(x, i);
	return x;
}
static noinline SEC("bench/calls") u64 leaf(u64 a, u64 b) { asm volatile("" : "+r"(a)); return a * 3 + b; }
static noinline SEC("bench/calls") u64 mid(u64 a, u64 b) { return leaf(a, b) ^ leaf(b, a); }
#endif
