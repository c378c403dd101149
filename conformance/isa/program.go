package isa

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/worded"
)

const (
	// ValueSize is the size of the value of the implicit map, in bytes.
	ValueSize = 256
	// DefaultPacket is the size in bytes of the packet of programs without their own.
	DefaultPacket = 64
	// NetworkHeader is the offset in bytes of a packet's network header: after the Ethernet header.
	NetworkHeader = 14
	// DefaultLimit is the default instruction limit of a run.
	DefaultLimit = 100_000_000
)

// Program is a program in the environment of kernel vectors: one array map with one value of ValueSize bytes, and a packet.
type Program struct {
	Name   string
	Insns  []decode.Insn
	Packet []byte
}

// Value is the value of the implicit map.
type Value [ValueSize]byte

// Outcome is the result of one run of a Program.
type Outcome struct {
	Ret   uint64
	Value Value
	// Fault is empty if the program ended normally; else it is the kind of its fault ("memory", "call-depth"), and PC
	// its slot.
	Fault string
	PC    int
	// Text describes the fault. It is not compared.
	Text string
}

// Equal reports whether two runs ended the same way.
func (o *Outcome) Equal(p *Outcome) bool {
	if o.Fault != p.Fault || o.Value != p.Value {
		return false
	}
	if o.Fault != "" {
		return o.PC == p.PC
	}
	return o.Ret == p.Ret
}

// Diff describes the differences between want and got, or returns "".
func Diff(want, got *Outcome) string {
	if want.Equal(got) {
		return ""
	}
	var parts []string
	if want.Fault != got.Fault || want.Fault != "" && want.PC != got.PC {
		parts = append(parts, fmt.Sprintf("end: want %s, got %s", want.end(), got.end()))
	} else if want.Fault == "" && want.Ret != got.Ret {
		parts = append(parts, fmt.Sprintf("ret: want %#x, got %#x", want.Ret, got.Ret))
	}
	if d := diffBytes(want.Value[:], got.Value[:]); d != "" {
		parts = append(parts, d)
	}
	return strings.Join(parts, "; ")
}

func (o *Outcome) end() string {
	if o.Fault == "" {
		return "return"
	}
	s := fmt.Sprintf("%s at insn %d", o.Fault, o.PC)
	if o.Text != "" {
		s += " (" + o.Text + ")"
	}
	return s
}

// diffBytes lists the 8-byte words that differ, at most three.
func diffBytes(want, got []byte) string {
	var parts []string
	n := 0
	for i := 0; i+8 <= len(want); i += 8 {
		w, g := binary.LittleEndian.Uint64(want[i:]), binary.LittleEndian.Uint64(got[i:])
		if w == g {
			continue
		}
		if n++; n <= 3 {
			parts = append(parts, fmt.Sprintf("value+%d: want %#x, got %#x", i, w, g))
		}
	}
	if n > 3 {
		parts = append(parts, fmt.Sprintf("and %d words more", n-3))
	}
	return strings.Join(parts, "; ")
}

// program decodes the program of a kernel vector.
func (l *Line) program() (*Program, error) {
	insns, err := decodeHex(l.P)
	if err != nil {
		return nil, err
	}
	p := &Program{Name: l.ID, Insns: insns}
	if l.Pkt != "" {
		if p.Packet, err = hex.DecodeString(l.Pkt); err != nil {
			return nil, fmt.Errorf("packet: %w", worded.Error(err))
		}
	}
	return p, nil
}

func decodeHex(s string) ([]decode.Insn, error) {
	raw, err := hex.DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("program: %w", worded.Error(err))
	}
	return decode.Unmarshal(raw, binary.LittleEndian)
}

// ParseValue parses a map value of a vector: hex, without trailing zero bytes.
func ParseValue(s string) (v Value, err error) {
	raw, err := hex.DecodeString(s)
	if err != nil {
		return v, fmt.Errorf("value: %w", worded.Error(err))
	}
	if len(raw) > len(v) {
		return v, fmt.Errorf("value has %d bytes, the map's has %d", len(raw), len(v))
	}
	copy(v[:], raw)
	return v, nil
}

// String is the inverse of ParseValue.
func (v *Value) String() string {
	return hex.EncodeToString(bytes.TrimRight(v[:], "\x00"))
}

// packet returns the packet the program sees.
func (p *Program) packet() []byte {
	if p.Packet != nil {
		return p.Packet
	}
	return make([]byte, DefaultPacket)
}
