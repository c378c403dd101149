package helpers

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// withoutErrorPathsOf is withoutErrorPaths for functions whose names begin alike.
var withoutErrorPathsOf = map[string]string{
	"scx_bpf_":      "the recorded kernel is built without sched_ext; schedule's tests and sched_test.go call it",
	"bpf_qdisc_":    "only operations of struct Qdisc_ops call it, which BPF_PROG_TEST_RUN does not run; traffic's tests and qdisc_test.go call it",
	"bpf_kfree_skb": "only operations of struct Qdisc_ops call it, which BPF_PROG_TEST_RUN does not run; traffic's tests and qdisc_test.go call it",
	"bpf_iter_scx_": "the recorded kernel is built without sched_ext; sched_test.go calls it",
	"hid_bpf_":      "the recorded kernel is built without HID-BPF; hid_test.go calls it",
}

// withoutErrorPaths says why generated programs do not call a function, beside what the prototypes
// tell.
var withoutErrorPaths = map[string]string{
	"bpf_send_signal":          "signals the process that records",
	"bpf_send_signal_thread":   "signals the process that records",
	"bpf_send_signal_task":     "signals the process that records",
	"bpf_probe_write_user":     "writes to the memory of the process that records",
	"bpf_sys_bpf":              "makes calls of bpf(2)",
	"bpf_sys_close":            "closes descriptors of the process that records",
	"bpf_clone_redirect":       "sends packets",
	"bpf_crypto_ctx_create":    "waits for modules of the running system",
	"bpf_lookup_user_key":      "creates keyrings of the process that records",
	"crash_kexec":              "ends the system",
	"bpf_lwt_push_encap":       "changes the route of a packet of the running system",
	"bpf_lwt_seg6_store_bytes": "changes the route of a packet of the running system",
	"bpf_lwt_seg6_adjust_srh":  "changes the route of a packet of the running system",
	"bpf_lwt_seg6_action":      "changes the route of a packet of the running system",
	"bpf_perf_event_output":    perfReason,
	"bpf_perf_event_read":      perfReason,
	"bpf_get_local_storage":    "takes a map that belongs to an attached program's cgroup",
	"bpf_obj_new_impl":         typedReason,
	"bpf_percpu_obj_new_impl":  typedReason,
	"bpf_obj_new":              typedReason,
	"bpf_percpu_obj_new":       typedReason,
	"bpf_dynptr_file_discard":  "takes a dynptr of a file, which only compiled objects have",
	"bpf_task_storage_get":     typedReason,
	"bpf_task_storage_delete":  typedReason,
	"bpf_arena_alloc_pages":    arenaReason,
	"bpf_arena_free_pages":     arenaReason,
	"bpf_arena_reserve_pages":  arenaReason,

	"bpf_sock_addr_set_sun_path":    "no program of a type that BPF_PROG_TEST_RUN runs may call it",
	"bpf_xdp_metadata_rx_hash":      deviceReason,
	"bpf_xdp_metadata_rx_timestamp": deviceReason,
	"bpf_xdp_metadata_rx_vlan_tag":  deviceReason,

	"bpf_sk_storage_get":      typedReason,
	"bpf_sk_storage_delete":   typedReason,
	"bpf_cgrp_storage_get":    typedReason,
	"bpf_cgrp_storage_delete": typedReason,
	"bpf_get_func_ip":         "needs a program that is attached to a function",
	"bpf_sk_release":          "releases what its caller acquired: there is no other argument",
	"bpf_task_under_cgroup":   "takes two objects of different types (TestObjects)",
	"bpf_task_release":        "releases what its caller acquired: there is no other argument",
	"bpf_cgroup_release":      "releases what its caller acquired: there is no other argument",
	"bpf_cpumask_release":     "releases what its caller acquired: there is no other argument",
	"bpf_cpumask_acquire":     "releases its own result: only compiled objects keep two",
	"bpf_task_from_pid":       tasksReason,
	"bpf_task_from_vpid":      tasksReason,
	"bpf_task_get_cgroup1":    tasksReason,

	"bpf_xdp_ct_lookup": connReason,
	"bpf_skb_ct_lookup": connReason,
	"bpf_xdp_ct_alloc":  connReason,
	"bpf_skb_ct_alloc":  connReason,

	"bpf_ringbuf_reserve_dynptr": reserveReason,
	"bpf_ringbuf_submit_dynptr":  reserveReason,
	"bpf_ringbuf_discard_dynptr": reserveReason,
}

// noRecords is the reason of functions that only other kernels have.
const noRecords = "neither of the kernels that the records come from has it"

// Reasons that several functions share. What they do is recorded from compiled objects
// (conformance/testdata/cases).
const (
	perfReason    = "user space has to open the events first (TestPerfEvents)"
	tasksReason   = "depends on the tasks and cgroups of the running system"
	typedReason   = "takes types of the program's own BTF: conformance cases local objects and storage"
	arenaReason   = "takes an arena: conformance case arena"
	connReason    = "acquires a connection, which the programs would have to release; depends on those of the running system (TestConnectionErrors)"
	deviceReason  = "only programs that are bound to a device may call it (TestXDPMetadata)"
	reserveReason = "a dynptr must be submitted or discarded on all paths: conformance cases ringbufs and dynptrs"
)

// unlike lists calls whose result depends on how deep the recording process is in calls.
var unlike = map[string]bool{"bpf_get_stackid argument 3: 0x4": true}

// varying lists the functions whose success depends on the machine: only their errors are compared.
var varying = map[string]bool{
	"bpf_get_current_comm": true, "bpf_get_hash_recalc": true, "bpf_get_socket_cookie": true, "bpf_get_stack": true, "bpf_get_task_stack": true, "bpf_get_stackid": true,
	"bpf_skb_cgroup_id": true, "bpf_skb_ancestor_cgroup_id": true, "bpf_get_netns_cookie": true, "bpf_get_current_ancestor_cgroup_id": true, "bpf_skb_cgroup_classid": true,
	"bpf_sk_cgroup_id": true, "bpf_sk_ancestor_cgroup_id": true, "bpf_rdonly_cast": true, "bpf_get_route_realm": true, "bpf_get_socket_uid": true, "bpf_fib_lookup": true, "bpf_get_branch_snapshot": true, "bpf_kallsyms_lookup_name": true, "bpf_btf_find_by_name_kind": true,
}

// TestErrorPaths compares what functions do with arguments that are out of line.
func TestErrorPaths(t *testing.T) {
	list, _ := errorFunctions(recordedRelease)
	var cases []recorded
	for i := range list {
		cases = append(cases, list[i].errorCases()...)
	}
	replay(t, "errorpaths", cases)
}

// TestLaterErrorPaths is TestErrorPaths of functions that only the later release has.
func TestLaterErrorPaths(t *testing.T) {
	list, _ := errorFunctions(laterRelease)
	var cases []recorded
	for i := range list {
		for _, c := range list[i].errorCases() {
			c.later = true
			cases = append(cases, c)
		}
	}
	replay(t, "errorpaths-later", cases)
}

// TestEveryFunctionHasErrorPaths: recorded from a kernel that runs at least one of the calls, or
// with a reason why not.
func TestEveryFunctionHasErrorPaths(t *testing.T) {
	list, without := errorFunctions(recordedRelease)
	later, also := errorFunctions(laterRelease)
	done := map[string]int{}
	for group, functions := range map[string][]function{"errorpaths": list, "errorpaths-later": later} {
		want := outcomes(t, group)
		for i := range functions {
			for _, c := range functions[i].errorCases() {
				if w, ok := want[c.name]; ok && w.Refused == "" && w.Errno == "" {
					done[functions[i].name]++
				}
			}
		}
	}
	for name, why := range also {
		if without[name] == "" || without[name] == noRecords {
			without[name] = why
		}
	}
	for _, f := range later {
		delete(without, f.name)
	}
	list = append(list, later...)
	for _, f := range list {
		assert.NotZero(t, done[f.name], "%s: the kernel runs no call of it: it needs a reason in withoutErrorPaths", f.name)
	}
	for name := range withoutErrorPaths {
		assert.Contains(t, without, name, "it has a reason and a record")
	}
	for _, h := range Table() {
		assert.True(t, done[h.Name()] > 0 || without[h.Name()] != "", h.Name())
	}
	for _, k := range Kfuncs() {
		assert.True(t, done[k.Name] > 0 || without[k.Name] != "", k.Name)
	}
	t.Logf("%d functions have recorded error paths, %d a reason why not", len(list), len(without))
}
