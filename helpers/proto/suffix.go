package proto

import "strings"

// Suffix is the requirement on an argument that the suffix of a kfunc parameter's name expresses
// (Documentation/bpf/kfuncs.rst).
type Suffix uint8

// Suffixes.
const (
	NoSuffix Suffix = iota
	// SuffixSize "__sz": the argument is the size in bytes of the preceding memory argument.
	SuffixSize
	// SuffixConstSize "__szk": the same, and it must be a constant.
	SuffixConstSize
	// SuffixConst "__k": a constant.
	SuffixConst
	// SuffixUninit "__uninit": the memory need not be initialised.
	SuffixUninit
	// SuffixIgnore "__ign": any value, not checked.
	SuffixIgnore
	// SuffixMap "__map": a map.
	SuffixMap
	// SuffixNullable "__nullable" or "__opt": NULL is allowed.
	SuffixNullable
	// SuffixString "__str": a constant string.
	SuffixString
	// SuffixAlloc "__alloc": an object that the program allocated.
	SuffixAlloc
	// SuffixRefcounted "__refcounted_kptr": an allocated object with a reference count.
	SuffixRefcounted
	// SuffixIrqFlag "__irq_flag": a saved interrupt flag on the stack.
	SuffixIrqFlag
	// SuffixProg "__prog": the kernel passes the program's own bpf_prog_aux.
	SuffixProg
	// SuffixArena "__arena": a pointer into the program's arena.
	SuffixArena
)

var suffixes = []struct {
	text   string
	suffix Suffix
}{
	{"__szk", SuffixConstSize}, {"__sz", SuffixSize}, {"__k", SuffixConst}, {"__uninit", SuffixUninit}, {"__ign", SuffixIgnore},
	{"__map", SuffixMap}, {"__nullable", SuffixNullable}, {"__opt", SuffixNullable}, {"__str", SuffixString}, {"__alloc", SuffixAlloc},
	{"__refcounted_kptr", SuffixRefcounted}, {"__irq_flag", SuffixIrqFlag}, {"__prog", SuffixProg}, {"__arena", SuffixArena},
}

// SuffixOf returns the requirement in the name of a kfunc's parameter.
func SuffixOf(param string) Suffix {
	for _, s := range suffixes {
		if strings.HasSuffix(param, s.text) {
			return s.suffix
		}
	}
	return NoSuffix
}
