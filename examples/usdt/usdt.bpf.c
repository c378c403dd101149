// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// usdt: a probe a program was compiled with; libbpf finds its arguments by the specs user space puts into maps.
#include "kernel.h"
#include "regs.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>

struct query {
	__u64 cookie;
	__u32 count;
	int status;
	char text[64];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024);
} queries SEC(".maps");

const struct query *unused_query __attribute__((unused));

SEC("usdt//usr/sbin/mysqld:mysql:query__done")
int BPF_USDT(on_query, int status, const char *text)
{
	struct query q = {};

	q.cookie = bpf_usdt_cookie(ctx);
	q.count = bpf_usdt_arg_cnt(ctx);
	q.status = status;
	bpf_probe_read_user_str(q.text, sizeof(q.text), text);
	bpf_ringbuf_output(&queries, &q, sizeof(q), 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
