// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// defaults_more: what holds of the sockets among a process's files, of ids, cgroups and network namespaces: the chains, trees and arrays they are in. The recorder has a
// TCP connection, a listening socket and a UDP socket. A result is 1 where it holds, except where the name says "number".
#include "case.h"
#include <bpf/bpf_core_read.h>

/* Ends a loop that has gone on for too long. */
#define MAY_GOTO(label) asm volatile goto("may_goto %l[" #label "]" : : : : label)

struct list_head {
	struct list_head *next, *prev;
} CORE;
struct hlist_node {
	struct hlist_node *next, **pprev;
} CORE;
struct hlist_head {
	struct hlist_node *first;
} CORE;
struct hlist_nulls_node {
	struct hlist_nulls_node *next, **pprev;
} CORE;
struct hlist_nulls_head {
	struct hlist_nulls_node *first;
} CORE;
struct rb_node {
	unsigned long __rb_parent_color;
} CORE;
struct rb_root {
	struct rb_node *rb_node;
} CORE;
struct xarray {
	void *xa_head;
} CORE;
struct xa_node {
	u8 shift, count;
	void *slots[64];
} CORE;
typedef struct {
	int counter;
} atomic_t;
typedef struct {
	atomic_t refs;
} refcount_t;

struct inet_ehash_bucket {
	struct hlist_nulls_head chain;
} CORE;
struct inet_hashinfo {
	struct inet_ehash_bucket *ehash;
	u32 ehash_mask;
} CORE;
struct proto {
	char name[32];
	void *connect, *close, *sendmsg;
} CORE;
struct net;
typedef struct {
	struct net *net;
} possible_net_t;
struct sock_common {
	u32 skc_daddr, skc_rcv_saddr, skc_hash;
	u16 skc_num, skc_dport, skc_family;
	u8 skc_state;
	struct proto *skc_prot;
	possible_net_t skc_net;
	refcount_t skc_refcnt;
	struct hlist_nulls_node skc_nulls_node;
} CORE;
struct socket_wq;
struct timer_list {
	struct hlist_node entry;
	void (*function)(struct timer_list *timer);
} CORE;
struct sock {
	struct sock_common __sk_common;
	struct socket_wq *sk_wq;
	struct socket *sk_socket;
	struct proto *sk_prot_creator;
	u16 sk_type, sk_protocol;
	struct timer_list sk_timer;
} CORE;
struct inet_sock {
	struct sock sk;
	u32 inet_saddr;
	u16 inet_sport;
} CORE;
struct inet_bind_bucket {
	u16 port;
} CORE;
struct tcp_congestion_ops {
	char name[16];
} CORE;
struct inet_connection_sock {
	struct inet_bind_bucket *icsk_bind_hash;
	struct tcp_congestion_ops *icsk_ca_ops;
	void *icsk_af_ops;
} CORE;
struct tcp_sock {
	u32 snd_una, snd_nxt, rcv_nxt, copied_seq, mss_cache, snd_cwnd, write_seq;
} CORE;
struct wait_queue_head {
	struct list_head head;
} CORE;
struct socket_wq {
	struct wait_queue_head wait;
} CORE;
typedef enum {
	SS_FREE,
} socket_state;
struct proto_ops {
	int family;
} CORE;
struct socket {
	socket_state state;
	short type;
	struct file *file;
	struct sock *sk;
	struct proto_ops *ops;
	struct socket_wq wq;
} CORE;
struct file_system_type {
	char *name;
} CORE;
struct super_block {
	struct file_system_type *s_type;
	u64 s_magic;
	void *s_bdev;
} CORE;
struct inode {
	u16 i_mode;
	void *i_fop;
	struct super_block *i_sb;
} CORE;
struct socket_alloc {
	struct socket socket;
	struct inode vfs_inode;
} CORE;
struct qstr {
	u32 len;
} CORE;
struct dentry {
	struct dentry *d_parent;
	struct inode *d_inode;
	struct qstr d_name;
	struct super_block *d_sb;
} CORE;
struct vfsmount {
	struct super_block *mnt_sb;
} CORE;
struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
} CORE;
struct file {
	struct path f_path;
	struct inode *f_inode;
	void *f_op, *private_data;
	u32 f_mode, f_flags;
} CORE;
struct fdtable {
	u32 max_fds;
	struct file **fd;
} CORE;
struct files_struct {
	struct fdtable *fdt;
} CORE;
struct netdev_name_node {
	struct hlist_node hlist;
	struct list_head list;
	struct net_device *dev;
	char *name;
} CORE;
struct net_device {
	int ifindex;
	char name[16];
	struct netdev_name_node *name_node;
	possible_net_t nd_net;
} CORE;
struct inet_timewait_death_row {
	struct inet_hashinfo *hashinfo;
} CORE;
struct netns_ipv4 {
	struct inet_timewait_death_row tcp_death_row;
} CORE;
struct net {
	struct list_head list, dev_base_head;
	struct hlist_head *dev_name_head, *dev_index_head;
	struct net_device *loopback_dev;
	void *proc_net;
	struct netns_ipv4 ipv4;
	struct xarray dev_by_index;
} CORE;
struct pid_namespace;
struct upid {
	int nr;
	struct pid_namespace *ns;
} CORE;
struct pid {
	refcount_t count;
	u32 level;
	struct hlist_head tasks[4];
	struct upid numbers[1];
} CORE;
struct idr {
	struct xarray idr_rt;
} CORE;
struct pid_namespace {
	struct idr idr;
	struct task_struct *child_reaper;
} CORE;
struct nsproxy {
	struct net *net_ns;
	struct pid_namespace *pid_ns_for_children;
} CORE;
struct signal_struct {
	struct pid *pids[4];
} CORE;
struct kernfs_node {
	struct rb_node rb;
	void *priv;
} CORE;
struct cgroup;
struct cgroup_subsys {
	int id;
	char *name;
	struct cgroup_root *root;
} CORE;
struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys *ss;
	struct list_head sibling, children;
	struct cgroup_subsys_state *parent;
	int nr_populated_csets; // on 7.2
} CORE;
struct cgroup_root;
struct cgroup {
	struct cgroup_subsys_state self;
	struct cgroup_root *root;
	struct cgroup_subsys_state *subsys[14];
	struct list_head cset_links;
	int nr_populated_csets;
} CORE;
struct cgroup_root {
	struct cgroup cgrp;
	struct list_head root_list;
} CORE;
struct css_set {
	struct cgroup_subsys_state *subsys[14];
	struct cgroup *dfl_cgrp;
	struct list_head cgrp_links;
	struct hlist_node hlist;
	refcount_t refcount;
	int nr_tasks;
} CORE;
struct cgrp_cset_link {
	struct cgroup *cgrp;
	struct css_set *cset;
	struct list_head cset_link, cgrp_link;
} CORE;
struct user_struct {
	struct hlist_node uidhash_node;
} CORE;
struct cred {
	struct user_struct *user;
} CORE;
struct task_struct {
	int pid;
	struct task_struct *group_leader;
	struct files_struct *files;
	struct nsproxy *nsproxy;
	struct pid *thread_pid;
	struct hlist_node pid_links[4];
	struct signal_struct *signal;
	struct cred *real_cred;
	struct css_set *cgroups;
} CORE;

#define AT(p, field) ((void *)&(p)->field)
#define OUTER(node, type, field) ((type *)((void *)(node) - bpf_core_field_offset(type, field)))
#define ESTABLISHED 1
#define CLOSED 7
#define LISTEN 10
#define TCP 6
#define UDP 17

static __noinline int length(u64 text)
{
	char buf[64];

	return bpf_probe_read_kernel_str(buf, sizeof(buf), (void *)text);
}

// What a list has: how many nodes, whether it closes with every node's prev right, and whether a node is on it.
struct found {
	u64 nodes, closes, has;
};

static __noinline int walk(struct found *f, u64 head, u64 node)
{
	struct list_head *prev = (void *)head, *at;

	if (!f)
		return 1;
	f->nodes = f->closes = f->has = 0;
	at = BPF_CORE_READ(prev, next);
	for (;;) {
		MAY_GOTO(out);
		if (BPF_CORE_READ(at, prev) != prev)
			return 1;
		if (at == (void *)head) {
			f->closes = 1;
			return 0;
		}
		f->nodes++;
		f->has |= at == (void *)node;
		prev = at;
		at = BPF_CORE_READ(at, next);
	}
out:
	return 1;
}

static __noinline int on_hlist(u64 head, u64 node)
{
	struct hlist_node *at = BPF_CORE_READ((struct hlist_head *)head, first);

	while (at) {
		MAY_GOTO(out);
		if (at == (void *)node)
			return 1;
		at = BPF_CORE_READ(at, next);
	}
out:
	return 0;
}

// Whether a node is in a hash chain: what comes before it leads to it.
static __noinline int chained(u64 node)
{
	struct hlist_node *at = (void *)node, *to = NULL;
	u64 back = (u64)BPF_CORE_READ(at, pprev);

	bpf_probe_read_kernel(&to, 8, (void *)back);
	return back && (u64)to == node;
}

// Where the chain of a node begins: in an array of heads from a start on.
static __noinline int begins_in(u64 node, u64 start, u64 size)
{
	u64 at = node;

	int i;

	for (i = 0; i < 16; i++) {
		at = (u64)BPF_CORE_READ((struct hlist_node *)at, pprev);
		if (!at)
			return 0;
		if (at >= start && at < start + size)
			return 1;
	}
	return 0;
}

// What an array of pointers (struct xarray) has at an index.
static __noinline u64 indexed(u64 array, u64 index)
{
	u64 at = (u64)BPF_CORE_READ((struct xarray *)array, xa_head);
	int i;

	for (i = 0; i < 6 && (at & 3) == 2 && at > 4096; i++) {
		struct xa_node *node = (void *)(at - 2);
		u64 shift = BPF_CORE_READ(node, shift);

		if (i == 0 && index >> (shift & 63) >= 64)
			return 0;
		bpf_probe_read_kernel(&at, 8, AT(node, slots) + 8 * (index >> (shift & 63) & 63));
	}
	return at;
}

// The first of a process's files that is an IPv4 socket of a protocol in a state.
static __noinline u64 socket_file(u32 protocol, u32 state)
{
	struct task_struct *cur = (void *)bpf_get_current_task();
	struct file **fd = BPF_CORE_READ(cur, files, fdt, fd), *one;
	struct socket *s;
	int i;

	for (i = 0; i < 64; i++) {
		one = NULL;
		bpf_probe_read_kernel(&one, 8, fd + i);
		if (!one || (BPF_CORE_READ(one, f_inode, i_mode) & 0170000) != 0140000)
			continue;
		s = BPF_CORE_READ(one, private_data);
		if (BPF_CORE_READ(s, sk, __sk_common.skc_family) == 2 && BPF_CORE_READ(s, sk, sk_protocol) == protocol && BPF_CORE_READ(s, sk, __sk_common.skc_state) == state)
			return (u64)one;
	}
	return 0;
}

SEC("syscall") int t_tcp_file(void *ctx)
{
	struct task_struct *cur = (void *)bpf_get_current_task();
	struct file *f = (void *)socket_file(TCP, ESTABLISHED);
	struct inode *inode = BPF_CORE_READ(f, f_inode);
	struct socket *s = BPF_CORE_READ(f, private_data);
	struct sock *sk = BPF_CORE_READ(s, sk);
	struct dentry *d = BPF_CORE_READ(f, f_path.dentry);
	struct super_block *sb = BPF_CORE_READ(inode, i_sb);
	struct found w;

	CHECK("file: one is a TCP connection", f != NULL);
	CHECK("file: number of the mode's reading and writing", BPF_CORE_READ(f, f_mode) & 3);
	CHECK("file: number of the flags", BPF_CORE_READ(f, f_flags) & 3);
	CHECK("file: operations of sockets", BPF_CORE_READ(f, f_op) && BPF_CORE_READ(f, f_op) != BPF_CORE_READ(inode, i_fop));
	CHECK("file: the dentry's inode", BPF_CORE_READ(d, d_inode) == inode);
	CHECK("file: a dentry without a directory", BPF_CORE_READ(d, d_parent) == d);
	CHECK("file: number of bytes of the name", BPF_CORE_READ(d, d_name.len));
	CHECK("file: the dentry's file system", BPF_CORE_READ(d, d_sb) == sb);
	CHECK("file: the mount's file system", BPF_CORE_READ(f, f_path.mnt, mnt_sb) == sb);
	CHECK("file system: number of the name's bytes", length((u64)BPF_CORE_READ(sb, s_type, name)));
	CHECK("file system: number", BPF_CORE_READ(sb, s_magic));
	CHECK("file system: on no disk", BPF_CORE_READ(sb, s_bdev) == NULL);
	CHECK("inode: allocated with the socket", OUTER(inode, struct socket_alloc, vfs_inode) == OUTER(s, struct socket_alloc, socket));
	CHECK("inode: number of the mode", BPF_CORE_READ(inode, i_mode));
	CHECK("socket: leads back to the file", BPF_CORE_READ(s, file) == f);
	CHECK("socket: number of the state", BPF_CORE_READ(s, state));
	CHECK("socket: type", BPF_CORE_READ(s, type) == BPF_CORE_READ(sk, sk_type));
	CHECK("socket: number of the family of the operations", BPF_CORE_READ(s, ops, family));
	CHECK("sock: leads back", BPF_CORE_READ(sk, sk_socket) == s);
	CHECK("sock: waits in the socket", BPF_CORE_READ(sk, sk_wq) == AT(s, wq));
	walk(&w, (u64)AT(s, wq.wait.head), 0);
	CHECK("socket: those who wait close", w.closes);
	CHECK("sock: network namespace of the task", BPF_CORE_READ(sk, __sk_common.skc_net.net) == BPF_CORE_READ(cur, nsproxy, net_ns));
	CHECK("sock: number of the type", BPF_CORE_READ(sk, sk_type));
	CHECK("sock: operations of its creation", BPF_CORE_READ(sk, sk_prot_creator) == BPF_CORE_READ(sk, __sk_common.skc_prot));
	CHECK("sock: number of bytes of the operations' name", length((u64)BPF_CORE_READ(sk, __sk_common.skc_prot)+bpf_core_field_offset(struct proto, name)));
	CHECK("sock: operations connect, close and send", BPF_CORE_READ(sk, __sk_common.skc_prot, connect) && BPF_CORE_READ(sk, __sk_common.skc_prot, close) && BPF_CORE_READ(sk, __sk_common.skc_prot, sendmsg));
	CHECK("sock: references", BPF_CORE_READ(sk, __sk_common.skc_refcnt.refs.counter) >= 1);
	CHECK("sock: a timer that knows what to do", BPF_CORE_READ(sk, sk_timer.function) != NULL);
	return 0;
}

SEC("syscall") int t_tcp_sock(void *ctx)
{
	struct file *f = (void *)socket_file(TCP, ESTABLISHED);
	struct socket *s = BPF_CORE_READ(f, private_data);
	struct sock *sk = BPF_CORE_READ(s, sk);
	struct inet_sock *inet = (void *)sk;
	struct inet_connection_sock *icsk = (void *)sk;
	struct tcp_sock *tp = (void *)sk;
	struct inet_hashinfo *h = BPF_CORE_READ(sk, __sk_common.skc_net.net, ipv4.tcp_death_row.hashinfo);
	u32 mask = BPF_CORE_READ(h, ehash_mask), hash = BPF_CORE_READ(sk, __sk_common.skc_hash);
	struct hlist_nulls_node *at, **back;
	u16 num = BPF_CORE_READ(sk, __sk_common.skc_num);
	int i, found = 0, linked = 1;
	u64 slot;

	CHECK("connection: has a port", num != 0);
	CHECK("connection: the port in network order", BPF_CORE_READ(inet, inet_sport) == bpf_htons(num));
	CHECK("connection: the address in inet_sock", BPF_CORE_READ(inet, inet_saddr) == BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr));
	CHECK("connection: the other port", BPF_CORE_READ(sk, __sk_common.skc_dport) != 0);
	CHECK("connection: the other address", BPF_CORE_READ(sk, __sk_common.skc_daddr) != 0);
	CHECK("connection: bound to its port", BPF_CORE_READ(icsk, icsk_bind_hash, port) == num);
	CHECK("connection: congestion control with a name", length((u64)BPF_CORE_READ(icsk, icsk_ca_ops) + bpf_core_field_offset(struct tcp_congestion_ops, name)) > 1);
	CHECK("connection: operations of the family", BPF_CORE_READ(icsk, icsk_af_ops) != NULL);
	CHECK("connection: sent what is acknowledged", (s32)(BPF_CORE_READ(tp, snd_nxt) - BPF_CORE_READ(tp, snd_una)) >= 0);
	CHECK("connection: wrote what is sent", (s32)(BPF_CORE_READ(tp, write_seq) - BPF_CORE_READ(tp, snd_nxt)) >= 0);
	CHECK("connection: received what is read", (s32)(BPF_CORE_READ(tp, rcv_nxt) - BPF_CORE_READ(tp, copied_seq)) >= 0);
	CHECK("connection: segments have bytes", BPF_CORE_READ(tp, mss_cache) > 0);
	CHECK("connection: a window", BPF_CORE_READ(tp, snd_cwnd) > 0);
	CHECK("hash: a power of two", mask && (mask & (mask + 1)) == 0);
	slot = (u64)BPF_CORE_READ(h, ehash) + (hash & mask) * bpf_core_type_size(struct inet_ehash_bucket);
	back = (void *)slot;
	at = NULL;
	bpf_probe_read_kernel(&at, 8, back);
	for (i = 0; i < 64 && !((u64)at & 1); i++) {
		found |= at == AT(sk, __sk_common.skc_nulls_node);
		linked &= BPF_CORE_READ(at, pprev) == back;
		back = AT(at, next);
		at = BPF_CORE_READ(at, next);
	}
	CHECK("hash: has the connection", found);
	CHECK("hash: the chain leads back", linked);
	CHECK("hash: the chain ends with its number", (u64)at >> 1 == (hash & mask));
	return 0;
}

SEC("syscall") int t_other_socks(void *ctx)
{
	struct file *f = (void *)socket_file(TCP, LISTEN), *g = (void *)socket_file(UDP, CLOSED);
	struct socket *s = BPF_CORE_READ(f, private_data), *u = BPF_CORE_READ(g, private_data);
	struct sock *sk = BPF_CORE_READ(s, sk), *usk = BPF_CORE_READ(u, sk);

	CHECK("file: one is a listening socket", f != NULL);
	CHECK("listening: number of the socket's state", BPF_CORE_READ(s, state));
	CHECK("listening: no other side", BPF_CORE_READ(sk, __sk_common.skc_daddr) == 0 && BPF_CORE_READ(sk, __sk_common.skc_dport) == 0);
	CHECK("listening: has a port", BPF_CORE_READ(sk, __sk_common.skc_num) != 0);
	CHECK("listening: bound to its port", BPF_CORE_READ((struct inet_connection_sock *)sk, icsk_bind_hash, port) == BPF_CORE_READ(sk, __sk_common.skc_num));
	CHECK("listening: in a chain", chained((u64)AT(sk, __sk_common.skc_nulls_node)));
	CHECK("listening: leads back", BPF_CORE_READ(sk, sk_socket) == s && BPF_CORE_READ(s, file) == f);
	CHECK("file: one is a UDP socket", g != NULL);
	CHECK("UDP: number of the socket's state", BPF_CORE_READ(u, state));
	CHECK("UDP: number of the type", BPF_CORE_READ(u, type));
	CHECK("UDP: type", BPF_CORE_READ(u, type) == BPF_CORE_READ(usk, sk_type));
	CHECK("UDP: operations of another protocol", BPF_CORE_READ(usk, __sk_common.skc_prot) != BPF_CORE_READ(sk, __sk_common.skc_prot));
	CHECK("UDP: other operations of the socket", BPF_CORE_READ(u, ops) != BPF_CORE_READ(s, ops));
	CHECK("UDP: the same operations of the file", BPF_CORE_READ(f, f_op) == BPF_CORE_READ(g, f_op));
	CHECK("UDP: has a port", BPF_CORE_READ(usk, __sk_common.skc_num) != 0);
	CHECK("UDP: number of bytes of the operations' name", length((u64)BPF_CORE_READ(usk, __sk_common.skc_prot) + bpf_core_field_offset(struct proto, name)));
	CHECK("UDP: leads back", BPF_CORE_READ(usk, sk_socket) == u && BPF_CORE_READ(u, file) == g);
	return 0;
}

SEC("syscall") int t_ids(void *ctx)
{
	struct task_struct *cur = (void *)bpf_get_current_task();
	struct user_struct *user = BPF_CORE_READ(cur, real_cred, user);
	struct pid *pid = BPF_CORE_READ(cur, thread_pid), *tgid = BPF_CORE_READ(cur, signal, pids[1]), *init;
	struct pid_namespace *ns = BPF_CORE_READ(pid, numbers[0].ns);

	init = BPF_CORE_READ(ns, child_reaper, thread_pid);
	CHECK("id: in the namespace's tree by its number", indexed((u64)AT(ns, idr.idr_rt), BPF_CORE_READ(cur, pid)) == (u64)pid);
	CHECK("id: the process is in the tree", indexed((u64)AT(ns, idr.idr_rt), BPF_CORE_READ(tgid, numbers[0].nr)) == (u64)tgid);
	CHECK("id: init is in the tree", indexed((u64)AT(ns, idr.idr_rt), 1) == (u64)init);
	CHECK("id: no other number leads to it", indexed((u64)AT(ns, idr.idr_rt), 0) == 0);
	CHECK("id: references", BPF_CORE_READ(pid, count.refs.counter) >= 1);
	CHECK("id: the task's link leads back", chained((u64)AT(cur, pid_links[0])));
	CHECK("user: in the hash", chained((u64)AT(user, uidhash_node)));
	return 0;
}

SEC("syscall") int t_cgroups(void *ctx)
{
	struct task_struct *cur = (void *)bpf_get_current_task();
	struct css_set *set = BPF_CORE_READ(cur, cgroups);
	struct cgroup *cg = BPF_CORE_READ(set, dfl_cgrp);
	struct cgroup_subsys_state *up = BPF_CORE_READ(cg, self.parent), *css;
	struct cgroup_root *root = BPF_CORE_READ(cg, root);
	struct list_head *at;
	struct cgrp_cset_link *link;
	int i, sets, mine = 0, right = 1, states = 0, wrong = 0, own = 0;
	struct found f;

	CHECK("set: in the hash", chained((u64)AT(set, hlist)));
	CHECK("set: references", BPF_CORE_READ(set, refcount.refs.counter) >= 1);
	at = BPF_CORE_READ(cg, cset_links.next);
	for (i = 0; i < 256 && at != AT(cg, cset_links); i++) {
		link = OUTER(at, struct cgrp_cset_link, cset_link);
		mine |= BPF_CORE_READ(link, cset) == set;
		right &= BPF_CORE_READ(link, cgrp) == cg;
		at = BPF_CORE_READ(at, next);
	}
	CHECK("cgroup: has the set", mine);
	CHECK("cgroup: all links are its own", right);
	at = BPF_CORE_READ(set, cgrp_links.next);
	for (i = 0; i < 64 && at != AT(set, cgrp_links); i++) {
		link = OUTER(at, struct cgrp_cset_link, cgrp_link);
		own |= BPF_CORE_READ(link, cgrp) == cg;
		at = BPF_CORE_READ(at, next);
	}
	CHECK("set: has the cgroup", own);
	if (bpf_core_field_exists(cg->nr_populated_csets))
		sets = BPF_CORE_READ(cg, nr_populated_csets);
	else
		sets = BPF_CORE_READ(cg, self.nr_populated_csets);
	CHECK("cgroup: has tasks", sets >= 1);
	for (i = 0; i < 8; i++) {
		css = BPF_CORE_READ(set, subsys[i]);
		if (!css)
			continue;
		states++;
		wrong += BPF_CORE_READ(css, ss, id) != i || length((u64)BPF_CORE_READ(css, ss, name)) < 2 || BPF_CORE_READ(css, cgroup, subsys[i]) != css || BPF_CORE_READ(css, cgroup, root) != BPF_CORE_READ(css, ss, root);
	}
	CHECK("set: states of controllers", states > 0);
	CHECK("set: every state is that of its controller and cgroup", wrong == 0);
	f.closes = f.has = 1;
	if (up)
		walk(&f, (u64)AT(up, children), (u64)AT(cg, self.sibling));
	CHECK("cgroup: a child of its parent", f.has && f.closes);
	walk(&f, (u64)AT(cg, self.children), 0);
	CHECK("cgroup: its children close", f.closes);
	walk(&f, (u64)AT(root, root_list), 0);
	CHECK("roots: close", f.closes);
	return 0;
}

SEC("syscall") int t_net(void *ctx)
{
	struct task_struct *cur = (void *)bpf_get_current_task();
	struct net *net = BPF_CORE_READ(cur, nsproxy, net_ns);
	struct list_head *node = AT(net, list), *next = BPF_CORE_READ(node, next), *prev = BPF_CORE_READ(node, prev);

	CHECK("namespace: in the list of all", BPF_CORE_READ(next, prev) == node && BPF_CORE_READ(prev, next) == node);
	CHECK("namespace: has files in /proc", BPF_CORE_READ(net, proc_net) != NULL);
	return 0;
}

SEC("syscall") int t_names(void *ctx)
{
	struct task_struct *cur = (void *)bpf_get_current_task();
	struct net *net = BPF_CORE_READ(cur, nsproxy, net_ns);
	struct net_device *lo = BPF_CORE_READ(net, loopback_dev);
	struct netdev_name_node *name = BPF_CORE_READ(lo, name_node);
	struct list_head *list = AT(name, list);

	CHECK("name: of the device", BPF_CORE_READ(name, dev) == lo);
	CHECK("name: the device's own", BPF_CORE_READ(name, name) == AT(lo, name));
	CHECK("name: the only one", BPF_CORE_READ(list, next) == list && BPF_CORE_READ(list, prev) == list);
	CHECK("name: in a chain", chained((u64)AT(name, hlist)));
	CHECK("name: in the namespace's table", begins_in((u64)AT(name, hlist), (u64)BPF_CORE_READ(net, dev_name_head), 256 * 8));
	CHECK("device: in the namespace's tree by its index", indexed((u64)AT(net, dev_by_index), BPF_CORE_READ(lo, ifindex)) == (u64)lo);
	return 0;
}
