package loader

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Dialect selects the user space loader whose rules apply where loaders differ: section names, and
// map sizes that follow from the map type.
type Dialect uint8

// Dialects.
const (
	// DialectAuto accepts what any of the loaders accepts, and warns where libbpf would not.
	DialectAuto Dialect = iota
	DialectLibbpf
	// DialectCilium is github.com/cilium/ebpf: fixupMagicFields in map.go, matchSectionName in
	// elf_reader.go.
	DialectCilium
	// DialectAya is aya: section names as in libbpf, map definitions unchanged.
	DialectAya
)

var dialectNames = [...]string{"auto", "libbpf", "cilium", "aya"}

// String returns the name that ParseDialect accepts.
func (d Dialect) String() string {
	if int(d) < len(dialectNames) {
		return dialectNames[d]
	}
	return "unknown"
}

// ParseDialect finds a dialect by name.
func ParseDialect(name string) (Dialect, bool) {
	for i, n := range dialectNames {
		if n == name {
			return Dialect(i), true
		}
	}
	return 0, false
}

// DialectNames lists the names that ParseDialect accepts.
func DialectNames() []string { return dialectNames[:] }

// WithDialect applies the rules of one loader to opening and loading the object.
func WithDialect(d Dialect) Option { return func(c *openConfig) { c.dialect = d } }

// section returns the program kind for a section name. For names unknown to libbpf, cilium/ebpf
// uses the longest known prefix ("tc_ingress" is a tc program); with DialectAuto the rest of the
// name must be a separate word.
func (d Dialect) section(name string) (s *progtype.Section, target string, lenient bool) {
	if s, target = progtype.ParseSection(name); s != nil || d == DialectLibbpf || d == DialectAya {
		return s, target, false
	}
	if s = progtype.SectionByPrefix(name); s == nil {
		return nil, "", false
	}
	if rest := strings.TrimPrefix(strings.TrimPrefix(name, "?"), s.Name); d == DialectAuto && !strings.ContainsAny(rest[:1], "_-./") {
		return nil, "", false
	}
	return s, "", true
}

// fixedSizes are the only key and value sizes in bytes that a map type allows. File descriptors as
// elements have 4 bytes.
var fixedSizes = map[uapi.MapType]struct{ key, value uint32 }{
	uapi.MapTypePerfEventArray: {4, 4}, uapi.MapTypeProgArray: {4, 4}, uapi.MapTypeCgroupArray: {4, 4}, uapi.MapTypeXskmap: {4, 4},
	uapi.MapTypeArrayOfMaps: {4, 4}, uapi.MapTypeRingbuf: {}, uapi.MapTypeUserRingbuf: {}, uapi.MapTypeArena: {},
}

// LacksFixedSize reports whether the definition differs from the only sizes that its type allows,
// which loaders other than libbpf correct.
func (m *Map) LacksFixedSize() bool {
	want, ok := fixedSizes[m.Type]
	return ok && (m.KeySize != want.key || m.ValueSize != want.value)
}

// fixSizes sets the only sizes that a map's type allows if the definition omits them or gives a
// type just for generated code. libbpf passes such definitions on unchanged, and the kernel refuses
// them.
func (l *loading) fixSizes(m *Map) {
	d := l.o.opened.dialect
	if d == DialectLibbpf || d == DialectAya || l.opts.AsDefined || !m.LacksFixedSize() {
		return
	}
	want, set, cilium := fixedSizes[m.Type], []string{}, true
	fix := func(what string, size *uint32, want uint32, typed, byCilium bool) {
		if *size == want || *size != 0 && !typed || d == DialectCilium && !byCilium {
			return
		}
		*size, cilium = want, cilium && byCilium
		set = append(set, fmt.Sprintf("%s %d", what, want))
	}
	perf, typed := m.Type == uapi.MapTypePerfEventArray, m.ValueType != 0
	fix("key size", &m.KeySize, want.key, m.KeyType != 0 && want.key == 0, perf)
	fix("value size", &m.ValueSize, want.value, typed, perf || isMapOfMaps(m.Type) || typed && m.Type != uapi.MapTypeUserRingbuf && want.value == 0)
	if len(set) == 0 || d == DialectCilium {
		return
	}
	how := "user space has to set it"
	if cilium {
		how = "cilium/ebpf sets it"
	}
	l.warnf("map %s (%s): assuming %s, as %s; if libbpf loads it unchanged, the kernel refuses it (--loader libbpf)", m.Name, m.Type, strings.Join(set, " and "), how)
}
