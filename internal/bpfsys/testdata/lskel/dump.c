// SPDX-License-Identifier: MIT
// Prints the loader program of a light skeleton as JSON: the skeleton's own functions call bpf_load_and_run with it, and this file is
// what they find in place of libbpf's <bpf/skel_internal.h>.
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint32_t __u32;
typedef uint64_t __u64;

struct bpf_map_desc {
	int map_fd;
	__u32 max_entries;
	__u64 initial_value;
};
struct bpf_prog_desc {
	int prog_fd;
};
struct bpf_loader_ctx {
	__u32 sz, flags, log_level, log_size;
	__u64 log_buf;
};
struct bpf_load_and_run_opts {
	struct bpf_loader_ctx *ctx;
	const void *data, *insns;
	__u32 data_sz, insns_sz;
	const char *errstr;
	void *signature;
	__u32 signature_sz;
	int keyring_id;
	void *excl_prog_hash;
	__u32 excl_prog_hash_sz;
};

#define PROT_READ 1
#define PROT_WRITE 2

static int values;

static void hex(const char *name, const void *p, size_t n, const char *end)
{
	printf("\"%s\":\"", name);
	for (size_t i = 0; i < n; i++)
		printf("%02x", ((const unsigned char *)p)[i]);
	printf("\"%s", end);
}

static void *skel_alloc(size_t n) { return calloc(1, n); }
static void skel_free(const void *p) { (void)p; }
static void skel_closenz(int fd) { (void)fd; }
static void skel_free_map_data(void *p, __u64 at, size_t n) { (void)p, (void)at, (void)n; }
static void *skel_finalize_map_data(__u64 *at, size_t n, int prot, int fd) { return (void)at, (void)n, (void)prot, (void)fd, NULL; }
static int skel_raw_tracepoint_open(const char *name, int fd) { return (void)name, (void)fd, -1; }
static int skel_link_create(int prog, int target, int type) { return (void)prog, (void)target, (void)type, -1; }

// The initial values of maps, in the order of the skeleton.
static void *skel_prep_map_data(const void *val, size_t room, size_t n)
{
	void *p = calloc(1, room);

	memcpy(p, val, n);
	printf("%s", values++ ? "," : "\"values\":[");
	printf("{\"room\":%zu,", room);
	hex("data", val, n, "}");
	return p;
}

static int bpf_load_and_run(struct bpf_load_and_run_opts *opts)
{
	printf("%s", values ? "]," : "");
	printf("\"context\":%u,", opts->ctx->sz);
	hex("data", opts->data, opts->data_sz, ",");
	hex("insns", opts->insns, opts->insns_sz, "");
	return -1;
}

#include "lskel.lskel.h"

int main(void)
{
	struct lskel *skel;

	printf("{");
	skel = lskel__open();
	lskel__load(skel);
	printf("}\n");
}
