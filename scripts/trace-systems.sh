#!/bin/bash
# trace-systems.sh LINUX...: the systems of the events that the trace headers of kernels' sources define, as "SYSTEM: EVENT...", for internal/kernel/hook/eventsystems.txt.
# Each header goes through the C preprocessor, with the macros that define events replaced and all conditions left out, so that events which other macros define,
# or which some configurations lack, are found. The list at the end is read from the headers of Linux 5.10 and of releases after 6.12.
set -euo pipefail
[ $# -gt 0 ] || { sed -n 2,4p "$0" >&2; exit 2; }

# events prints "SYSTEM EVENT" of a header.
events() {
	{
		for macro in TRACE_EVENT TRACE_EVENT_CONDITION TRACE_EVENT_FN TRACE_EVENT_FN_COND TRACE_EVENT_SYSCALL; do
			echo "#define $macro(n, ...) @@ TRACE_SYSTEM n @@"
		done
		for macro in DEFINE_EVENT DEFINE_EVENT_FN DEFINE_EVENT_PRINT DEFINE_EVENT_CONDITION; do
			echo "#define $macro(class, n, ...) @@ TRACE_SYSTEM n @@"
		done
		echo '#define DECLARE_EVENT_CLASS(...)'
		grep -vE '^[ \t]*#[ \t]*(include|if|ifdef|ifndef|else|elif|endif|undef[ \t]+(TRACE_EVENT|DEFINE_EVENT|DECLARE_EVENT))|_EVENT_NOP$' "$1"
	} | cpp -P -w | tr '\n' ' ' | grep -oE '@@ +[A-Za-z0-9_-]+ +[A-Za-z0-9_]+ +@@' | tr -d '@' || true
}

{
	for linux; do
		grep -rlE --include='*.h' '#define[ \t]+TRACE_SYSTEM[ \t]' "$linux" | while read -r header; do events "$header"; done
	done
	while read -r system names; do
		for n in $names; do echo "$system $n"; done
	done <<'END'
amd_cpu amd_pstate_cppc_req2 amd_pstate_epp_perf
block block_sleeprq blk_zone_append_update_request_bio blk_zone_wplug_bio blkdev_zone_mgmt block_rq_tag_wait disk_zone_wplug_add_bio
capability cap_capable
coredump coredump
cxl cxl_memory_sparing cxl_port_aer_correctable_error cxl_port_aer_uncorrectable_error
damon damon_monitor_intervals_tune damon_region_aggregated damos_esz damos_stat_after_apply_interval
dma dma_map_phys dma_unmap_phys
dma_buf dma_buf_detach dma_buf_dynamic_attach dma_buf_export dma_buf_fd dma_buf_get dma_buf_mmap dma_buf_mmap_internal dma_buf_put
ext4 ext4_direct_IO_enter ext4_direct_IO_exit ext4_ext_in_cache ext4_ext_put_in_cache ext4_find_delalloc_range ext4_get_reserved_cluster_alloc ext4_invalidatepage ext4_journalled_invalidatepage
filelock break_lease
fsnotify fsnotify
fsverity fsverity_enable fsverity_merkle_hit fsverity_tree_done fsverity_verify_data_block fsverity_verify_merkle_block
fuse fuse_request_sent
huge_memory mm_khugepaged_scan
hugetlbfs hugetlbfs_alloc_inode hugetlbfs_evict_inode hugetlbfs_fallocate hugetlbfs_free_inode hugetlbfs_setattr
hyperv hyperv_mmu_flush_tlb_others
intel_iommu bounce_map_sg bounce_map_single bounce_unmap_single map_sg map_single unmap_sg unmap_single
io_uring io_uring_poll_wake io_uring_task_run
iomap iomap_add_to_ioend iomap_apply iomap_apply_dstmap iomap_apply_srcmap iomap_invalidatepage iomap_releasepage iomap_writeback_folio iomap_zero_iter
kmem kmalloc_node kmem_cache_alloc_node mm_calculate_totalreserve_pages mm_setup_per_zone_lowmem_reserve mm_setup_per_zone_wmarks
lock contended_release
memcg count_memcg_events memcg_flush_stats mod_memcg_lruvec_state mod_memcg_state
mptcp mptcp_rcvbuf_grow
net netif_rx_ni_entry netif_rx_ni_exit
pci pci_hp_event pcie_link_event
pci_controller pcie_ltssm_state_transition
pwm pwm_read_waveform pwm_round_waveform_fromhw pwm_round_waveform_tohw pwm_write_waveform
qdisc qdisc_drop
readahead page_cache_async_ra page_cache_ra_order page_cache_ra_unbounded page_cache_sync_ra
sched sched_skip_cpuset_numa
sched_ext sched_ext_bypass_lb sched_ext_event
spi-mem spi_mem_start_op spi_mem_stop_op
task task_prctl_unknown
tcp tcp_rcvbuf_grow tcp_sendmsg_locked
timer hrtimer_rearm hrtimer_setup hrtimer_start_expired
timer_migration tmigr_cpu_available tmigr_cpu_unavailable
timestamp ctime_ns_xchg ctime_xchg_skip fill_mg_cmtime inode_set_ctime_to_ts
tsm_mr tsm_mr_read tsm_mr_refresh tsm_mr_write
vmscan mm_vmscan_balance_pgdat_begin mm_vmscan_balance_pgdat_end mm_vmscan_inactive_list_is_low mm_vmscan_kswapd_clear_hopeless mm_vmscan_kswapd_reclaim_fail mm_vmscan_reclaim_pages mm_vmscan_writepage
writeback inode_switch_wbs_queue wait_on_page_writeback writeback_congestion_wait writeback_dirty_page writeback_wait_iff_congested
xen xen_mmu_flush_tlb_others
END
} | LC_ALL=C sort -u | awk '$1 != last { if (NR > 1) print ""; printf "%s:", $1; last = $1 } { printf " %s", $2 } END { print "" }'
