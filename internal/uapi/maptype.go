package uapi

// MapType is a map type (enum bpf_map_type).
type MapType uint32

// MapTraits is a set of properties of a map type.
type MapTraits uint8

const (
	// MapPerCPU means that each CPU has its own values.
	MapPerCPU MapTraits = 1 << iota
	// MapEachElem means that bpf_for_each_map_elem and bpf_map_elem iterators can visit the
	// elements (map_set_for_each_callback_args, iter_seq_info).
	MapEachElem
	// MapCounted means that the kernel counts the elements (bpf_map_sum_elem_count).
	MapCounted
	// MapTakesExtra means that map_extra may be set (kernel/bpf/syscall.c map_create).
	MapTakesExtra
)

// MapFields is the class of special fields that values of a map type may contain
// (kernel/bpf/syscall.c map_check_btf).
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

// mapTypes contains the release that introduced each type, the kernel's struct (map_btf_id) and its
// properties. The constructors in package maps check flags and sizes.
var mapTypes = [...]struct {
	since  Release
	btf    string
	traits MapTraits
	fields MapFields
}{
	MapTypeUnspec:              {},
	MapTypeHash:                {since: R(3, 19), btf: "bpf_htab", traits: MapEachElem | MapCounted, fields: AllFields},
	MapTypeArray:               {since: R(3, 19), btf: "bpf_array", traits: MapEachElem, fields: AllFields},
	MapTypeProgArray:           {since: R(4, 2), btf: "bpf_array"},
	MapTypePerfEventArray:      {since: R(4, 3), btf: "bpf_array"},
	MapTypePercpuHash:          {since: R(4, 6), btf: "bpf_htab", traits: MapPerCPU | MapEachElem | MapCounted, fields: PointerFields},
	MapTypePercpuArray:         {since: R(4, 6), btf: "bpf_array", traits: MapPerCPU | MapEachElem, fields: PointerFields},
	MapTypeStackTrace:          {since: R(4, 6), btf: "bpf_stack_map"},
	MapTypeCgroupArray:         {since: R(4, 8), btf: "bpf_array"},
	MapTypeLRUHash:             {since: R(4, 10), btf: "bpf_htab", traits: MapEachElem | MapCounted, fields: UnlockedFields},
	MapTypeLRUPercpuHash:       {since: R(4, 10), btf: "bpf_htab", traits: MapPerCPU | MapEachElem | MapCounted, fields: PointerFields},
	MapTypeLPMTrie:             {since: R(4, 11), btf: "lpm_trie"},
	MapTypeArrayOfMaps:         {since: R(4, 12), btf: "bpf_array"},
	MapTypeHashOfMaps:          {since: R(4, 12), btf: "bpf_htab", traits: MapCounted},
	MapTypeDevmap:              {since: R(4, 14), btf: "bpf_dtab"},
	MapTypeSockmap:             {since: R(4, 14), btf: "bpf_stab"},
	MapTypeCpumap:              {since: R(4, 15), btf: "bpf_cpu_map"},
	MapTypeXskmap:              {since: R(4, 18), btf: "xsk_map"},
	MapTypeSockhash:            {since: R(4, 18), btf: "bpf_shtab"},
	MapTypeCgroupStorage:       {since: R(4, 19), btf: "bpf_cgroup_storage_map", fields: CgroupFields},
	MapTypeReuseportSockarray:  {since: R(4, 19), btf: "reuseport_array"},
	MapTypePercpuCgroupStorage: {since: R(4, 20), btf: "bpf_cgroup_storage_map", traits: MapPerCPU},
	MapTypeQueue:               {since: R(4, 20), btf: "bpf_queue_stack"},
	MapTypeStack:               {since: R(4, 20), btf: "bpf_queue_stack"},
	MapTypeSkStorage:           {since: R(5, 2), btf: "bpf_local_storage_map", fields: StorageFields},
	MapTypeDevmapHash:          {since: R(5, 4), btf: "bpf_dtab"},
	MapTypeStructOps:           {since: R(5, 6)},
	MapTypeRingbuf:             {since: R(5, 8), btf: "bpf_ringbuf_map"},
	MapTypeInodeStorage:        {since: R(5, 10), btf: "bpf_local_storage_map", fields: StorageFields},
	MapTypeTaskStorage:         {since: R(5, 11), btf: "bpf_local_storage_map", fields: TaskFields},
	MapTypeBloomFilter:         {since: R(5, 16), btf: "bpf_bloom_filter", traits: MapTakesExtra},
	MapTypeUserRingbuf:         {since: R(6, 1), btf: "bpf_ringbuf_map"},
	MapTypeCgrpStorage:         {since: R(6, 2), btf: "bpf_local_storage_map", fields: StorageFields},
	MapTypeArena:               {since: R(6, 9), btf: "bpf_arena", traits: MapTakesExtra},
	MapTypeInsnArray:           {since: R(6, 19)},
	MapTypeRhash:               {since: R(7, 2), btf: "bpf_rhtab", traits: MapEachElem | MapTakesExtra, fields: AllFields},
}

// Compile-time check: every type has a row.
var _ = [1]struct{}{}[len(mapTypeNames)-len(mapTypes)]

// String returns libbpf's name of the type ("hash", "percpu_array"), or "MapType(N)" for a number
// that no known kernel defines.
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

// Since returns the release that introduced the type.
func (t MapType) Since() Release {
	if !t.Known() {
		return 0
	}
	return mapTypes[t].since
}

// In reports whether a release has the type. Types that no known kernel defines are in none.
func (t MapType) In(release Release) bool { return t.Known() && release.Has(t.Since()) }

// PerCPU reports whether each CPU has its own values in maps of the type.
func (t MapType) PerCPU() bool { return t.Has(MapPerCPU) }

// Fields returns the special fields that values of the type may contain.
func (t MapType) Fields() MapFields {
	if !t.Known() {
		return NoFields
	}
	return mapTypes[t].fields
}

// Struct returns the name of the kernel's struct for maps of the type, or "bpf_map" if the type has
// none that programs may access.
func (t MapType) Struct() string {
	if !t.Known() || mapTypes[t].btf == "" {
		return "bpf_map"
	}
	return mapTypes[t].btf
}

// MapTypes returns all map types, without MapTypeUnspec.
func MapTypes() []MapType { return upTo[MapType](len(mapTypeNames))[1:] }
