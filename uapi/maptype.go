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

// mapTypeNames are the names libbpf_bpf_map_type_str gives.
var mapTypeNames = [...]string{
	MapTypeUnspec:              "unspec",
	MapTypeHash:                "hash",
	MapTypeArray:               "array",
	MapTypeProgArray:           "prog_array",
	MapTypePerfEventArray:      "perf_event_array",
	MapTypePercpuHash:          "percpu_hash",
	MapTypePercpuArray:         "percpu_array",
	MapTypeStackTrace:          "stack_trace",
	MapTypeCgroupArray:         "cgroup_array",
	MapTypeLRUHash:             "lru_hash",
	MapTypeLRUPercpuHash:       "lru_percpu_hash",
	MapTypeLPMTrie:             "lpm_trie",
	MapTypeArrayOfMaps:         "array_of_maps",
	MapTypeHashOfMaps:          "hash_of_maps",
	MapTypeDevmap:              "devmap",
	MapTypeSockmap:             "sockmap",
	MapTypeCpumap:              "cpumap",
	MapTypeXskmap:              "xskmap",
	MapTypeSockhash:            "sockhash",
	MapTypeCgroupStorage:       "cgroup_storage",
	MapTypeReuseportSockarray:  "reuseport_sockarray",
	MapTypePercpuCgroupStorage: "percpu_cgroup_storage",
	MapTypeQueue:               "queue",
	MapTypeStack:               "stack",
	MapTypeSkStorage:           "sk_storage",
	MapTypeDevmapHash:          "devmap_hash",
	MapTypeStructOps:           "struct_ops",
	MapTypeRingbuf:             "ringbuf",
	MapTypeInodeStorage:        "inode_storage",
	MapTypeTaskStorage:         "task_storage",
	MapTypeBloomFilter:         "bloom_filter",
	MapTypeUserRingbuf:         "user_ringbuf",
	MapTypeCgrpStorage:         "cgrp_storage",
	MapTypeArena:               "arena",
	MapTypeInsnArray:           "insn_array",
	MapTypeRhash:               "rhash",
}

// String returns libbpf's name of the type ("hash", "percpu_array"), or "MapType(N)" for a number no known kernel defines.
func (t MapType) String() string {
	if uint32(t) < uint32(len(mapTypeNames)) {
		return mapTypeNames[t]
	}
	return unknown("MapType", int64(t))
}

// Known reports whether t is a number this package has a name for.
func (t MapType) Known() bool { return uint32(t) < uint32(len(mapTypeNames)) }

// ParseMapType finds a MapType by its String form.
func ParseMapType(s string) (MapType, bool) {
	for i, n := range mapTypeNames {
		if n == s {
			return MapType(i), true
		}
	}
	return 0, false
}

// PerCPU reports whether each CPU has values of its own in maps of the type.
func (t MapType) PerCPU() bool {
	switch t {
	case MapTypePercpuHash, MapTypeLRUPercpuHash, MapTypePercpuArray, MapTypePercpuCgroupStorage:
		return true
	}
	return false
}
