package packet

import (
	"bytes"
	"fmt"
	"strings"
)

// Damage is a checksum or a length that was right before a program ran and is wrong afterwards, or
// that a header which the program inserted has wrong.
type Damage struct {
	// Path is the field: "ip.csum", "udp.len".
	Path string
	// Got and Want are the values it has and should have, in the syntax of expressions.
	Got, Want string
}

// String returns "ip.csum is 0xfc58, right is 0x3d66".
func (d Damage) String() string { return fmt.Sprintf("%s is %s, right is %s", d.Path, d.Got, d.Want) }

// Damages compares a packet before and after a program: checksums of IP, TCP, UDP, ICMP and SCTP
// headers, and the lengths of IP and UDP headers. What was wrong before is not the program's fault,
// and what cannot be judged (a fragment, a truncated packet, UDP without a checksum) is left out.
func Damages(before, after []byte, start Start) []Damage {
	var out []Damage
	d := differ{a: before, b: after, ha: Decode(before, start), hb: Decode(after, start)}
	was, is := d.ha.slack(before), d.hb.slack(after)
	source := make(map[int]int, len(d.hb.Layers))
	for _, m := range d.match() {
		source[m[1]] = m[0]
	}
	for _, c := range Diff(before, after, start) {
		if c.Kind == SumBroken && !d.came(c.Path, source) {
			out = append(out, Damage{c.Path, c.Old, c.New})
		}
	}
	odd := false // a length does not fit: what is computed from it cannot
	trailer := 0 // bytes after what the outermost header has, which stay when headers go
	for _, s := range was {
		odd = odd || s < 0 || s > 0 && len(before) > leastFrame
		trailer = max(trailer, s)
	}
	for j, l := range d.hb.Layers {
		s, judged := is[j]
		if !judged || s == 0 || d.untouched(j) || s > 0 && (len(after) <= leastFrame || s == trailer) {
			continue
		}
		if i, had := source[j]; had {
			if before, judged := was[i]; !judged || before != 0 && (before < 0 || len(d.a) > leastFrame || before == s) {
				continue // it was wrong already, or could not be judged
			}
		} else if odd || d.carried(l) {
			continue
		}
		f, _ := l.Field(after, "len")
		out = append(out, Damage{f.Path(), f.Text(after), fmt.Sprint(int(f.Get(after)) + s)})
	}
	return out
}

// came reports whether a field is in a header that the program inserted only as far as its place
// tells: the same bytes were in the packet before, inside of something that could not be told.
func (d *differ) came(path string, source map[int]int) bool {
	layer, _, _ := strings.Cut(path, ".")
	for j, l := range d.hb.Layers {
		if l.Path() != layer {
			continue
		}
		_, had := source[j]
		return d.untouched(j) || !had && d.carried(l)
	}
	return false
}

// untouched reports whether the packet ended with a header and all after it before, with the header
// around it where that counts for a checksum.
func (d *differ) untouched(j int) bool {
	l := d.hb.Layers[j]
	if j > 0 && l.proto != ip && l.proto != ip6 {
		l = d.hb.Layers[j-1]
	}
	return bytes.HasSuffix(d.a, d.b[l.Off:])
}

// carried reports whether the bytes of a header were in the packet before.
func (d *differ) carried(l Layer) bool {
	return bytes.Contains(d.a, d.b[l.Off:min(l.Off+l.Len, len(d.b))])
}

// leastFrame is the length of the shortest Ethernet frame without its checksum: shorter packets
// arrive with padding.
const leastFrame = 60

// slack returns, for each layer whose header has the length of what it contains, by how many bytes
// that is less than what surrounds it contains; negative if it announces more.
func (h Headers) slack(p []byte) map[int]int {
	out := map[int]int{}
	limit := len(p)
	for i, l := range h.Layers {
		var announced int
		switch l.proto {
		case ip:
			announced = int(be.Uint16(p[l.Off+2:]))
		case ip6:
			if announced = int(be.Uint16(p[l.Off+4:])); announced != 0 { // 0: a jumbogram
				announced += l.Len
			}
		case udp:
			if _, whole := carrier(p, h.Layers[:i]); whole {
				announced = int(be.Uint16(p[l.Off+4:])) // 0: the rest of a jumbogram
			}
		}
		if announced == 0 {
			continue
		}
		end := l.Off + announced
		out[i] = limit - end
		if end < limit {
			limit = end
		}
	}
	return out
}
