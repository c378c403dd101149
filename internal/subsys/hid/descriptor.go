package hid

import (
	"fmt"
	"slices"
)

// ReportType is enum hid_report_type.
type ReportType uint8

// Types of reports.
const (
	InputReport ReportType = iota
	OutputReport
	FeatureReport
	reportTypes
)

// String names the type as scenario files do.
func (t ReportType) String() string {
	if t < reportTypes {
		return [...]string{"input", "output", "feature"}[t]
	}
	return fmt.Sprintf("type %d", uint8(t))
}

// Limits of the kernel's parser (include/linux/hid.h).
const (
	MaxDescriptor = 4096  // HID_MAX_DESCRIPTOR_SIZE
	MaxBuffer     = 16384 // HID_MAX_BUFFER_SIZE
	maxIDs        = 256   // HID_MAX_IDS
	maxUsages     = 12288 // HID_MAX_USAGES
	maxItemBits   = 256   // the largest report_size that is accepted
	globalStack   = 4     // HID_GLOBAL_STACK_SIZE
)

// Descriptor is a parsed report descriptor.
type Descriptor struct {
	Reports []*Report
	// numbered means that reports of the type begin with their id.
	numbered [reportTypes]bool
}

// Report is one report that a descriptor declares.
type Report struct {
	Type   ReportType
	ID     uint8 // 0 if reports have no ids
	Bits   int   // without the id
	Fields []Field
}

// Field is a group of equal values in a report.
type Field struct {
	Usages      []uint32 // usage page in the upper half
	Offset      int      // in bits, without the id
	Size, Count int      // bits of a value, number of values
	Min, Max    int32    // logical minimum and maximum
	Variable    bool     // each value has its own usage; otherwise values are indices of usages
}

// Len returns the report's length in bytes, with its id (hid_report_len).
func (r *Report) Len() int {
	n := (r.Bits + 7) / 8
	if r.ID > 0 {
		n++
	}
	return n
}

// DescriptorError is a report descriptor that the kernel refuses.
type DescriptorError struct {
	Offset int
	Why    string
}

// Error names the position and the reason.
func (e *DescriptorError) Error() string {
	return fmt.Sprintf("report descriptor, byte %d: %s", e.Offset, e.Why)
}

// global is the state of global items, which items "push" and "pop" save and restore.
type global struct {
	page        uint32
	min, max    int32
	size, count uint32
	id          uint8
}

// parser is the state between items.
type parser struct {
	d     *Descriptor
	g     global
	stack []global
	local
	depth int // open collections
	at    int
}

// local is the state of local items, which hold for one main item.
type local struct {
	usage []uint32
	short []bool // the usage has no page of its own
	first uint32 // usage minimum
	// branch counts delimiters: only the first set of alternative usages counts.
	delimited bool
	branch    int
}

func (p *parser) fail(format string, args ...any) error {
	return &DescriptorError{p.at, fmt.Sprintf(format, args...)}
}

// item is one item of a descriptor.
type item struct {
	kind, tag byte
	data      []byte
}

func (i item) unsigned() uint32 {
	var v uint32
	for n, b := range i.data {
		v |= uint32(b) << (8 * n)
	}
	return v
}

func (i item) signed() int32 {
	switch len(i.data) {
	case 1:
		return int32(int8(i.data[0]))
	case 2:
		return int32(int16(i.unsigned()))
	}
	return int32(i.unsigned())
}

// Kinds of items; another one is reserved and ignored (HID 1.11 section 6.2.2.2).
const (
	mainKind = iota
	globalKind
	localKind
)

// Parse parses a report descriptor as the kernel does (hid_open_report). The error is a
// [*DescriptorError].
func Parse(desc []byte) (*Descriptor, error) {
	p := &parser{d: &Descriptor{}}
	if len(desc) == 0 {
		return nil, p.fail("it is empty")
	}
	for p.at < len(desc) {
		it, next, err := p.fetch(desc)
		if err != nil {
			return nil, err
		}
		switch it.kind {
		case mainKind:
			err = p.main(it)
		case globalKind:
			err = p.globalItem(it)
		case localKind:
			err = p.localItem(it)
		}
		if err != nil {
			return nil, err
		}
		p.at = next
	}
	if p.depth != 0 {
		return nil, p.fail("a collection is not closed")
	}
	if p.delimited {
		return nil, p.fail("a delimiter is not closed")
	}
	return p.d, nil
}

// fetch splits the next item off (fetch_item).
func (p *parser) fetch(desc []byte) (it item, next int, err error) {
	const long = 0xfe
	b, rest := desc[p.at], desc[p.at+1:]
	if b>>4 == long>>4 {
		return it, 0, p.fail("long items are refused")
	}
	n := int(b & 3)
	if n == 3 {
		n = 4
	}
	if len(rest) < n {
		return it, 0, p.fail("the item has %d bytes of data, but only %d are left", n, len(rest))
	}
	return item{kind: b >> 2 & 3, tag: b >> 4, data: rest[:n]}, p.at + 1 + n, nil
}

// main processes items that declare fields and collections (hid_parser_main).
func (p *parser) main(it item) error {
	const input, output, collection, feature, end = 8, 9, 10, 11, 12
	for i, u := range p.usage { // those without a page are of the page that holds now (hid_concatenate_last_usage_page)
		if p.short[i] {
			p.usage[i] = u&0xffff | p.g.page<<16
		}
	}
	var err error
	switch it.tag {
	case collection:
		p.depth++
	case end:
		if p.depth == 0 {
			return p.fail("end of a collection without a beginning")
		}
		p.depth--
	case input:
		err = p.field(InputReport, it)
	case output:
		err = p.field(OutputReport, it)
	case feature:
		err = p.field(FeatureReport, it)
	}
	p.local = local{}
	return err
}

// field adds a field to its report (hid_add_field).
func (p *parser) field(t ReportType, it item) error {
	r := p.report(t)
	g := &p.g
	if g.min < 0 && g.max < g.min || g.min >= 0 && uint32(g.max) < uint32(g.min) {
		return p.fail("the logical range %d to %d is empty", g.min, g.max)
	}
	f := Field{Offset: r.Bits, Size: int(g.size), Count: int(g.count), Min: g.min, Max: g.max, Variable: it.unsigned()&2 != 0, Usages: slices.Clone(p.usage)}
	if r.Bits += int(g.size) * int(g.count); r.Bits > (MaxBuffer-1)*8 {
		return p.fail("the report is longer than %d bytes", MaxBuffer)
	}
	if len(p.usage) > 0 { // others are padding
		r.Fields = append(r.Fields, f)
	}
	return nil
}

// report returns the report that fields are added to (hid_register_report).
func (p *parser) report(t ReportType) *Report {
	for _, r := range p.d.Reports {
		if r.Type == t && r.ID == p.g.id {
			return r
		}
	}
	r := &Report{Type: t, ID: p.g.id}
	p.d.Reports = append(p.d.Reports, r)
	if r.ID > 0 {
		p.d.numbered[t] = true
	}
	return r
}

// globalItem processes items that hold until they are changed (hid_parser_global).
func (p *parser) globalItem(it item) error {
	g := &p.g
	switch it.tag {
	case 0:
		g.page = it.unsigned()
	case 1:
		g.min = it.signed()
	case 2:
		g.max = it.signed()
		if g.min >= 0 {
			g.max = int32(it.unsigned())
		}
	case 3, 4, 5, 6: // physical range, unit
	case 7:
		if g.size = it.unsigned(); g.size > maxItemBits {
			return p.fail("invalid report_size %d", g.size)
		}
	case 8:
		id := it.unsigned()
		if id == 0 || id >= maxIDs {
			return p.fail("report_id %d is invalid", id)
		}
		g.id = uint8(id)
	case 9:
		if g.count = it.unsigned(); g.count > maxUsages {
			return p.fail("invalid report_count %d", g.count)
		}
	case 10:
		if len(p.stack) == globalStack {
			return p.fail("global items are pushed more than %d times", globalStack)
		}
		p.stack = append(p.stack, *g)
	case 11:
		if len(p.stack) == 0 {
			return p.fail("global items are popped that were not pushed")
		}
		*g, p.stack = p.stack[len(p.stack)-1], p.stack[:len(p.stack)-1]
	default:
		return p.fail("unknown global item %#x", it.tag)
	}
	return nil
}

// localItem processes items that hold for the next main item (hid_parser_local).
func (p *parser) localItem(it item) error {
	v := it.unsigned()
	switch it.tag {
	case 10:
		if v != 0 {
			if p.delimited {
				return p.fail("nested delimiters")
			}
			p.branch++
		} else if !p.delimited {
			return p.fail("a delimiter is closed that is not open")
		}
		p.delimited = v != 0
		return nil
	}
	if p.branch > 1 {
		return nil // an alternative usage
	}
	switch it.tag {
	case 0:
		return p.addUsage(v, it)
	case 1:
		p.first = v
	case 2:
		if v-p.first >= uint32(maxUsages-len(p.usage)) { // the rest is ignored
			v = p.first + uint32(maxUsages-len(p.usage)) - 1
		}
		for u := uint64(p.first); u <= uint64(v); u++ {
			if err := p.addUsage(uint32(u), it); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *parser) addUsage(u uint32, it item) error {
	if len(p.usage) >= maxUsages {
		return p.fail("more than %d usages", maxUsages)
	}
	p.usage, p.short = append(p.usage, u), append(p.short, len(it.data) <= 2)
	return nil
}

// Report returns the report that data is one of: by its first byte if reports of the type have ids;
// nil if the descriptor does not declare it (hid_get_report).
func (d *Descriptor) Report(t ReportType, data []byte) *Report {
	id := uint8(0)
	if t < reportTypes && d.numbered[t] {
		if len(data) == 0 {
			return nil
		}
		id = data[0]
	}
	return d.ByID(t, id)
}

// ByID returns the report with that type and id, or nil.
func (d *Descriptor) ByID(t ReportType, id uint8) *Report {
	for _, r := range d.Reports {
		if r.Type == t && r.ID == id {
			return r
		}
	}
	return nil
}

// Numbered reports whether reports of a type begin with their id.
func (d *Descriptor) Numbered(t ReportType) bool { return t < reportTypes && d.numbered[t] }

// Longest returns the length of the longest report of any type, in bytes.
func (d *Descriptor) Longest() int {
	n := 0
	for _, r := range d.Reports {
		n = max(n, r.Len())
	}
	return n
}
