package search

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/lazyre"
	"github.com/bpfrun/bpfrun/internal/progtype"
)

// wellKnown are ports that programs name. A constant of that value is meant as that port; the port
// that it is when its bytes are swapped is nobody's.
var wellKnown = []uint64{
	20, 21, 22, 23, 25, 53, 67, 68, 69, 80, 110, 123, 143, 161, 179, 389, 443, 445, 465, 500, 514, 546, 547, 587, 636, 853, 873, 989, 990, 993, 995,
	1194, 1433, 1521, 1883, 2049, 2181, 2375, 2376, 2379, 2380, 3000, 3128, 3306, 3389, 4222, 4240, 4369, 4500, 4789, 5000, 5060, 5061, 5201, 5432, 5672,
	5900, 6081, 6379, 6443, 6783, 8000, 8008, 8080, 8081, 8088, 8443, 8472, 8888, 9000, 9042, 9090, 9092, 9200, 9300, 9418, 10250, 10255, 11211, 15672, 27017, 50051, 51820,
}

// etherTypes are those of packets that programs handle.
var etherTypes = []uint64{0x0800, 0x0806, 0x8100, 0x86dd, 0x8847, 0x8848, 0x8863, 0x8864, 0x88a8, 0x88cc, 0x88f7}

// hostOrder says that a comparison is of bytes in network byte order, as they were loaded, with a
// number that means something in the byte order of the host only. The text is empty for all others.
// It is for kernels of little-endian processors.
func (t *Trace) hostOrder(b *Branch) string {
	switch b.Op {
	case decode.OpJeq64Imm, decode.OpJne64Imm, decode.OpJeq32Imm, decode.OpJne32Imm:
	default:
		return ""
	}
	v, n := b.From[0], b.Sides[1]
	if b.Op == decode.OpJeq32Imm || b.Op == decode.OpJne32Imm {
		n &= 0xffffffff
	}
	if v == nil || v.From.Kind != Memory || !asLoaded(v) {
		return ""
	}
	meant := ""
	switch {
	case slices.Contains(etherTypes, n):
		meant = "protocol"
	case slices.Contains(wellKnown, n):
		meant = "port"
	case local(n):
		meant = "address"
	default:
		return ""
	}
	swapped := uint64(bits.ReverseBytes16(uint16(n)))
	if meant == "address" {
		swapped = uint64(bits.ReverseBytes32(uint32(n)))
	}
	if slices.Contains(etherTypes, swapped) || slices.Contains(wellKnown, swapped) || meant == "address" && local(swapped) {
		return ""
	}
	p := t.named(v.From)
	if p.network(v.From.Size) != meant {
		return ""
	}
	switch meant {
	case "address":
		return fmt.Sprintf("%s is compared with 0x%x, which is %s in the byte order of the host, but holds network byte order: there it is %s; use bpf_htonl(0x%x)",
			p, n, dotted(n), dotted(swapped), n)
	case "protocol":
		return fmt.Sprintf("%s is compared with 0x%04x in the byte order of the host, but holds network byte order: there it is 0x%04x; use bpf_htons(0x%04x)", p, n, swapped, n)
	}
	return fmt.Sprintf("%s is compared with %d in the byte order of the host, but holds network byte order: there it is port %d; use bpf_htons(%d)", p, n, swapped, n)
}

// lint notes what is wrong with the comparisons of a run, each once.
func (s *searching) lint(t *Trace) {
	for i := range t.Branches {
		text := t.hostOrder(&t.Branches[i])
		if text == "" {
			continue
		}
		at := t.Branches[i].At
		if l, ok := at.Program.LineAt(at.Insn); ok && l.Line > 0 {
			if converted.MatchString(l.Text) {
				continue
			}
			text += fmt.Sprintf(" at %s:%d:%d", l.File, l.Line, l.Col)
		}
		if !slices.Contains(s.lints, text) && len(s.lints) < maxLints {
			s.lints = append(s.lints, text)
		}
	}
}

// converted finds conversions in a line of source, whose author knows of byte orders.
var converted = lazyre.New(`hton|ntoh|cpu_to_be|be\d*_to_cpu|swab|bswap`)

// maxLints limits what one program is told.
const maxLints = 16

// asLoaded reports whether a value is what was loaded, apart from bits that a mask cuts off above
// it.
func asLoaded(v *Value) bool {
	for _, s := range v.Steps {
		switch s.Op {
		case decode.OpAnd64Imm, decode.OpAnd32Imm:
			if s.Constant != 0xffff && s.Constant != 0xffffffff {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// local reports whether a number is an IPv4 address of a private network or of the host itself, in
// the order of its digits.
func local(n uint64) bool {
	return n <= 0xffffffff && (n>>24 == 127 || n>>24 == 10 || n>>16 == 192<<8|168 || n>>20 == 172<<4|1)
}

func dotted(n uint64) string {
	return fmt.Sprintf("%d.%d.%d.%d", n>>24&0xff, n>>16&0xff, n>>8&0xff, n&0xff)
}

// network says what size bytes of a place hold in network byte order: a port, a protocol, an
// address, or nothing.
func (p Place) network(size int) string {
	name := p.Path
	if p.Input == ContextField {
		name = p.Name
	}
	name = name[strings.LastIndexByte(name, '.')+1:]
	switch p.Input {
	case Packet:
		switch name {
		case "sport", "dport":
			return "port"
		case "type":
			return "protocol"
		case "src", "dst":
			if strings.HasPrefix(p.Path, "ip.") {
				return "address"
			}
		}
	case ContextField:
		if name == "remote_port" && size != 2 { // the upper half of the number
			return ""
		}
		return progtype.NetworkOrder(name)
	case Field:
		switch {
		case slices.Contains([]string{"sin_port", "skc_dport", "inet_sport", "source", "dest"}, name) && p.bigEndian("__be16"):
			return "port"
		case slices.Contains([]string{"protocol", "h_proto", "vlan_proto"}, name) && p.bigEndian("__be16"):
			return "protocol"
		case p.bigEndian("__be32"):
			return "address"
		}
	}
	return ""
}

// bigEndian reports whether the place's field has a type of that name.
func (p Place) bigEndian(name string) bool {
	return p.typed && p.spec.Name(p.field.Type) == name
}
