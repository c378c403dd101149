/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Contexts and numbers of programs of sockets and cgroups: user ABI, so nothing in here is relocated.
 */
#ifndef BPFRUN_SOCK_H
#define BPFRUN_SOCK_H

#include "types.h"

#define AF_INET 2
#define AF_INET6 10
#define SOL_SOCKET 1
#define SOL_TCP 6
#define SO_MARK 36
#define TCP_CONGESTION 13
#define TCP_LISTEN 10

enum {
	SOCK_OPS_TCP_CONNECT = 3,
	SOCK_OPS_ACTIVE_ESTABLISHED = 4,
	SOCK_OPS_PASSIVE_ESTABLISHED = 5,
	SOCK_OPS_STATE = 10,
	SOCK_OPS_PARSE_HDR_OPT = 13,
	SOCK_OPS_HDR_OPT_LEN = 14,
	SOCK_OPS_WRITE_HDR_OPT = 15,
	SOCK_OPS_STATE_FLAG = 1 << 2,
	SOCK_OPS_WRITE_HDR_OPT_FLAG = 1 << 6,
};

struct bpf_sock {
	__u32 bound_dev_if;
	__u32 family;
	__u32 type;
	__u32 protocol;
	__u32 mark;
	__u32 priority;
	__u32 src_ip4;
	__u32 src_ip6[4];
	__u32 src_port;
	__be16 dst_port;
	__u16 padding;
	__u32 dst_ip4;
	__u32 dst_ip6[4];
	__u32 state;
	__s32 rx_queue_mapping;
};

struct bpf_tcp_sock {
	__u32 snd_cwnd;
	__u32 srtt_us;
	__u32 rtt_min;
	__u32 snd_ssthresh;
};

struct bpf_sk_lookup {
	__u64 sk;
	__u32 family;
	__u32 protocol;
	__u32 remote_ip4;
	__u32 remote_ip6[4];
	__be16 remote_port;
	__u16 padding;
	__u32 local_ip4;
	__u32 local_ip6[4];
	__u32 local_port;
	__u32 ingress_ifindex;
};

struct bpf_sock_ops {
	__u32 op;
	union {
		__u32 args[4];
		__u32 reply;
	};
	__u32 family;
	__u32 remote_ip4;
	__u32 local_ip4;
	__u32 remote_ip6[4];
	__u32 local_ip6[4];
	__u32 remote_port;
	__u32 local_port;
	__u32 is_fullsock;
	__u32 snd_cwnd;
	__u32 srtt_us;
	__u32 bpf_sock_ops_cb_flags;
	__u32 state;
};

struct bpf_sock_addr {
	__u32 user_family;
	__u32 user_ip4;
	__u32 user_ip6[4];
	__u32 user_port;
	__u32 family;
	__u32 type;
	__u32 protocol;
	__u32 msg_src_ip4;
	__u32 msg_src_ip6[4];
	__u64 sk;
};

struct bpf_sockopt {
	__u64 sk;
	__u64 optval;
	__u64 optval_end;
	__s32 level;
	__s32 optname;
	__s32 optlen;
	__s32 retval;
};

struct bpf_sysctl {
	__u32 write;
	__u32 file_pos;
};

struct bpf_cgroup_dev_ctx {
	__u32 access_type;
	__u32 major;
	__u32 minor;
};

#endif
