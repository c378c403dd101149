package btf

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
)

// Numbers in network byte order, as the kernel's types declare them: one notation, read and written
// everywhere.

// networkTypes are the kernel's typedefs of numbers in network byte order, with their widths in
// bits.
var networkTypes = map[string]uint32{"__be16": 16, "__be32": 32, "__be64": 64}

// networkCalls are the functions that numbers of each width are written with.
var networkCalls = map[uint32][]string{16: {"htons", "cpu_to_be16"}, 32: {"htonl", "cpu_to_be32"}, 64: {"cpu_to_be64", "htobe64", "htonll"}}

// NetworkBits returns the width of a number that its type declares to be in network byte order
// (__be16, __be32, __be64 and typedefs of them); 0 for other types.
func (s *Spec) NetworkBits(id ID) uint32 {
	for range maxDepth {
		t, err := s.Type(id)
		switch {
		case err != nil:
			return 0
		case t.Kind == KindTypedef && networkTypes[t.Name] != 0:
			return networkTypes[t.Name]
		case t.Kind == KindTypedef, t.Kind == KindConst, t.Kind == KindVolatile, t.Kind == KindRestrict, t.Kind == KindTypeTag:
			id = t.Ref
		default:
			return 0
		}
	}
	return 0
}

// FormatNetwork writes a number that is stored in network byte order: as an IPv4 address for 32
// bits, else as the call that makes it ("htons(53)"). A zero of other widths has no notation of its
// own: "".
func FormatNetwork(order binary.ByteOrder, bits uint32, stored uint64) string {
	meant := swapNetwork(order, bits, stored)
	switch {
	case bits == 32:
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], uint32(meant))
		return netip.AddrFrom4(b).String()
	case meant != 0 && len(networkCalls[bits]) > 0:
		return fmt.Sprintf("%s(%d)", networkCalls[bits][0], meant)
	}
	return ""
}

// ParseNetwork reads a number in network byte order as [FormatNetwork] writes it, or as a call
// (htons, htonl, cpu_to_be64), and returns what is stored.
func ParseNetwork(order binary.ByteOrder, bits uint32, text string) (stored uint64, ok bool) {
	if bits == 32 {
		if a, err := netip.ParseAddr(text); err == nil && a.Is4() {
			b := a.As4() // in the order of the address's bytes
			return uint64(order.Uint32(b[:])), true
		}
	}
	for _, call := range networkCalls[bits] {
		inner, found := strings.CutPrefix(text, call+"(")
		if inner, closed := strings.CutSuffix(inner, ")"); found && closed {
			n, err := strconv.ParseUint(strings.TrimSpace(inner), 0, int(bits))
			return swapNetwork(order, bits, n), err == nil
		}
	}
	return 0, false
}

// ParseAnyNetwork is [ParseNetwork] for a number of any width, and returns that too.
func ParseAnyNetwork(order binary.ByteOrder, text string) (stored uint64, bits uint32, ok bool) {
	for _, bits := range []uint32{16, 32, 64} {
		if n, ok := ParseNetwork(order, bits, text); ok {
			return n, bits, true
		}
	}
	return 0, 0, false
}

// isIPv6 reports whether a type is the kernel's struct of an IPv6 address.
func isIPv6(t *Type) bool {
	return t != nil && t.Kind == KindStruct && t.Size == 16 && t.Name == "in6_addr"
}

// IsIPv6 reports whether a type is a struct in6_addr, or a typedef of one.
func (s *Spec) IsIPv6(id ID) bool { return isIPv6(s.SkipMods(id)) }

// fourWords reports whether a type is an array of four numbers of 32 bits.
func (s *Spec) fourWords(t *Type) bool {
	if t == nil || t.Kind != KindArray || t.Array.Nelems != 4 {
		return false
	}
	e := s.SkipMods(t.Ref)
	return e != nil && e.Kind == KindInt && e.Size == 4
}

// ParseIPv6 reads an IPv6 address for a struct in6_addr or for four words, as user_ip6 of struct
// bpf_sock_addr has them. ok is false for other types and for text that is not an IPv6 address.
func (s *Spec) ParseIPv6(id ID, text string) (a IPv6, ok bool) {
	if t := s.SkipMods(id); !isIPv6(t) && !s.fourWords(t) {
		return a, false
	}
	parsed, err := netip.ParseAddr(text)
	if err != nil || !parsed.Is6() || parsed.Zone() != "" {
		return a, false
	}
	return parsed.As16(), true
}

// swapNetwork converts between what a number means and what is stored of it.
func swapNetwork(order binary.ByteOrder, bits uint32, v uint64) uint64 {
	var b [8]byte
	switch bits {
	case 16:
		binary.BigEndian.PutUint16(b[:], uint16(v&math.MaxUint16))
		return uint64(order.Uint16(b[:]))
	case 32:
		binary.BigEndian.PutUint32(b[:], uint32(v&math.MaxUint32))
		return uint64(order.Uint32(b[:]))
	case 64:
		binary.BigEndian.PutUint64(b[:], v)
		return order.Uint64(b[:])
	}
	return v
}
