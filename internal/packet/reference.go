package packet

import (
	"fmt"
	"io"
	"strings"
)

// formats describes the notation of each format.
var formats = map[Format]string{
	Decimal: "number", Hex: "number, shown in hexadecimal", Checksum: "checksum: a number, or bad",
	EtherType: "number, or a name: " + etherTypes.list(), Protocol: "number, or a name: " + protocols.list(),
	TCPFlags: "letters of " + tcpFlags + ", or a number", MAC: "MAC address", IPv4: "IPv4 address", IPv6: "IPv6 address", Bytes: "'text' or 0xHEX",
}

// short is the name of each format in tables.
var short = map[Format]string{
	Decimal: "number", Hex: "hex", Checksum: "checksum", EtherType: "Ethernet type", Protocol: "IP protocol", TCPFlags: "TCP flags", MAC: "MAC", IPv4: "IPv4",
	IPv6: "IPv6", Bytes: "bytes",
}

func (n names) list() string {
	var out []string
	for _, x := range n {
		out = append(out, x.name)
	}
	return strings.Join(out, ", ")
}

// Language describes packet expressions, with examples that parse.
const Language = `A packet is written as layers and payload separated by slashes. Omitted fields have defaults; lengths,
checksums and the number of the next protocol are computed unless given.

    eth/ip(src=10.0.0.1,ttl=63)/tcp(dport=80,flags=S)/'GET /'
    eth/vlan(id=5)/ip6/udp(dport=53)/0x0102
    eth/ip/udp/vxlan(vni=42)/eth/ip/tcp        layers may repeat; the second ip is ip[1] in paths
    eth/ip(csum=bad)/udp/'x'*100/pad(200)      a wrong checksum, repeated payload, padding
    eth/ip/tcp/zero(1000)                      1000 zero bytes
    eth/ip/tcp[:40]                            only the first 40 bytes; [:-4] drops the last 4

    02000000...                                hex digits
    @FILE, @CAPTURE#3                          bytes of a file, packet 3 of a pcap or pcapng file

An expression that does not begin with eth gets an Ethernet header. Expectations name fields by path:
ip.ttl, ip[1].src, tcp.flags, payload.`

// row is a field of the reference.
type row struct{ name, bits, format, value string }

// rows lists the fields of a header with their defaults.
func (p *protocol) rows() []row {
	header := make([]byte, max(p.size, len(p.full)))
	if p.begin != nil {
		p.begin(header)
	}
	fixed := map[string]bool{}
	for _, s := range p.fields {
		fixed[s.name] = true
	}
	announces, _, _ := p.link(nil)
	var out []row
	for _, s := range p.known() {
		f := s.field(p.name, 0)
		r := row{s.name, fmt.Sprint(s.bits), short[s.format], f.Text(header)}
		switch {
		case s.format == Bytes:
			r.bits, r.value = "varies", "none"
		case !fixed[s.name]:
			r.value = "absent"
		case s.format == Checksum, s.name == "len" && (p == ip || p == ip6 || p == udp):
			r.value = "computed"
		case s.name == announces && p != udp, s.name == "proto" && p == ip6:
			r.value = "the next layer"
		}
		out = append(out, r)
	}
	return out
}

// carries lists the layers that may follow a header.
func (p *protocol) carries() []string {
	var out []string
	for _, next := range headers {
		if _, _, ok := p.link(next); ok {
			out = append(out, next.name)
		}
	}
	return out
}

// title returns the name of a layer with its aliases.
func (p *protocol) title() string {
	if len(p.aliases) == 0 {
		return p.name
	}
	return p.name + " (also " + strings.Join(p.aliases, ", ") + ")"
}

// WriteReference writes the reference of all layers and fields as text for a terminal.
func WriteReference(w io.Writer) error {
	var b strings.Builder
	b.WriteString(Language + "\n\nLayers and their fields (bits, how values are written, default):\n")
	for _, p := range headers {
		fmt.Fprintf(&b, "\n%s", p.title())
		if next := p.carries(); len(next) > 0 {
			fmt.Fprintf(&b, ", carries %s", strings.Join(next, ", "))
		}
		b.WriteString("\n")
		for _, r := range p.rows() {
			fmt.Fprintf(&b, "  %-9s %6s  %-14s %s\n", r.name, r.bits, r.format, r.value)
		}
	}
	b.WriteString("\nValues:\n")
	for f := Decimal; f <= Bytes; f++ {
		fmt.Fprintf(&b, "  %-14s %s\n", short[f], formats[f])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteMarkdown writes the reference as a page of the documentation.
func WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# Packet reference\n\nLook up a header or a field of a packet that a program gets; [packets](packets.md) shows them in use.\n\n```sh\nbpfrun run prog.o --packet 'eth/ip(ttl=63)/tcp(dport=80,flags=S)'\n```\n\nGenerated from the table of headers (`go test ./internal/packet -run Reference -update`); `bpfrun help packets` prints the same.\n\n")
	b.WriteString(Language + "\n\n## Values\n\n|format|written as|\n|---|---|\n")
	for f := Decimal; f <= Bytes; f++ {
		fmt.Fprintf(&b, "|%s|%s|\n", short[f], formats[f])
	}
	for _, p := range headers {
		fmt.Fprintf(&b, "\n## %s\n\n", p.title())
		if next := p.carries(); len(next) > 0 {
			fmt.Fprintf(&b, "Carries %s.\n\n", strings.Join(next, ", "))
		}
		fmt.Fprintf(&b, "<details><summary>%d fields</summary>\n\n|field|bits|format|default|\n|---|---:|---|---|\n", len(p.rows()))
		for _, r := range p.rows() {
			fmt.Fprintf(&b, "|%s|%s|%s|%s|\n", r.name, r.bits, r.format, r.value)
		}
		b.WriteString("\n</details>\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
