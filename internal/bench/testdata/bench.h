/* What every benchmark program includes: types, and how it is entered.
 *
 * A program gets memory of at least 64 KiB in mem and its length in len. The first half is input, which it must
 * leave alone, so that every run does the same; the second half is scratch. The same source is compiled to BPF and,
 * for comparison, natively (-DNATIVE).
 */
#ifndef BENCH_H
#define BENCH_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed int s32;
typedef signed long long s64;

#define NOINLINE static __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline))
#define HALF 32768

#ifdef NATIVE
#define SEC(name)
#define PROGRAM(name) u64 name(u8 *mem, u64 len); u64 name(u8 *mem, u64 len)
#else
#define SEC(name) __attribute__((section(name), used))
#define PROGRAM(name) SEC("syscall") u64 name(u8 *mem, u64 len)
char LICENSE[] SEC("license") = "GPL";
#endif

INLINE u32 rotl32(u32 x, int n) { return x << n | x >> (32 - n); }
INLINE u32 rotr32(u32 x, int n) { return x >> n | x << (32 - n); }
INLINE u64 rotl64(u64 x, int n) { return x << n | x >> (64 - n); }
INLINE u32 be32(const u8 *p) { return (u32)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3]; }
INLINE u16 be16(const u8 *p) { return p[0] << 8 | p[1]; }

#endif
