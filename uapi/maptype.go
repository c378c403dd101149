package uapi

// MapType is a map type (enum bpf_map_type). Numbers are those of Linux 7.3, which never change meaning.
type MapType uint32

const (
	MapTypeUnspec              MapType = 0
	MapTypeHash                MapType = 1
	MapTypeArray               MapType = 2
	MapTypeProgArray           MapType = 3
	MapTypePerfEventArray      MapType = 4
	MapTypePercpuHash          MapType = 5
	MapTypePercpuArray         MapType = 6
	MapTypeStackTrace          MapType = 7
	MapTypeCgroupArray         MapType = 8
	MapTypeLRUHash             MapType = 9
	MapTypeLRUPercpuHash       MapType = 10
	MapTypeLPMTrie             MapType = 11
	MapTypeArrayOfMaps         MapType = 12
	MapTypeHashOfMaps          MapType = 13
	MapTypeDevmap              MapType = 14
	MapTypeSockmap             MapType = 15
	MapTypeCpumap              MapType = 16
	MapTypeXskmap              MapType = 17
	MapTypeSockhash            MapType = 18
	MapTypeCgroupStorage       MapType = 19
	MapTypeReuseportSockarray  MapType = 20
	MapTypePercpuCgroupStorage MapType = 21
	MapTypeQueue               MapType = 22
	MapTypeStack               MapType = 23
	MapTypeSkStorage           MapType = 24
	MapTypeDevmapHash          MapType = 25
	MapTypeStructOps           MapType = 26
	MapTypeRingbuf             MapType = 27
	MapTypeInodeStorage        MapType = 28
	MapTypeTaskStorage         MapType = 29
	MapTypeBloomFilter         MapType = 30
	MapTypeUserRingbuf         MapType = 31
	MapTypeCgrpStorage         MapType = 32
	MapTypeArena               MapType = 33
	MapTypeInsnArray           MapType = 34
	MapTypeRhash               MapType = 35
)

// MapTraits are what maps of a type have or do.
type MapTraits uint8

const (
	// MapPerCPU: each CPU has values of its own.
	MapPerCPU MapTraits = 1 << iota
	// MapEachElem: bpf_for_each_map_elem and bpf_map_elem iterators visit the elements (map_set_for_each_callback_args, iter_seq_info).
	MapEachElem
	// MapCounted: the kernel counts the elements (bpf_map_sum_elem_count).
	MapCounted
	// MapTakesExtra: map_extra may be set (kernel/bpf/syscall.c map_create).
	MapTakesExtra
)

// MapFields identifies which special fields values of a map type may contain (kernel/bpf/syscall.c map_check_btf).
type MapFields uint8

const (
	NoFields       MapFields = iota
	AllFields                // but user pointers
	UnlockedFields           // those, but locks
	PointerFields            // kptrs and reference counts
	StorageFields            // those and locks
	TaskFields               // those and user pointers
	CgroupFields             // locks and reference counts
)

// mapTypes is what there is to know of each type: the name that libbpf_bpf_map_type_str gives, the kernel's struct for it (map_btf_id), and what
// its maps have. Flags and sizes are checked by their constructors in maps.
var mapTypes = [...]struct {
	name, btf string
	traits    MapTraits
	fields    MapFields
}{
	MapTypeUnspec:              {name: "unspec"},
	MapTypeHash:                {name: "hash", btf: "bpf_htab", traits: MapEachElem | MapCounted, fields: AllFields},
	MapTypeArray:               {name: "array", btf: "bpf_array", traits: MapEachElem, fields: AllFields},
	MapTypeProgArray:           {name: "prog_array", btf: "bpf_array"},
	MapTypePerfEventArray:      {name: "perf_event_array", btf: "bpf_array"},
	MapTypePercpuHash:          {name: "percpu_hash", btf: "bpf_htab", traits: MapPerCPU | MapEachElem | MapCounted, fields: PointerFields},
	MapTypePercpuArray:         {name: "percpu_array", btf: "bpf_array", traits: MapPerCPU | MapEachElem, fields: PointerFields},
	MapTypeStackTrace:          {name: "stack_trace", btf: "bpf_stack_map"},
	MapTypeCgroupArray:         {name: "cgroup_array", btf: "bpf_array"},
	MapTypeLRUHash:             {name: "lru_hash", btf: "bpf_htab", traits: MapEachElem | MapCounted, fields: UnlockedFields},
	MapTypeLRUPercpuHash:       {name: "lru_percpu_hash", btf: "bpf_htab", traits: MapPerCPU | MapEachElem | MapCounted, fields: PointerFields},
	MapTypeLPMTrie:             {name: "lpm_trie", btf: "lpm_trie"},
	MapTypeArrayOfMaps:         {name: "array_of_maps", btf: "bpf_array"},
	MapTypeHashOfMaps:          {name: "hash_of_maps", btf: "bpf_htab", traits: MapCounted},
	MapTypeDevmap:              {name: "devmap", btf: "bpf_dtab"},
	MapTypeSockmap:             {name: "sockmap", btf: "bpf_stab"},
	MapTypeCpumap:              {name: "cpumap", btf: "bpf_cpu_map"},
	MapTypeXskmap:              {name: "xskmap", btf: "xsk_map"},
	MapTypeSockhash:            {name: "sockhash", btf: "bpf_shtab"},
	MapTypeCgroupStorage:       {name: "cgroup_storage", btf: "bpf_cgroup_storage_map", fields: CgroupFields},
	MapTypeReuseportSockarray:  {name: "reuseport_sockarray", btf: "reuseport_array"},
	MapTypePercpuCgroupStorage: {name: "percpu_cgroup_storage", btf: "bpf_cgroup_storage_map", traits: MapPerCPU},
	MapTypeQueue:               {name: "queue", btf: "bpf_queue_stack"},
	MapTypeStack:               {name: "stack", btf: "bpf_queue_stack"},
	MapTypeSkStorage:           {name: "sk_storage", btf: "bpf_local_storage_map", fields: StorageFields},
	MapTypeDevmapHash:          {name: "devmap_hash", btf: "bpf_dtab"},
	MapTypeStructOps:           {name: "struct_ops"},
	MapTypeRingbuf:             {name: "ringbuf", btf: "bpf_ringbuf_map"},
	MapTypeInodeStorage:        {name: "inode_storage", btf: "bpf_local_storage_map", fields: StorageFields},
	MapTypeTaskStorage:         {name: "task_storage", btf: "bpf_local_storage_map", fields: TaskFields},
	MapTypeBloomFilter:         {name: "bloom_filter", btf: "bpf_bloom_filter", traits: MapTakesExtra},
	MapTypeUserRingbuf:         {name: "user_ringbuf", btf: "bpf_ringbuf_map"},
	MapTypeCgrpStorage:         {name: "cgrp_storage", btf: "bpf_local_storage_map", fields: StorageFields},
	MapTypeArena:               {name: "arena", btf: "bpf_arena", traits: MapTakesExtra},
	MapTypeInsnArray:           {name: "insn_array"},
	MapTypeRhash:               {name: "rhash", btf: "bpf_rhtab", traits: MapEachElem | MapTakesExtra, fields: AllFields},
}

// String returns libbpf's name of the type ("hash", "percpu_array"), or "MapType(N)" for a number no known kernel defines.
func (t MapType) String() string {
	if t.Known() {
		return mapTypes[t].name
	}
	return unknown("MapType", int64(t))
}

// Known reports whether t is a number this package has a name for.
func (t MapType) Known() bool { return uint32(t) < uint32(len(mapTypes)) }

// ParseMapType finds a MapType by its String form.
func ParseMapType(s string) (MapType, bool) {
	for i := range mapTypes {
		if mapTypes[i].name == s {
			return MapType(i), true
		}
	}
	return 0, false
}

// Has reports whether maps of the type have all of these traits.
func (t MapType) Has(traits MapTraits) bool { return t.Known() && mapTypes[t].traits&traits == traits }

// PerCPU reports whether each CPU has values of its own in maps of the type.
func (t MapType) PerCPU() bool { return t.Has(MapPerCPU) }

// Fields returns which special fields values of the type may contain.
func (t MapType) Fields() MapFields {
	if !t.Known() {
		return NoFields
	}
	return mapTypes[t].fields
}

// Struct returns the name of the kernel's struct for maps of the type, "bpf_map" where it has none that programs may look at.
func (t MapType) Struct() string {
	if !t.Known() || mapTypes[t].btf == "" {
		return "bpf_map"
	}
	return mapTypes[t].btf
}
