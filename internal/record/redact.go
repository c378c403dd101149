package record

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Redaction says which values are replaced. The same value gets the same replacement everywhere in
// a file, so that what belongs together stays together.
type Redaction struct {
	Paths, Comms, Addresses, Argv bool
}

// RedactionNames are the rules by name.
var RedactionNames = []string{"paths", "comms", "addresses", "argv"}

// ParseRedaction parses names of rules; "all" stands for all of them.
func ParseRedaction(names []string) (Redaction, error) {
	var r Redaction
	for _, n := range names {
		switch n {
		case "paths":
			r.Paths = true
		case "comms":
			r.Comms = true
		case "addresses":
			r.Addresses = true
		case "argv":
			r.Argv = true
		case "all":
			r = Redaction{true, true, true, true}
		default:
			return r, fmt.Errorf("no rule %q: want %s or all", n, strings.Join(RedactionNames, ", "))
		}
	}
	return r, nil
}

// maxReplaced limits the values that are told apart; later ones share a replacement.
const maxReplaced = 1 << 16

type redactor struct {
	Redaction
	seen map[string]map[string]int // by class, numbered in the order in which they came
}

func newRedactor(r Redaction) *redactor { return &redactor{r, map[string]map[string]int{}} }

func (r *redactor) number(class, value string) int {
	m := r.seen[class]
	if m == nil {
		m = map[string]int{}
		r.seen[class] = m
	}
	n, ok := m[value]
	if !ok {
		if len(m) >= maxReplaced {
			return 0
		}
		n = len(m) + 1
		m[value] = n
	}
	return n
}

// value returns the text of a value as it is written.
func (r *redactor) value(a Arg) string {
	switch a.Kind {
	case Path:
		return r.path(a.Text)
	case Comm:
		return r.comm(a.Text)
	case Address:
		return r.address(a.Text)
	case Argv:
		if r.Argv {
			return r.argv(a.Text)
		}
	case Number:
		if n, err := strconv.ParseUint(a.Text, 0, 64); err == nil && n != 0 && r.Addresses && strings.HasSuffix(a.Name, "addr") {
			at := r.host(netip.AddrFrom4([4]byte(binary.NativeEndian.AppendUint32(nil, uint32(n))))).As4() // as programs read it from memory
			return strconv.FormatUint(uint64(binary.NativeEndian.Uint32(at[:])), 10)
		}
	case Text:
		// What kind of text it is, nobody knows: any rule might mean it.
		if r.Paths || r.Comms || r.Addresses || r.Argv {
			return "text" + strconv.Itoa(r.number("text", a.Text))
		}
	}
	return a.Text
}

// path replaces each part of a path, so that what is in one directory stays in one.
func (r *redactor) path(text string) string {
	if !r.Paths {
		return text
	}
	parts := strings.Split(text, "/")
	for i, p := range parts {
		if p != "" && p != "." && p != ".." {
			parts[i] = "p" + strconv.Itoa(r.number("path", p))
		}
	}
	return strings.Join(parts, "/")
}

func (r *redactor) comm(text string) string {
	if !r.Comms || text == "" {
		return text
	}
	return "comm" + strconv.Itoa(r.number("comm", text))
}

// address replaces inet:ADDR:PORT, inet6:[ADDR]:PORT, unix:PATH and addresses alone by ones of
// private networks. Ports stay.
func (r *redactor) address(text string) string {
	if rest, ok := strings.CutPrefix(text, "unix:"); ok {
		if !r.Addresses && !r.Paths {
			return text
		}
		return "unix:/p" + strconv.Itoa(r.number("unix", rest))
	}
	if !r.Addresses {
		return text
	}
	family, rest, found := strings.Cut(text, ":")
	if at, err := netip.ParseAddrPort(rest); found && err == nil {
		return family + ":" + netip.AddrPortFrom(r.host(at.Addr()), at.Port()).String()
	}
	if a, err := netip.ParseAddr(text); err == nil {
		return r.host(a).String()
	}
	return "text" + strconv.Itoa(r.number("text", text))
}

// host returns an address of a private network. The loopback and the unspecified address say
// nothing about anybody.
func (r *redactor) host(a netip.Addr) netip.Addr {
	if a.IsLoopback() || a.IsUnspecified() {
		return a
	}
	n := r.number("host", a.String())
	if a.Is4() {
		return netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)})
	}
	var b [16]byte
	b[0], b[13], b[14], b[15] = 0xfd, byte(n>>16), byte(n>>8), byte(n)
	return netip.AddrFrom16(b)
}

// argv replaces the words of a vector.
func (r *redactor) argv(text string) string {
	words := strings.Fields(strings.Trim(text, "[]"))
	for i := range words {
		words[i] = "arg" + strconv.Itoa(i)
	}
	return "[" + strings.Join(slices.Clip(words), " ") + "]"
}
