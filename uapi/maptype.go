package uapi

// MapType is a map type (enum bpf_map_type).
type MapType uint32

// MapTraits is a set of properties of a map type.
type MapTraits uint8

const (
	// MapPerCPU means that each CPU has its own values.
	MapPerCPU MapTraits = 1 << iota
	// MapEachElem means that bpf_for_each_map_elem and bpf_map_elem iterators can visit the elements (map_set_for_each_callback_args,
	// iter_seq_info).
	MapEachElem
	// MapCounted means that the kernel counts the elements (bpf_map_sum_elem_count).
	MapCounted
	// MapTakesExtra means that map_extra may be set (kernel/bpf/syscall.c map_create).
	MapTakesExtra
)

// MapFields is the class of special fields that values of a map type may contain (kernel/bpf/syscall.c map_check_btf).
type MapFields uint8

const (
	NoFields       MapFields = iota
	AllFields                // all fields except user pointers
	UnlockedFields           // AllFields without locks
	PointerFields            // kptrs and reference counts
	StorageFields            // PointerFields and locks
	TaskFields               // StorageFields and user pointers
	CgroupFields             // locks and reference counts
)

// mapTypes contains the kernel's struct (map_btf_id) and the properties of each type. The constructors in package maps
// check flags and sizes.
var mapTypes = [...]struct {
	btf    string
	traits MapTraits
	fields MapFields
}{
	MapTypeUnspec:              {},
	MapTypeHash:                {btf: "bpf_htab", traits: MapEachElem | MapCounted, fields: AllFields},
	MapTypeArray:               {btf: "bpf_array", traits: MapEachElem, fields: AllFields},
	MapTypeProgArray:           {btf: "bpf_array"},
	MapTypePerfEventArray:      {btf: "bpf_array"},
	MapTypePercpuHash:          {btf: "bpf_htab", traits: MapPerCPU | MapEachElem | MapCounted, fields: PointerFields},
	MapTypePercpuArray:         {btf: "bpf_array", traits: MapPerCPU | MapEachElem, fields: PointerFields},
	MapTypeStackTrace:          {btf: "bpf_stack_map"},
	MapTypeCgroupArray:         {btf: "bpf_array"},
	MapTypeLRUHash:             {btf: "bpf_htab", traits: MapEachElem | MapCounted, fields: UnlockedFields},
	MapTypeLRUPercpuHash:       {btf: "bpf_htab", traits: MapPerCPU | MapEachElem | MapCounted, fields: PointerFields},
	MapTypeLPMTrie:             {btf: "lpm_trie"},
	MapTypeArrayOfMaps:         {btf: "bpf_array"},
	MapTypeHashOfMaps:          {btf: "bpf_htab", traits: MapCounted},
	MapTypeDevmap:              {btf: "bpf_dtab"},
	MapTypeSockmap:             {btf: "bpf_stab"},
	MapTypeCpumap:              {btf: "bpf_cpu_map"},
	MapTypeXskmap:              {btf: "xsk_map"},
	MapTypeSockhash:            {btf: "bpf_shtab"},
	MapTypeCgroupStorage:       {btf: "bpf_cgroup_storage_map", fields: CgroupFields},
	MapTypeReuseportSockarray:  {btf: "reuseport_array"},
	MapTypePercpuCgroupStorage: {btf: "bpf_cgroup_storage_map", traits: MapPerCPU},
	MapTypeQueue:               {btf: "bpf_queue_stack"},
	MapTypeStack:               {btf: "bpf_queue_stack"},
	MapTypeSkStorage:           {btf: "bpf_local_storage_map", fields: StorageFields},
	MapTypeDevmapHash:          {btf: "bpf_dtab"},
	MapTypeStructOps:           {},
	MapTypeRingbuf:             {btf: "bpf_ringbuf_map"},
	MapTypeInodeStorage:        {btf: "bpf_local_storage_map", fields: StorageFields},
	MapTypeTaskStorage:         {btf: "bpf_local_storage_map", fields: TaskFields},
	MapTypeBloomFilter:         {btf: "bpf_bloom_filter", traits: MapTakesExtra},
	MapTypeUserRingbuf:         {btf: "bpf_ringbuf_map"},
	MapTypeCgrpStorage:         {btf: "bpf_local_storage_map", fields: StorageFields},
	MapTypeArena:               {btf: "bpf_arena", traits: MapTakesExtra},
	MapTypeInsnArray:           {},
	MapTypeRhash:               {btf: "bpf_rhtab", traits: MapEachElem | MapTakesExtra, fields: AllFields},
}

// Compile-time check: every type has a row.
var _ = [1]struct{}{}[len(mapTypeNames)-len(mapTypes)]

// String returns libbpf's name of the type ("hash", "percpu_array"), or "MapType(N)" for a number that no known kernel defines.
func (t MapType) String() string {
	if t.Known() {
		return mapTypeNames[t]
	}
	return unknown("MapType", int64(t))
}

// Known reports whether t is a number that this package has a name for.
func (t MapType) Known() bool { return uint32(t) < uint32(len(mapTypes)) }

// ParseMapType finds a MapType by its String form.
func ParseMapType(s string) (MapType, bool) {
	for i, n := range mapTypeNames {
		if n == s {
			return MapType(i), true
		}
	}
	return 0, false
}

// Has reports whether the type has all of these traits.
func (t MapType) Has(traits MapTraits) bool { return t.Known() && mapTypes[t].traits&traits == traits }

// PerCPU reports whether each CPU has its own values in maps of the type.
func (t MapType) PerCPU() bool { return t.Has(MapPerCPU) }

// Fields returns the special fields that values of the type may contain.
func (t MapType) Fields() MapFields {
	if !t.Known() {
		return NoFields
	}
	return mapTypes[t].fields
}

// Struct returns the name of the kernel's struct for maps of the type, or "bpf_map" if the type has none that programs may
// access.
func (t MapType) Struct() string {
	if !t.Known() || mapTypes[t].btf == "" {
		return "bpf_map"
	}
	return mapTypes[t].btf
}

// MapTypes returns all map types, without MapTypeUnspec.
func MapTypes() []MapType { return upTo[MapType](len(mapTypeNames))[1:] }
