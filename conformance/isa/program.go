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
	// DefaultPacket is the size in bytes of the packet for programs that have none.
	DefaultPacket = 64
	// NetworkHeader is the offset of the network header in a packet, in bytes: it follows the
	// Ethernet header.
	NetworkHeader = 14
	// DefaultLimit is the default for the maximum number of instructions of a run.
	DefaultLimit = 100_000_000
)

// Program is a program for the environment of kernel vectors: an array map with one value of
// ValueSize bytes, and a packet.
type Program struct {
	Name   string
	Insns  []decode.Insn
	Packet []byte
}

// Value is the value of the implicit map.
type Value [ValueSize]byte

// Outcome is the result of one run of a [Program].
type Outcome struct {
	Ret   uint64
	Value Value
	// Fault is the kind of fault that stopped the program, such as "memory" or "call-depth", and PC
	// the slot of the instruction. Fault is empty if the program completed.
	Fault string
	PC    int
	// Text describes the fault. It is not compared.
	Text string
}

// Equal reports whether two runs had the same outcome.
func (o *Outcome) Equal(p *Outcome) bool {
	if o.Fault != p.Fault || o.Value != p.Value {
		return false
	}
	if o.Fault != "" {
		return o.PC == p.PC
	}
	return o.Ret == p.Ret
}

// Diff describes the differences between want and got; "" means that there are none.
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

// diffBytes lists the first three 8-byte words that differ.
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

// ParseValue parses a map value of a vector, which is in hex without trailing zero bytes.
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

// String formats the value so that [ParseValue] can parse it.
func (v *Value) String() string {
	return hex.EncodeToString(bytes.TrimRight(v[:], "\x00"))
}

// packet returns the packet that the program runs with.
func (p *Program) packet() []byte {
	if p.Packet != nil {
		return p.Packet
	}
	return make([]byte, DefaultPacket)
}
