package helpers

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/uapi"
)

// TestMain fails a complete run of the tests that leaves a helper or kfunc without a call.
func TestMain(m *testing.M) {
	code := m.Run()
	if f := flag.Lookup("test.run"); code == 0 && f.Value.String() == "" && flag.Lookup("test.list").Value.String() == "" {
		var missing []string
		for _, h := range Table() {
			if !exercised[h.Name()] {
				missing = append(missing, h.Name())
			}
		}
		for _, k := range Kfuncs() {
			if !exercised[k.Name] {
				missing = append(missing, k.Name)
			}
		}
		if len(missing) > 0 {
			fmt.Println("functions without a test:", missing)
			code = 1
		}
	}
	os.Exit(code)
}

// arity is the number of parameters of each helper as include/uapi/linux/bpf.h documents them.
var arity = map[string]int{
	"bpf_bind":                           3,
	"bpf_bprm_opts_set":                  2,
	"bpf_btf_find_by_name_kind":          4,
	"bpf_cgrp_storage_delete":            2,
	"bpf_cgrp_storage_get":               4,
	"bpf_check_mtu":                      5,
	"bpf_clone_redirect":                 3,
	"bpf_copy_from_user":                 3,
	"bpf_copy_from_user_task":            5,
	"bpf_csum_diff":                      5,
	"bpf_csum_level":                     2,
	"bpf_csum_update":                    2,
	"bpf_current_task_under_cgroup":      2,
	"bpf_d_path":                         3,
	"bpf_dynptr_data":                    3,
	"bpf_dynptr_from_mem":                4,
	"bpf_dynptr_read":                    5,
	"bpf_dynptr_write":                   5,
	"bpf_fib_lookup":                     4,
	"bpf_find_vma":                       5,
	"bpf_for_each_map_elem":              4,
	"bpf_get_attach_cookie":              1,
	"bpf_get_branch_snapshot":            3,
	"bpf_get_cgroup_classid":             1,
	"bpf_get_current_ancestor_cgroup_id": 1,
	"bpf_get_current_cgroup_id":          0,
	"bpf_get_current_comm":               2,
	"bpf_get_current_pid_tgid":           0,
	"bpf_get_current_task":               0,
	"bpf_get_current_task_btf":           0,
	"bpf_get_current_uid_gid":            0,
	"bpf_get_func_arg":                   3,
	"bpf_get_func_arg_cnt":               1,
	"bpf_get_func_ip":                    1,
	"bpf_get_func_ret":                   2,
	"bpf_get_hash_recalc":                1,
	"bpf_get_listener_sock":              1,
	"bpf_get_local_storage":              2,
	"bpf_get_netns_cookie":               1,
	"bpf_get_ns_current_pid_tgid":        4,
	"bpf_get_numa_node_id":               0,
	"bpf_get_prandom_u32":                0,
	"bpf_get_retval":                     0,
	"bpf_get_route_realm":                1,
	"bpf_get_smp_processor_id":           0,
	"bpf_get_socket_cookie":              1,
	"bpf_get_socket_uid":                 1,
	"bpf_get_stack":                      4,
	"bpf_get_stackid":                    3,
	"bpf_get_task_stack":                 4,
	"bpf_getsockopt":                     5,
	"bpf_ima_file_hash":                  3,
	"bpf_ima_inode_hash":                 3,
	"bpf_inode_storage_delete":           2,
	"bpf_inode_storage_get":              4,
	"bpf_jiffies64":                      0,
	"bpf_kallsyms_lookup_name":           4,
	"bpf_kptr_xchg":                      2,
	"bpf_ktime_get_boot_ns":              0,
	"bpf_ktime_get_coarse_ns":            0,
	"bpf_ktime_get_ns":                   0,
	"bpf_ktime_get_tai_ns":               0,
	"bpf_l3_csum_replace":                5,
	"bpf_l4_csum_replace":                5,
	"bpf_load_hdr_opt":                   4,
	"bpf_loop":                           4,
	"bpf_lwt_push_encap":                 4,
	"bpf_lwt_seg6_action":                4,
	"bpf_lwt_seg6_adjust_srh":            3,
	"bpf_lwt_seg6_store_bytes":           4,
	"bpf_map_delete_elem":                2,
	"bpf_map_lookup_elem":                2,
	"bpf_map_lookup_percpu_elem":         3,
	"bpf_map_peek_elem":                  2,
	"bpf_map_pop_elem":                   2,
	"bpf_map_push_elem":                  3,
	"bpf_map_update_elem":                4,
	"bpf_msg_apply_bytes":                2,
	"bpf_msg_cork_bytes":                 2,
	"bpf_msg_pop_data":                   4,
	"bpf_msg_pull_data":                  4,
	"bpf_msg_push_data":                  4,
	"bpf_msg_redirect_hash":              4,
	"bpf_msg_redirect_map":               4,
	"bpf_override_return":                2,
	"bpf_per_cpu_ptr":                    2,
	"bpf_perf_event_output":              5,
	"bpf_perf_event_read":                2,
	"bpf_perf_event_read_value":          4,
	"bpf_perf_prog_read_value":           3,
	"bpf_probe_read":                     3,
	"bpf_probe_read_kernel":              3,
	"bpf_probe_read_kernel_str":          3,
	"bpf_probe_read_str":                 3,
	"bpf_probe_read_user":                3,
	"bpf_probe_read_user_str":            3,
	"bpf_probe_write_user":               3,
	"bpf_rc_keydown":                     4,
	"bpf_rc_pointer_rel":                 3,
	"bpf_rc_repeat":                      1,
	"bpf_read_branch_records":            4,
	"bpf_redirect":                       2,
	"bpf_redirect_map":                   3,
	"bpf_redirect_neigh":                 4,
	"bpf_redirect_peer":                  2,
	"bpf_reserve_hdr_opt":                3,
	"bpf_ringbuf_discard":                2,
	"bpf_ringbuf_discard_dynptr":         2,
	"bpf_ringbuf_output":                 4,
	"bpf_ringbuf_query":                  2,
	"bpf_ringbuf_reserve":                3,
	"bpf_ringbuf_reserve_dynptr":         4,
	"bpf_ringbuf_submit":                 2,
	"bpf_ringbuf_submit_dynptr":          2,
	"bpf_send_signal":                    1,
	"bpf_send_signal_thread":             1,
	"bpf_seq_printf":                     5,
	"bpf_seq_printf_btf":                 4,
	"bpf_seq_write":                      3,
	"bpf_set_hash":                       2,
	"bpf_set_hash_invalid":               1,
	"bpf_set_retval":                     1,
	"bpf_setsockopt":                     5,
	"bpf_sk_ancestor_cgroup_id":          2,
	"bpf_sk_assign":                      3,
	"bpf_sk_cgroup_id":                   1,
	"bpf_sk_fullsock":                    1,
	"bpf_sk_lookup_tcp":                  5,
	"bpf_sk_lookup_udp":                  5,
	"bpf_sk_redirect_hash":               4,
	"bpf_sk_redirect_map":                4,
	"bpf_sk_release":                     1,
	"bpf_sk_select_reuseport":            4,
	"bpf_sk_storage_delete":              2,
	"bpf_sk_storage_get":                 4,
	"bpf_skb_adjust_room":                4,
	"bpf_skb_ancestor_cgroup_id":         2,
	"bpf_skb_cgroup_classid":             1,
	"bpf_skb_cgroup_id":                  1,
	"bpf_skb_change_head":                3,
	"bpf_skb_change_proto":               3,
	"bpf_skb_change_tail":                3,
	"bpf_skb_change_type":                2,
	"bpf_skb_ecn_set_ce":                 1,
	"bpf_skb_get_tunnel_key":             4,
	"bpf_skb_get_tunnel_opt":             3,
	"bpf_skb_get_xfrm_state":             5,
	"bpf_skb_load_bytes":                 4,
	"bpf_skb_load_bytes_relative":        5,
	"bpf_skb_output":                     5,
	"bpf_skb_pull_data":                  2,
	"bpf_skb_set_tstamp":                 3,
	"bpf_skb_set_tunnel_key":             4,
	"bpf_skb_set_tunnel_opt":             3,
	"bpf_skb_store_bytes":                5,
	"bpf_skb_under_cgroup":               3,
	"bpf_skb_vlan_pop":                   1,
	"bpf_skb_vlan_push":                  3,
	"bpf_skc_lookup_tcp":                 5,
	"bpf_skc_to_mptcp_sock":              1,
	"bpf_skc_to_tcp6_sock":               1,
	"bpf_skc_to_tcp_request_sock":        1,
	"bpf_skc_to_tcp_sock":                1,
	"bpf_skc_to_tcp_timewait_sock":       1,
	"bpf_skc_to_udp6_sock":               1,
	"bpf_skc_to_unix_sock":               1,
	"bpf_snprintf":                       5,
	"bpf_snprintf_btf":                   5,
	"bpf_sock_from_file":                 1,
	"bpf_sock_hash_update":               4,
	"bpf_sock_map_update":                4,
	"bpf_sock_ops_cb_flags_set":          2,
	"bpf_spin_lock":                      1,
	"bpf_spin_unlock":                    1,
	"bpf_store_hdr_opt":                  4,
	"bpf_strncmp":                        3,
	"bpf_strtol":                         4,
	"bpf_strtoul":                        4,
	"bpf_sys_bpf":                        3,
	"bpf_sys_close":                      1,
	"bpf_sysctl_get_current_value":       3,
	"bpf_sysctl_get_name":                4,
	"bpf_sysctl_get_new_value":           3,
	"bpf_sysctl_set_new_value":           3,
	"bpf_tail_call":                      3,
	"bpf_task_pt_regs":                   1,
	"bpf_task_storage_delete":            2,
	"bpf_task_storage_get":               4,
	"bpf_tcp_check_syncookie":            5,
	"bpf_tcp_gen_syncookie":              5,
	"bpf_tcp_raw_check_syncookie_ipv4":   2,
	"bpf_tcp_raw_check_syncookie_ipv6":   2,
	"bpf_tcp_raw_gen_syncookie_ipv4":     3,
	"bpf_tcp_raw_gen_syncookie_ipv6":     3,
	"bpf_tcp_send_ack":                   2,
	"bpf_tcp_sock":                       1,
	"bpf_this_cpu_ptr":                   1,
	"bpf_timer_cancel":                   1,
	"bpf_timer_init":                     3,
	"bpf_timer_set_callback":             2,
	"bpf_timer_start":                    3,
	"bpf_trace_printk":                   3,
	"bpf_trace_vprintk":                  4,
	"bpf_user_ringbuf_drain":             4,
	"bpf_xdp_adjust_head":                2,
	"bpf_xdp_adjust_meta":                2,
	"bpf_xdp_adjust_tail":                2,
	"bpf_xdp_get_buff_len":               1,
	"bpf_xdp_load_bytes":                 4,
	"bpf_xdp_output":                     5,
	"bpf_xdp_store_bytes":                4,
}

func TestPrototypes(t *testing.T) {
	seen := map[uapi.FuncID]bool{}
	for _, h := range Table() {
		assert.False(t, seen[h.ID], "%v is listed twice", h.ID)
		seen[h.ID] = true
		assert.True(t, h.ID.Known(), h.ID)
		assert.NotEmpty(t, h.Topic, h.Name())
		n, ok := arity[h.Name()]
		if assert.True(t, ok, "%s is not in the header", h.Name()) {
			want := min(n, 5)
			if h.ID == uapi.FuncTracePrintk {
				want = 5 // variadic
			}
			assert.Len(t, h.Args, want, h.Name())
		}
		for i, a := range h.Args {
			assert.NotEmpty(t, a.String(), "%s argument %d", h.Name(), i)
			if a == ArgSize {
				require.Positive(t, i, h.Name())
				assert.True(t, slices.Contains([]Arg{ArgMem, ArgOut, ArgString}, h.Args[i-1]), "%s: a size follows memory", h.Name())
			}
		}
		got, ok := Lookup(h.ID)
		require.True(t, ok)
		assert.Equal(t, h.ID, got.ID)
	}
	_, ok := Lookup(uapi.FuncSysBpf)
	assert.False(t, ok, "what is not simulated is not in the table")
}

// TestKfuncPrototypes compares with the kernels' BTF, where they have the function.
func TestKfuncPrototypes(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	found := 0
	for _, k := range Kfuncs() {
		assert.NotEmpty(t, k.Topic, k.Name)
		_, ok := LookupKfunc(k.Name + "___flavor")
		assert.True(t, ok, k.Name)
		for _, id := range spec.IDs(btf.KindFunc, k.Name) {
			fn, err := spec.Type(id)
			require.NoError(t, err)
			proto, err := spec.Type(fn.Ref)
			require.NoError(t, err)
			found++
			assert.Len(t, k.Args, len(proto.Params), k.Name)
			ret := spec.SkipMods(proto.Ref)
			wide := ret != nil && (ret.Kind == btf.KindPtr || ret.Size == 8)
			if k.Name != "bpf_throw" {
				assert.Equal(t, wide, k.Wide, "%s: width of the result", k.Name)
			}
		}
	}
	assert.Greater(t, found, 40)
	_, ok := LookupKfunc("scx_bpf_no_such_function")
	assert.False(t, ok)
}
