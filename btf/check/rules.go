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

// ruleRows holds each rule's name and advice.
var ruleRows = [numRules]struct{ name, advice string }{
	RuleLimit:     {"limit", "the kernel's limit is 16 MiB; remove types that the programs do not use (bpfrun btf min)"},
	RuleHeader:    {"header", "regenerate the file with a tool that writes BTF version 1"},
	RuleSections:  {"sections", "types and strings must follow the header without gaps or overlap, up to the end of the file"},
	RuleStrings:   {"strings", "the string table starts with an empty string and ends with a zero byte"},
	RuleLayout:    {"layout", "remove the layout section, or write whole entries of 4 bytes"},
	RuleTruncated: {"truncated", "the file was truncated, or vlen is wrong"},
	RuleInfo:      {"info", "unused bits of the info word must be zero; split types with more entries than the release takes"},
	RuleKind:      {"kind", "compile for an older kernel, or let libbpf replace the kind (bpfrun btf check --sanitise)"},
	RuleName:      {"name", "rename it: letters, digits, _ and ., not starting with a digit; give a name only to types that need one"},
	RuleVlen:      {"vlen", "this kind has no entries: set vlen to 0"},
	RuleKindFlag:  {"kind-flag", "clear the kind_flag"},
	RuleReference: {"reference", "refer to an existing type that is allowed here"},
	RuleSize:      {"size", "give the type a size the kernel accepts"},
	RuleInteger:   {"integer", "use an INT of 1, 2, 4, 8 or 16 bytes with one encoding"},
	RuleLinkage:   {"linkage", "make it static or global; a loader turns extern into global"},
	RuleOffset:    {"offset", "members and variables must be in order and inside their struct or section"},
	RuleMember:    {"member", "the member must be a sized type that fits at its offset"},
	RuleSection:   {"section", "a loader must set the sizes and offsets of sections before it passes BTF to the kernel"},
	RuleComponent: {"component", "a tag's component is -1, or the index of an existing member or parameter"},
	RuleParameter: {"parameter", "parameters are sized types; those of functions have names; only the last may be \"...\""},
	RuleReturn:    {"return", "a function returns void or a sized type"},
	RuleArray:     {"array", "element and index must be sized types, the index an INT, the whole less than 4 GiB"},
	RuleLoop:      {"loop", "break the loop: only a pointer to a struct may lead back"},
	RuleDepth:     {"depth", "types may refer to each other 32 deep"},
	RuleTagOrder:  {"tag-order", "put type tags before const, volatile, restrict and typedef"},
	RuleChain:     {"chain", "at most 32 modifiers may follow each other"},
	RuleField:     {"field", "see the kernel's Documentation/bpf/graph_ds_impl.rst for what such fields need"},
	RuleOwnership: {"ownership", "a struct that is both owned and an owner may not own further owners"},
}

// String returns the rule's name, such as "loop".
func (r Rule) String() string { return ruleRows[r].name }

// Advice says how to fix BTF that breaks the rule.
func (r Rule) Advice() string { return ruleRows[r].advice }
