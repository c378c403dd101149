package check

// Rule is a rule of the kernel that BTF can break.
type Rule uint8

// Rules.
const (
	RuleLimit Rule = iota + 1
	RuleHeader
	RuleSections
	RuleStrings
	RuleLayout
	RuleTruncated
	RuleInfo
	RuleKind
	RuleName
	RuleVlen
	RuleKindFlag
	RuleReference
	RuleSize
	RuleInteger
	RuleLinkage
	RuleOffset
	RuleMember
	RuleSection
	RuleComponent
	RuleParameter
	RuleReturn
	RuleArray
	RuleLoop
	RuleDepth
	RuleTagOrder
	RuleChain
	RuleField
	RuleOwnership

	numRules
)

// ruleRows name each rule and say what to do about it.
var ruleRows = [numRules]struct{ name, advice string }{
	RuleLimit:     {"limit", "the kernel takes at most 16 MiB; leave out types that the programs do not use (bpfrun btf min)"},
	RuleHeader:    {"header", "write the file again with a tool that makes BTF of version 1"},
	RuleSections:  {"sections", "types and strings must follow the header without gap or overlap, and end the file"},
	RuleStrings:   {"strings", "the string table starts with an empty string and ends with a zero byte"},
	RuleLayout:    {"layout", "leave the layout section out, or write whole entries of 4 bytes"},
	RuleTruncated: {"truncated", "the file was cut off, or vlen is wrong"},
	RuleInfo:      {"info", "unused bits of the info word must be zero"},
	RuleKind:      {"kind", "compile for an older kernel, or let libbpf replace the kind (bpfrun btf check --sanitise)"},
	RuleName:      {"name", "rename it: letters, digits, _ and ., not starting with a digit; types that need a name have one, others none"},
	RuleVlen:      {"vlen", "this kind has no entries"},
	RuleKindFlag:  {"kind-flag", "clear the kind_flag"},
	RuleReference: {"reference", "refer to a type that exists and may stand here"},
	RuleSize:      {"size", "give the type a size the kernel takes"},
	RuleInteger:   {"integer", "use an INT of 1, 2, 4, 8 or 16 bytes with one encoding"},
	RuleLinkage:   {"linkage", "make it static or global; a loader turns extern ones into global ones"},
	RuleOffset:    {"offset", "members and variables must be in order and inside of what holds them"},
	RuleMember:    {"member", "the member must be a sized type that fits at its offset"},
	RuleSection:   {"section", "a loader sets sizes and offsets of sections before it gives BTF to the kernel"},
	RuleComponent: {"component", "a tag's component is -1, or the index of an existing member or parameter"},
	RuleParameter: {"parameter", "parameters are sized types; those of functions have names; only the last may be \"...\""},
	RuleReturn:    {"return", "a function returns void or a sized type"},
	RuleArray:     {"array", "element and index must be sized types, the index an INT, the whole less than 4 GiB"},
	RuleLoop:      {"loop", "break the loop: only a pointer to a struct may lead back"},
	RuleDepth:     {"depth", "types may refer to each other 32 deep"},
	RuleTagOrder:  {"tag-order", "put type tags before const, volatile, restrict and typedef"},
	RuleChain:     {"chain", "at most 32 modifiers may follow each other"},
	RuleField:     {"field", "see the kernel's Documentation/bpf/graph_ds_impl.rst for what such fields need"},
	RuleOwnership: {"ownership", "a struct that is both owned and owner may not own further owners"},
}

// String returns the rule's name, "loop".
func (r Rule) String() string { return ruleRows[r].name }

// Advice describes what to do about BTF that breaks the rule.
func (r Rule) Advice() string { return ruleRows[r].advice }
