package loader

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/progtype"
	"github.com/bpfrun/bpfrun/uapi"
)

// Dialect is the user space loader whose rules an object is opened and loaded by, where loaders differ: section names, and the
// sizes of maps that follow from their type.
type Dialect uint8

// Dialects.
const (
	// DialectAuto takes what any of the loaders takes, and warns where libbpf would not.
	DialectAuto Dialect = iota
	DialectLibbpf
	// DialectCilium is github.com/cilium/ebpf: fixupMagicFields in map.go, matchSectionName in elf_reader.go.
	DialectCilium
	// DialectAya is aya: section names as in libbpf, map definitions as they are.
	DialectAya
)

var dialectNames = [...]string{"auto", "libbpf", "cilium", "aya"}

// String returns the name as ParseDialect takes it.
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

// DialectNames lists what ParseDialect takes.
func DialectNames() []string { return dialectNames[:] }

// WithDialect opens the object by the rules of one loader; Load follows them too.
func WithDialect(d Dialect) Option { return func(c *openConfig) { c.dialect = d } }

// section finds what a section name makes of a program. Where libbpf knows no such name, cilium/ebpf takes the longest name it
// begins with ("tc_ingress" is a tc program); to choose that without being told to, the rest has to be a word of its own.
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

// fixedSizes are the sizes of key and value that a map type allows alone. The file descriptors of elements have 4 bytes.
var fixedSizes = map[uapi.MapType]struct{ key, value uint32 }{
	uapi.MapTypePerfEventArray: {4, 4}, uapi.MapTypeProgArray: {4, 4}, uapi.MapTypeCgroupArray: {4, 4}, uapi.MapTypeXskmap: {4, 4},
	uapi.MapTypeArrayOfMaps: {4, 4}, uapi.MapTypeRingbuf: {}, uapi.MapTypeUserRingbuf: {}, uapi.MapTypeArena: {},
}

// LacksFixedSize reports whether the definition differs from the sizes its type alone allows: loaders other than libbpf set them.
func (m *Map) LacksFixedSize() bool {
	want, ok := fixedSizes[m.Type]
	return ok && (m.KeySize != want.key || m.ValueSize != want.value)
}

// fixSizes gives a map the sizes its type alone allows, where the definition leaves them out or names a type for the sake of
// generated code. libbpf passes definitions on as they are, and the kernel refuses those.
func (l *loading) fixSizes(m *Map) {
	d := l.o.dialect
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
