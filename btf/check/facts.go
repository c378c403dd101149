package check

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/uapi"
)

// Release is a release of Linux.
type Release = uapi.Release

// Fact is a check of BTF that differs between releases.
type Fact uint8

// Facts. Each describes newer releases unless it says otherwise.
const (
	// EmptySections: a DATASEC may have no variables.
	EmptySections Fact = iota
	// KindFloat, KindDeclTag, KindTypeTag and KindEnum64: the kind is known.
	KindFloat
	KindDeclTag
	KindTypeTag
	KindEnum64
	// SignedEnums: an ENUM may have the kind_flag.
	SignedEnums
	// FuncsResolve: FUNC takes part in the resolution of references.
	FuncsResolve
	// TagsFirst: TYPE_TAGs precede other modifiers, and chains of modifiers are at most 32 long.
	TagsFirst
	// ShortChains: chains of modifiers are at most 32 long; their order is free.
	ShortChains
	// LongNames: identifiers may have 512 characters instead of 128.
	LongNames
	// ReturnsTypes: a prototype does not return a VAR, DATASEC or DECL_TAG.
	ReturnsTypes
	// PrintableSections: names of sections may hold every printable character.
	PrintableSections
	// AttributeTags: DECL_TAG and TYPE_TAG may have the kind_flag.
	AttributeTags
	// OwnedFields: structs with locks and list heads are checked.
	OwnedFields
	// OwnedTrees, OwnedRefcounts: structs with nodes and roots of red-black trees, or with reference counts, are checked too.
	OwnedTrees
	OwnedRefcounts
	// OwnedKptrs: structs with kptrs are checked too.
	OwnedKptrs
	// NestedFields: fields are searched for in nested members and in arrays.
	NestedFields
	// ElevenFields: a struct may have 11 special fields instead of 10.
	ElevenFields
	// UniqueRefcounts: a struct has at most one bpf_refcount.
	UniqueRefcounts
	// UniqueNested: fields of nested structs count towards the enclosing struct.
	UniqueNested
	// UniqueTags: two decl tags "contains:" for one member are an error.
	UniqueTags
	// PercpuKptrs, UserPtrs: the type tags percpu_kptr and uptr.
	PercpuKptrs
	UserPtrs
	// LooseKptrTags: a kptr's tag may be anywhere among the modifiers of the pointee.
	LooseKptrTags
	// ResilientLocks: bpf_res_spin_lock.
	ResilientLocks
	// OwnershipDepth: ownership chains have at most eight structs.
	OwnershipDepth
	// LayoutSection: a section may describe the sizes of kinds.
	LayoutSection
	// WideInfo: the info word has 24 bits for vlen and 7 for the kind, none unused.
	WideInfo

	numFacts
)

// row identifies which releases a fact holds for.
type row struct {
	from Release
	// until, when set, is the first release in which it no longer holds.
	until Release
	// also lists stable series before from that backported it.
	also []Release
	what string
}

var (
	r    = uapi.R
	rows = [numFacts]row{
		EmptySections:     {from: r(5, 12), what: "sections without variables"},
		KindFloat:         {from: r(5, 13), what: "FLOAT"},
		KindDeclTag:       {from: r(5, 16), what: "DECL_TAG"},
		KindTypeTag:       {from: r(5, 17), what: "TYPE_TAG"},
		KindEnum64:        {from: r(6, 0), what: "ENUM64"},
		SignedEnums:       {from: r(6, 0), what: "ENUM with kind_flag"},
		FuncsResolve:      {from: r(5, 18), what: "FUNC takes part in resolution"},
		TagsFirst:         {from: r(5, 19), until: r(7, 2), what: "type tags precede other modifiers"},
		ShortChains:       {from: r(7, 2), what: "only the length of chains of modifiers is limited"},
		LongNames:         {from: r(6, 1), what: "names of 512 characters"},
		ReturnsTypes:      {from: r(6, 1), what: "prototypes return types"},
		PrintableSections: {from: r(6, 9), what: "sections with printable names"},
		AttributeTags:     {from: r(6, 15), what: "tags with kind_flag"},
		OwnedFields:       {from: r(6, 2), what: "locks and lists in structs"},
		OwnedTrees:        {from: r(6, 3), what: "trees in structs"},
		OwnedRefcounts:    {from: r(6, 4), what: "reference counts in structs"},
		OwnedKptrs:        {from: r(6, 12), what: "kptrs in structs"},
		NestedFields:      {from: r(6, 11), what: "fields of nested structs and arrays"},
		ElevenFields:      {from: r(6, 10), what: "11 fields in a struct"},
		UniqueRefcounts:   {from: r(7, 2), also: []Release{r(6, 12)}, what: "one bpf_refcount in a struct"},
		UniqueNested:      {from: r(7, 2), also: []Release{r(6, 12)}, what: "unique fields count in nested structs"},
		UniqueTags:        {from: r(6, 7), what: "one decl tag contains: for a member"},
		PercpuKptrs:       {from: r(6, 7), what: "percpu_kptr"},
		UserPtrs:          {from: r(6, 13), what: "uptr"},
		LooseKptrTags:     {from: r(7, 2), what: "a kptr's tag anywhere among the modifiers"},
		ResilientLocks:    {from: r(6, 15), what: "bpf_res_spin_lock"},
		OwnershipDepth:    {from: r(7, 2), also: []Release{r(6, 12)}, what: "owners of owners, eight deep"},
		LayoutSection:     {from: r(7, 2), what: "a layout section"},
		WideInfo:          {from: r(7, 2), what: "24 bits of vlen, 7 of kind"},
	}
)

// In reports whether the fact holds for a release; 0 means the newest.
func (f Fact) In(release Release) bool {
	row := &rows[f]
	if row.until != 0 && (release == 0 || release >= row.until) {
		return false
	}
	if release.Has(row.from) {
		return true
	}
	for _, a := range row.also {
		if release == a {
			return true
		}
	}
	return false
}

// String describes the fact.
func (f Fact) String() string { return rows[f].what }

// kindFacts maps kinds that were added later to the facts that allow them.
var kindFacts = map[btf.Kind]Fact{
	btf.KindFloat: KindFloat, btf.KindDeclTag: KindDeclTag, btf.KindTypeTag: KindTypeTag, btf.KindEnum64: KindEnum64,
}
