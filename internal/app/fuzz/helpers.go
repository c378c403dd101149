package fuzz

import (
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// fails says how helpers fail in a kernel without that the program or its input is to blame.
var fails = sync.OnceValue(func() map[string][]uint64 {
	return map[string][]uint64{
		"bpf_ringbuf_reserve": {0}, "bpf_ringbuf_reserve_dynptr": {uapi.ENOSPC.Ret()}, "bpf_ringbuf_output": {uapi.EAGAIN.Ret()},
		"bpf_perf_event_output": {uapi.ENOSPC.Ret(), uapi.ENOENT.Ret()}, "bpf_skb_output": {uapi.ENOSPC.Ret()}, "bpf_xdp_output": {uapi.ENOSPC.Ret()},
		"bpf_map_update_elem": {uapi.E2BIG.Ret(), uapi.ENOMEM.Ret()}, "bpf_map_push_elem": {uapi.E2BIG.Ret()},
		"bpf_probe_read": {uapi.EFAULT.Ret()}, "bpf_probe_read_kernel": {uapi.EFAULT.Ret()}, "bpf_probe_read_user": {uapi.EFAULT.Ret()},
		"bpf_probe_read_str": {uapi.EFAULT.Ret()}, "bpf_probe_read_kernel_str": {uapi.EFAULT.Ret()}, "bpf_probe_read_user_str": {uapi.EFAULT.Ret()},
		"bpf_copy_from_user": {uapi.EFAULT.Ret()}, "bpf_get_stackid": {uapi.EEXIST.Ret()}, "bpf_get_stack": {uapi.EFAULT.Ret()}, "bpf_d_path": {uapi.ENAMETOOLONG.Ret()},
		"bpf_task_storage_get": {0}, "bpf_sk_storage_get": {0}, "bpf_inode_storage_get": {0}, "bpf_cgrp_storage_get": {0}, "bpf_obj_new_impl": {0},
		"bpf_sk_lookup_tcp": {0}, "bpf_sk_lookup_udp": {0}, "bpf_skc_lookup_tcp": {0},
		"bpf_xdp_adjust_head": {uapi.EINVAL.Ret()}, "bpf_xdp_adjust_tail": {uapi.EINVAL.Ret()}, "bpf_xdp_adjust_meta": {uapi.EINVAL.Ret()},
		"bpf_skb_adjust_room": {uapi.ENOMEM.Ret()}, "bpf_skb_change_head": {uapi.ENOMEM.Ret()}, "bpf_skb_change_tail": {uapi.ENOMEM.Ret()}, "bpf_skb_pull_data": {uapi.ENOMEM.Ret()},
		"bpf_skb_vlan_push": {uapi.ENOMEM.Ret()}, "bpf_skb_vlan_pop": {uapi.ENOMEM.Ret()},
		"bpf_fib_lookup": {1, 2, 3, 4, 5, 6, 7, 8}, "bpf_check_mtu": {1, 2}, "bpf_timer_init": {uapi.EBUSY.Ret()},
	}
})

// numbers are helpers that return what the world outside decides.
var numbers = sync.OnceValue(func() map[string]bool {
	return map[string]bool{
		"bpf_get_prandom_u32": true, "bpf_get_current_pid_tgid": true, "bpf_get_current_uid_gid": true, "bpf_get_current_cgroup_id": true, "bpf_get_current_ancestor_cgroup_id": true,
		"bpf_get_socket_cookie": true, "bpf_get_netns_cookie": true, "bpf_get_socket_uid": true, "bpf_skb_cgroup_id": true, "bpf_get_cgroup_classid": true, "bpf_get_attach_cookie": true,
		"bpf_current_task_under_cgroup": true, "bpf_get_route_realm": true, "bpf_get_hash_recalc": true,
	}
})

// answerable selects the helpers of a program whose results are input.
func answerable(calls []string) []string {
	return slices.DeleteFunc(slices.Clone(calls), func(name string) bool { return fails()[name] == nil && !numbers()[name] })
}

// answer makes up what a helper returns.
func answer(r *rand.Rand, name string, values []uint64) Answer {
	if numbers()[name] {
		a := Answer{Helper: name}
		for range 1 + r.IntN(2) {
			v := number(r, r.Uint64(), values)
			if name == "bpf_get_prandom_u32" || name == "bpf_get_hash_recalc" {
				v = uint64(uint32(v))
			}
			a.Returns = append(a.Returns, v)
		}
		return a
	}
	list := fails()[name]
	return Answer{Helper: name, At: 1 + r.IntN(3)*r.IntN(2), Returns: []uint64{list[r.IntN(len(list))]}}
}
