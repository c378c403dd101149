// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// ldabs: the packet access instructions of classic BPF: absolute and indirect loads of 1, 2 and 4 bytes; outside of the packet they end the program.
#include "types.h"
#include <bpf/bpf_helpers.h>

unsigned long long load_byte(void *skb, unsigned long long off) asm("llvm.bpf.load.byte");
unsigned long long load_half(void *skb, unsigned long long off) asm("llvm.bpf.load.half");
unsigned long long load_word(void *skb, unsigned long long off) asm("llvm.bpf.load.word");

SEC("socket")
int classic(struct __sk_buff *skb)
{
	__u64 hlen;

	if (load_half(skb, 12) != ETH_P_IP)
		return 0;
	if (load_byte(skb, 23) != IPPROTO_TCP)
		return 1;
	hlen = (load_byte(skb, 14) & 0xf) * 4;
	if (load_half(skb, 14 + hlen + 2) == 80)
		return load_word(skb, 26);
	return 2;
}

SEC("socket")
int beyond(struct __sk_buff *skb)
{
	return load_word(skb, 100000) | 1;
}

char LICENSE[] SEC("license") = "GPL";
