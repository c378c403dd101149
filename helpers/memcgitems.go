package helpers

import "github.com/bpfrun/bpfrun/internal/uapi"

// memcgItem is a counter of memory cgroups: the enumerator that names it, and what a unit of it is
// in bytes; events count as they are.
type memcgItem struct {
	name string
	unit uint64
	// v1 means that only kernels with cgroups of version 1 count it.
	v1 bool
}

// memcgStateItems lists what memory cgroups count, in the order of struct memcg_vmstats
// (mm/memcontrol.c memcg_node_stat_items, memcg_stat_items, memcg_page_state_output_unit).
var memcgStateItems = []memcgItem{
	{name: "NR_INACTIVE_ANON", unit: uapi.PageSize},
	{name: "NR_ACTIVE_ANON", unit: uapi.PageSize},
	{name: "NR_INACTIVE_FILE", unit: uapi.PageSize},
	{name: "NR_ACTIVE_FILE", unit: uapi.PageSize},
	{name: "NR_UNEVICTABLE", unit: uapi.PageSize},
	{name: "NR_SLAB_RECLAIMABLE_B", unit: 1},
	{name: "NR_SLAB_UNRECLAIMABLE_B", unit: 1},
	{name: "WORKINGSET_REFAULT_ANON", unit: 1},
	{name: "WORKINGSET_REFAULT_FILE", unit: 1},
	{name: "WORKINGSET_ACTIVATE_ANON", unit: 1},
	{name: "WORKINGSET_ACTIVATE_FILE", unit: 1},
	{name: "WORKINGSET_RESTORE_ANON", unit: 1},
	{name: "WORKINGSET_RESTORE_FILE", unit: 1},
	{name: "WORKINGSET_NODERECLAIM", unit: 1},
	{name: "NR_ANON_MAPPED", unit: uapi.PageSize},
	{name: "NR_FILE_MAPPED", unit: uapi.PageSize},
	{name: "NR_FILE_PAGES", unit: uapi.PageSize},
	{name: "NR_FILE_DIRTY", unit: uapi.PageSize},
	{name: "NR_WRITEBACK", unit: uapi.PageSize},
	{name: "NR_SHMEM", unit: uapi.PageSize},
	{name: "NR_SHMEM_THPS", unit: uapi.PageSize},
	{name: "NR_FILE_THPS", unit: uapi.PageSize},
	{name: "NR_ANON_THPS", unit: uapi.PageSize},
	{name: "NR_VMALLOC", unit: uapi.PageSize},
	{name: "NR_KERNEL_STACK_KB", unit: 1024},
	{name: "NR_PAGETABLE", unit: uapi.PageSize},
	{name: "NR_SECONDARY_PAGETABLE", unit: uapi.PageSize},
	{name: "NR_SWAPCACHE", unit: uapi.PageSize},
	{name: "PGPROMOTE_SUCCESS", unit: 1},
	{name: "PGDEMOTE_KSWAPD", unit: 1},
	{name: "PGDEMOTE_DIRECT", unit: 1},
	{name: "PGDEMOTE_KHUGEPAGED", unit: 1},
	{name: "PGDEMOTE_PROACTIVE", unit: 1},
	{name: "PGSTEAL_KSWAPD", unit: 1},
	{name: "PGSTEAL_DIRECT", unit: 1},
	{name: "PGSTEAL_KHUGEPAGED", unit: 1},
	{name: "PGSTEAL_PROACTIVE", unit: 1},
	{name: "PGSTEAL_ANON", unit: uapi.PageSize},
	{name: "PGSTEAL_FILE", unit: uapi.PageSize},
	{name: "PGSCAN_KSWAPD", unit: 1},
	{name: "PGSCAN_DIRECT", unit: 1},
	{name: "PGSCAN_KHUGEPAGED", unit: 1},
	{name: "PGSCAN_PROACTIVE", unit: 1},
	{name: "PGSCAN_ANON", unit: uapi.PageSize},
	{name: "PGSCAN_FILE", unit: uapi.PageSize},
	{name: "PGREFILL", unit: 1},
	{name: "NR_HUGETLB", unit: uapi.PageSize},
	{name: "MEMCG_SWAP", unit: uapi.PageSize},
	{name: "MEMCG_SOCK", unit: uapi.PageSize},
	{name: "MEMCG_PERCPU_B", unit: 1},
	{name: "MEMCG_KMEM", unit: uapi.PageSize},
	{name: "MEMCG_ZSWAP_B", unit: 1},
	{name: "MEMCG_ZSWAPPED", unit: uapi.PageSize},
	{name: "MEMCG_ZSWAP_INCOMP", unit: uapi.PageSize},
}

// memcgEventItems is the same for events (memcg_vm_event_stat).
var memcgEventItems = []memcgItem{
	{name: "PGPGIN", unit: 1, v1: true},
	{name: "PGPGOUT", unit: 1, v1: true},
	{name: "PSWPIN", unit: 1},
	{name: "PSWPOUT", unit: 1},
	{name: "PGFAULT", unit: 1},
	{name: "PGMAJFAULT", unit: 1},
	{name: "PGACTIVATE", unit: 1},
	{name: "PGDEACTIVATE", unit: 1},
	{name: "PGLAZYFREE", unit: 1},
	{name: "PGLAZYFREED", unit: 1},
	{name: "SWPIN_ZERO", unit: 1},
	{name: "SWPOUT_ZERO", unit: 1},
	{name: "ZSWPIN", unit: 1},
	{name: "ZSWPOUT", unit: 1},
	{name: "ZSWPWB", unit: 1},
	{name: "THP_FAULT_ALLOC", unit: 1},
	{name: "THP_COLLAPSE_ALLOC", unit: 1},
	{name: "THP_SWPOUT", unit: 1},
	{name: "THP_SWPOUT_FALLBACK", unit: 1},
	{name: "NUMA_PAGE_MIGRATE", unit: 1},
	{name: "NUMA_PTE_UPDATES", unit: 1},
	{name: "NUMA_HINT_FAULTS", unit: 1},
}
