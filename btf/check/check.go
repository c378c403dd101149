package check

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// Limits of include/uapi/linux/btf.h and kernel/bpf/btf.c.
const (
	maxSize     = 16 << 20
	maxType     = 0x000fffff
	maxNameOff  = 0x00ffffff
	maxDepth    = 32
	headerSize  = 24
	layoutSize  = 32 // a header with the layout section's fields
	typeSize    = 12
	narrowVlen  = 0xffff // without WideInfo
	maxUint32   = 1<<32 - 1
	shortNames  = 128
	longNames   = 512
	notSupp     = uapi.Errno(524) // ENOTSUPP, which user space headers do not define
	bitsPerU128 = 128
)

// Options select the kernel whose rules apply.
type Options struct {
	// Release of the kernel; 0 is the newest.
	Release Release
	// PointerSize is the kernel's pointer size in bytes; 0 is 8.
	PointerSize int
	// InKernel, when set, reports whether the kernel's own BTF has a type of that kind and name:
	// kptrs to such types need a destructor.
	InKernel func(kind btf.Kind, name string) bool
}

// Problem is the first rule that BTF breaks, in the order of the kernel's checks.
type Problem struct {
	Rule Rule
	// ID, Kind and Name describe the type; they are zero for the file as a whole.
	ID   btf.ID
	Kind btf.Kind
	Name string
	// Entry is the index of the member, enumerator, parameter or variable, -1 if none.
	Entry  int
	Detail string
	// Errno is what BPF_BTF_LOAD returns.
	Errno uapi.Errno
	// Unsafe means that such BTF crashes some kernels; do not load it.
	Unsafe bool
}

// Error names the type, the rule and the value that breaks it.
func (p *Problem) Error() string {
	var b strings.Builder
	if p.ID != 0 {
		fmt.Fprintf(&b, "[%d] %s", p.ID, p.Kind)
		if p.Name != "" {
			fmt.Fprintf(&b, " %q", p.Name)
		}
		b.WriteString(": ")
	}
	if p.Entry >= 0 {
		fmt.Fprintf(&b, "entry %d: ", p.Entry)
	}
	fmt.Fprintf(&b, "%s (rule %s, %s)", p.Detail, p.Rule, errnoName(p.Errno))
	return b.String()
}

// ErrnoName returns the name of Errno.
func (p *Problem) ErrnoName() string { return errnoName(p.Errno) }

func errnoName(e uapi.Errno) string {
	if e == notSupp {
		return "ENOTSUPP"
	}
	return e.Error()
}

// typ is a type as the kernel keeps it: its three words and the data that follows.
type typ struct {
	name, info, third uint32
	kind              btf.Kind
	vlen              uint32
	flag              bool
	body              []byte
}

type checker struct {
	opts  Options
	rules *rules
	order binary.ByteOrder
	ptr   uint32

	raw                                                           []byte
	hdrLen, typeOff, typeLen, strOff, strLen, layOff, layoutBytes uint32
	strs                                                          []byte
	types                                                         []typ // [0] is void

	resolver
	metas []meta
	// empty holds the nesting depth of structs without special fields; height is the depth of the
	// struct being walked.
	empty  map[uint32]int
	height int
}

// BTF checks raw BTF as BPF_BTF_LOAD of a kernel with the same byte order does. It returns nil when
// the kernel accepts it, otherwise a [*Problem].
func BTF(raw []byte, opts Options) error { return kernel(raw, opts, rulesOf(opts.Release)) }

func kernel(raw []byte, opts Options, r *rules) error {
	c := newChecker(raw, opts, r)
	for _, step := range []func() *Problem{
		c.header, c.strings, c.layout, c.metaAll, c.resolveAll, c.modifiers, c.ownedFields,
	} {
		if p := step(); p != nil {
			return p
		}
	}
	return nil
}

func newChecker(raw []byte, opts Options, r *rules) *checker {
	opts.Release = 0 // it is asked by r only
	c := &checker{opts: opts, rules: r, raw: raw, order: binary.LittleEndian, ptr: 8}
	if len(raw) >= 2 && raw[0] == 0xeb && raw[1] == 0x9f {
		c.order = binary.BigEndian
	}
	if opts.PointerSize != 0 {
		c.ptr = uint32(opts.PointerSize)
	}
	return c
}

// has asks for a rule. What asks only where the rule matters has results that hold for more
// releases.
func (c *checker) has(r since.Rule) bool { return c.rules.has(r) }

// longest is the number of characters of the longest name.
func (c *checker) longest() int {
	if c.has(since.LongNames) {
		return longNames
	}
	return shortNames
}

func (c *checker) tooLong(name string) bool { return len(name) > shortNames && len(name) > c.longest() }

func fileProblem(rule Rule, errno uapi.Errno, format string, args ...any) *Problem {
	return &Problem{Rule: rule, Entry: -1, Errno: errno, Detail: fmt.Sprintf(format, args...)}
}

// problem returns a Problem of the type with that id, with errno EINVAL.
func (c *checker) problem(id btf.ID, rule Rule, format string, args ...any) *Problem {
	return c.entryProblem(id, -1, rule, format, args...)
}

func (c *checker) entryProblem(id btf.ID, entry int, rule Rule, format string, args ...any) *Problem {
	p := &Problem{Rule: rule, ID: id, Entry: entry, Errno: uapi.EINVAL, Detail: fmt.Sprintf(format, args...)}
	if t := c.byID(uint32(id)); t != nil {
		p.Kind, p.Name = t.kind, c.shown(t.name)
	}
	return p
}

func (c *checker) shown(off uint32) string {
	s, _ := c.str(off)
	if len(s) > 64 {
		s = s[:64] + "..."
	}
	return s
}

func (c *checker) u32(b []byte) uint32 { return c.order.Uint32(b) }

// header checks the header (btf_parse_hdr, btf_check_sec_info).
func (c *checker) header() *Problem {
	n := uint32(len(c.raw))
	if len(c.raw) > maxSize {
		return fileProblem(RuleLimit, uapi.E2BIG, "%d bytes, the limit is %d", len(c.raw), maxSize)
	}
	if n < 8 {
		return fileProblem(RuleHeader, uapi.EINVAL, "%d bytes are too few for the header length", n)
	}
	known := uint32(headerSize)
	c.hdrLen = c.u32(c.raw[4:])
	if c.hdrLen > headerSize && c.has(since.LayoutSection) {
		known = layoutSize
	}
	if n < c.hdrLen {
		return fileProblem(RuleHeader, uapi.EINVAL, "the header has %d bytes, the file %d", c.hdrLen, n)
	}
	for i := known; i < c.hdrLen; i++ {
		if c.raw[i] != 0 {
			return fileProblem(RuleHeader, uapi.E2BIG, "byte %d of the header is %#02x; this kernel knows %d bytes, the others must be zero", i, c.raw[i], known)
		}
	}
	var h [layoutSize]byte
	copy(h[:known], c.raw[:min(c.hdrLen, known)])
	switch {
	case c.order.Uint16(h[:]) != 0xeb9f:
		return fileProblem(RuleHeader, uapi.EINVAL, "magic %#04x, want 0xeb9f", c.order.Uint16(h[:]))
	case h[2] != 1:
		return fileProblem(RuleHeader, notSupp, "version %d, want 1", h[2])
	case h[3] != 0:
		return fileProblem(RuleHeader, notSupp, "unknown flags %#x", h[3])
	case n == c.u32(h[4:]):
		return fileProblem(RuleHeader, uapi.EINVAL, "nothing follows the header")
	}
	c.typeOff, c.typeLen, c.strOff, c.strLen = c.u32(h[8:]), c.u32(h[12:]), c.u32(h[16:]), c.u32(h[20:])
	if c.hdrLen >= layoutSize && c.has(since.LayoutSection) {
		c.layOff, c.layoutBytes = c.u32(h[24:]), c.u32(h[28:])
	}
	return c.sections(n - c.hdrLen)
}

type section struct {
	what     string
	off, len uint32
}

// sections checks that sections are adjacent and fill the file.
func (c *checker) sections(expected uint32) *Problem {
	secs := []section{{"types", c.typeOff, c.typeLen}, {"strings", c.strOff, c.strLen}}
	if c.layoutBytes != 0 {
		secs = append(secs, section{"layout", c.layOff, c.layoutBytes})
	}
	less := func(a, b section) bool {
		if d := int32(a.off - b.off); d != 0 {
			return d < 0
		}
		return int32(a.len-b.len) < 0
	}
	for i := 1; i < len(secs); i++ {
		for j := i; j > 0 && less(secs[j], secs[j-1]); j-- {
			secs[j], secs[j-1] = secs[j-1], secs[j]
		}
	}
	total := uint32(0)
	for _, s := range secs {
		switch {
		case expected < s.off:
			return fileProblem(RuleSections, uapi.EINVAL, "%s start at %d, %d bytes follow the header", s.what, s.off, expected)
		case total < s.off:
			return fileProblem(RuleSections, uapi.EINVAL, "bytes %d to %d belong to no known section", total, s.off)
		case total > s.off:
			return fileProblem(RuleSections, uapi.EINVAL, "%s at %d overlap the section that ends at %d", s.what, s.off, total)
		case expected-total < s.len:
			return fileProblem(RuleSections, uapi.EINVAL, "%s have %d bytes, %d are left", s.what, s.len, expected-total)
		}
		total += s.len
	}
	if total != expected {
		return fileProblem(RuleSections, uapi.EINVAL, "%d bytes follow the sections", expected-total)
	}
	return nil
}

// strings checks the string table (btf_parse_str_sec).
func (c *checker) strings() *Problem {
	data := c.raw[c.hdrLen:]
	end := c.strOff + c.strLen
	if end != uint32(len(data)) && !(c.hdrLen >= layoutSize && c.has(since.LayoutSection)) {
		return fileProblem(RuleSections, uapi.EINVAL, "strings end at %d, the file at %d", end, len(data))
	}
	c.strs = data[c.strOff:end]
	switch {
	case c.strLen == 0:
		return fileProblem(RuleStrings, uapi.EINVAL, "the string table is empty")
	case c.strLen-1 > maxNameOff:
		return fileProblem(RuleStrings, uapi.EINVAL, "%d bytes of strings, the limit is %d", c.strLen, maxNameOff+1)
	case c.strs[c.strLen-1] != 0:
		return fileProblem(RuleStrings, uapi.EINVAL, "the last byte is %#02x, not zero", c.strs[c.strLen-1])
	case c.strs[0] != 0:
		return fileProblem(RuleStrings, uapi.EINVAL, "the first string is not empty")
	}
	return nil
}

// layout checks the section that describes kinds (btf_parse_layout_sec).
func (c *checker) layout() *Problem {
	switch {
	case c.layoutBytes == 0:
	case c.layOff%4 != 0:
		return fileProblem(RuleLayout, uapi.EINVAL, "the layout section is at %d, which is not a multiple of 4", c.layOff)
	case c.layoutBytes%4 != 0:
		return fileProblem(RuleLayout, uapi.EINVAL, "the layout section has %d bytes, which is not a multiple of 4", c.layoutBytes)
	}
	return nil
}

// byID returns a type, or nil.
func (c *checker) byID(id uint32) *typ {
	if id >= uint32(len(c.types)) {
		return nil
	}
	return &c.types[id]
}

// str returns the string at an offset.
func (c *checker) str(off uint32) (string, bool) {
	if off >= uint32(len(c.strs)) {
		return "", false
	}
	s := c.strs[off:]
	for i, b := range s {
		if b == 0 {
			return string(s[:i]), true
		}
	}
	return string(s), true
}
