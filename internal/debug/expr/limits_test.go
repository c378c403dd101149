package expr_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/packet"
)

// region allocates bytes 1, 2, 3 and so on, and returns an evaluator and their address as text.
func region(t *testing.T, size uint64) (*expr.Evaluator, string) {
	t.Helper()
	ev, m := evaluator(t, names{"$r1": 5})
	r, err := m.Memory().Alloc(size, mem.Region{Kind: mem.MapValue, Name: "bytes"})
	require.NoError(t, err)
	for i := range m.Memory().Bytes(r) {
		m.Memory().Bytes(r)[i] = byte(i + 1)
	}
	return ev, fmt.Sprintf("%#x", r.Base)
}

// TestOperatorsAtTheirLimits: every operator with operands below, at and above each other, signed
// and not.
func TestOperatorsAtTheirLimits(t *testing.T) {
	ev, _ := evaluator(t, nil)
	for text, want := range map[string]string{
		"3 < 4": "1", "4 < 4": "0", "5 < 4": "0", "3 <= 4": "1", "4 <= 4": "1", "5 <= 4": "0", "3 > 4": "0", "4 > 4": "0", "5 > 4": "1", "3 >= 4": "0", "4 >= 4": "1", "5 >= 4": "1",
		"-1 <= 0": "1", "-1 > 0": "0", "-1 > 0u": "1", "-1 >= 0": "0", "-1 >= 0u": "1", "-1 <= 0u": "0", "4 == 4": "1", "4 != 4": "0", "4 != 5": "1", "6 ^ 3": "5", "6 & 3": "2", "6 | 3": "7",
		"7 / 2": "3", "7 % 2": "1", "7 / -1": "-7", "7 % -1": "0", "-9223372036854775807 / -1": "9223372036854775807", "18446744073709551615u / 2": "9223372036854775807", "18446744073709551615u % 10": "5",
		"18446744073709551615u / 18446744073709551615u": "1", "-7 / 2u": "9223372036854775804", "1 << 63 >> 63": "-1", "1u << 63 >> 63": "1", "1 << 64": "1", "1 << 65": "2",
		"sizeof(\"abc\")": "4", "1 && 0": "0", "1 && 2": "1", "0 || 0": "0", "0 || 2": "1", "+5": "5", "-5": "-5", "~0": "-1", "!0": "1", "!5": "0",
		"(u32 *)16 + 2": "(unsigned int *) 0x18", "2 + (u32 *)16": "(unsigned int *) 0x18", "(u32 *)16 - 1": "(unsigned int *) 0xc", "(u32 *)24 - (u32 *)16": "2", "(u32 *)16 - (u32 *)24": "-2", "(void *)16 + 2": "(void *) 0x12",
	} {
		v, err := ev.Eval(text)
		if assert.NoError(t, err, text) {
			assert.Equal(t, want, ev.Format(v, expr.FormatOptions{}), text)
		}
	}
	for text, want := range map[string]string{
		"(u32 *)8 + (u32 *)8": "two pointers cannot be added", "2 - (u32 *)16": "a pointer cannot be subtracted from a number", "5 @ 2": "only values in memory", "(int)\"a\"": "a string cannot be cast",
		"5[0:1]": "has no elements", "container_of(1, int, a)": "has no members", "1[2, 3]": "only maps take a CPU",
	} {
		_, err := ev.Eval(text)
		assert.ErrorContains(t, err, want, text)
	}
}

// TestPartsOfMemory: repeated values, slices and elements, at both sides of what is allowed.
func TestPartsOfMemory(t *testing.T) {
	ev, at := region(t, 32)
	for text, want := range map[string]string{
		"*(u8 *)A @ 1": "[1]", "*(u8 *)A @ 3": "[1, 2, 3]", "*(u16 *)A @ 2": "[513, 1027]", "((u8 *)A)[0:2]": "[1, 2]", "((u16 *)A)[1:3]": "[1027, 1541]", "((u8 *)A)[31]": "32", "((u8 *)A)[30:32]": "[31, 32]",
		"*(u8 *)A == 1": "1", "&*(u16 *)A + 1": "(u16 *) A+2", "sizeof(*(u16 *)A)": "2",
	} {
		v, err := ev.Eval(strings.ReplaceAll(text, "A", at))
		if assert.NoError(t, err, text) && !strings.Contains(want, "A") {
			assert.Equal(t, want, ev.Format(v, expr.FormatOptions{}), text)
		}
	}
	for text, want := range map[string]string{
		"*(u8 *)A @ 0": "want a number of elements", "*(u8 *)A @ -1": "want a number of elements", "((u8 *)A)[2:2]": "has no elements", "((u8 *)A)[3:2]": "has no elements",
		"*(u16 *)A @ 2 @ 2": "an array cannot be repeated", "((u8 *)A)[31:33]": "", "*(u8 *)A @ 33": "", "(*(u8 *)A @ 4)[4]": "",
	} {
		_, err := ev.Eval(strings.ReplaceAll(text, "A", at))
		assert.ErrorContains(t, err, want, text)
	}
}

// TestNumbersThatAreAssigned fit, or are refused; a compound assignment wraps around.
func TestNumbersThatAreAssigned(t *testing.T) {
	for _, tt := range []struct{ text, want string }{ // "!" and a refusal
		{"*(u8 *)A = 255", "255"}, {"*(u8 *)A = 256", "!"}, {"*(s8 *)A = -128", "-128"}, {"*(s8 *)A = -129", "!"}, {"*(s8 *)A = 127", "127"},
		{"*(u16 *)A = 65535", "65535"}, {"*(u16 *)A = 65536", "!"}, {"*(u32 *)A = 4294967295", "4294967295"}, {"*(u32 *)A = 4294967296", "!"}, {"*(u64 *)A = -1", "18446744073709551615"},
		{"*(u8 *)A += 255", "0"}, {"*(u8 *)A -= 2", "255"}, {"*(u8 *)A *= 3", "3"}, {"*(u8 *)A |= 6", "7"}, {"*(u8 *)A <<= 8", "0"},
		{"*(void **)A = 7", "(void *) 0x7"}, {"*(struct list_head *)A = {next = 5, prev = 6}", "{next = 0x5, prev = 0x6}"},
		{"*(struct list_head *)A += {next = 5}", "!can only be assigned"}, {"*(u8 **)A = {1}", "!cannot be written in braces"}, {"5 = 6", "!computed value"}, {"*(u8 *)A = \"x\"", "!"},
		{"*(struct list_head *)A = 5", "!does not fit"}, {"*(struct list_head *)A = *(struct list_head *)A", ""},
	} {
		ev, at := region(t, 32)
		v, err := ev.AssignNow(strings.ReplaceAll(tt.text, "A", at))
		if text, refused := strings.CutPrefix(tt.want, "!"); refused {
			assert.ErrorContains(t, err, text, tt.text)
			assert.EqualValues(t, 1, must(t, ev, "*(u8 *)"+at), "a failed assignment changes nothing")
			continue
		}
		if assert.NoError(t, err, tt.text) && tt.want != "" {
			assert.Equal(t, tt.want, ev.Format(v, expr.FormatOptions{}), tt.text)
		}
	}
}

// TestLettersOfFormats: every letter for numbers of each width, arrays and structs.
func TestLettersOfFormats(t *testing.T) {
	ev, at := region(t, 32)
	for _, tt := range []struct {
		text   string
		letter byte
		want   string
	}{
		{"*(u8 *)A", 'x', "0x1"}, {"*(s8 *)A - 2", 'd', "-1"}, {"*(s8 *)A - 2", 'u', "18446744073709551615"}, {"(s8)-1", 'u', "255"}, {"(s8)-1", 'x', "0xff"}, {"(s8)-1", 'd', "-1"}, {"(s64)-1", 'd', "-1"}, {"(u64)-1", 'd', "-1"}, {"(u64)-1", 'x', "0xffffffffffffffff"},
		{"(u8)8", 'o', "010"}, {"(u8)5", 't', "101"}, {"(u8)97", 'c', "'a'"}, {"(u32)353", 'c', "'a'"}, {"(u8)5", 'a', "0x5"},
		{"*(u8 *)A @ 2", 'x', "{0x1, 0x2}"}, {"*(u8 *)A @ 2", 'd', "{1, 2}"}, {"*(struct list_head *)A", 'x', "{next = 0x807060504030201, prev = 0x100f0e0d0c0b0a09}"}, {"*(struct list_head *)A", 'd', "{next = 578437695752307201, prev = 1157159078456920585}"},
		{"*(u8 *)A", 0, "1"}, {"*(u8 *)A @ 2", 0, "[1, 2]"}, {"*(char *)(A + 30)", 0, "31 '\\x1f'"}, {"(__be16)0x1234", 0, "4660 (htons(13330))"}, {"\"a\\n\"", 0, `"a\n"`},
	} {
		v, err := ev.Eval(strings.ReplaceAll(tt.text, "A", at))
		if assert.NoError(t, err, tt.text) {
			assert.Equal(t, tt.want, ev.Format(v, expr.FormatOptions{Letter: tt.letter}), "%s as %q", tt.text, tt.letter)
		}
	}
}

// packetScope is the scope of a run with a packet.
type packetScope struct {
	scope
	at   uint64
	data []byte
}

func (s packetScope) EvalName(string) (*expr.Value, error) { return s.ev.Packet() } // the only name
func (s packetScope) PacketNow() (uint64, []byte, bool)    { return s.at, s.data, true }

// withPacket returns an evaluator in a run with a packet.
func withPacket(t *testing.T, text string) *expr.Evaluator {
	t.Helper()
	data, err := packet.Parse(text)
	require.NoError(t, err)
	ev, m := evaluator(t, names{"$r1": 5})
	r, err := m.Memory().Alloc(uint64(len(data)), mem.Region{Kind: mem.Packet, Name: "packet"})
	require.NoError(t, err)
	copy(m.Memory().Bytes(r), data)
	s := packetScope{scope{nil, ev}, r.Base, data}
	ev.Scope, ev.Now = s, s
	return ev
}

// TestFieldsAreComparedAsPeopleWriteThem: with numbers in network order by what these mean, with
// other numbers and with pointers as they are.
func TestFieldsAreComparedAsPeopleWriteThem(t *testing.T) {
	ev := withPacket(t, "eth/ip(src=192.0.2.1)/udp(sport=53,dport=80)")
	for text, want := range map[string]uint64{
		"pkt.udp.dport == 80": 1, "80 == pkt.udp.dport": 1, "pkt.udp.dport == bpf_htons(80)": 0,
		"pkt.udp.dport == pkt.udp.dest": 1, "pkt.udp.dest == pkt.udp.dport": 1, "pkt.udp.dest == 80": 0, "pkt.udp.dest == bpf_htons(80)": 1,
		"pkt.udp.dport - pkt.udp.sport": 27, "pkt.udp.dport > pkt.udp.sport": 1, "pkt.udp.sport > pkt.udp.dest": 0,
		"pkt.ip.src == 0xc0000201": 1, "pkt.ip.src == (__be32)bpf_htonl(0xc0000201)": 1, "pkt.ip.src == pkt.ip.saddr": 1,
		"pkt.udp.dport == (__be64 *)80": 1, "(__be64 *)80 == pkt.udp.dport": 1, "pkt.udp.dport == (__be64)80": 0,
	} {
		v, err := ev.Eval(text)
		if assert.NoError(t, err, text) {
			n, _, err := ev.AsInt(v)
			assert.NoError(t, err, text)
			assert.Equal(t, want, n, text)
		}
	}
}

// TestWhichFieldAByteIsIn: the field, else the header; none behind the packet.
func TestWhichFieldAByteIsIn(t *testing.T) {
	ev := withPacket(t, "eth/ip(ttl=7)/udp/\"abc\"")
	for off, want := range map[uint64]string{
		0: "eth.dst", 5: "eth.dst", 6: "eth.src", 11: "eth.src", 12: "eth.type", 13: "eth.type", 22: "ip.ttl", 33: "ip.dst", 34: "udp.sport", 35: "udp.sport", 36: "udp.dport", 41: "udp.csum",
		45: "", 1 << 40: "",
	} {
		assert.Equal(t, want, ev.PacketField(off), off)
	}
	ev, _ = evaluator(t, nil)
	assert.Empty(t, ev.PacketField(0), "without a packet")
}

// TestNumbersThatAreConverted become 0 or 1 as bool, whatever their lowest byte; other types keep
// what fits.
func TestNumbersThatAreConverted(t *testing.T) {
	ev, _ := evaluator(t, nil)
	for text, want := range map[string]uint64{
		"(bool)0": 0, "(bool)1": 1, "(bool)2": 1, "(bool)256": 1, "(bool)-1": 1, "(_Bool)0": 0, "(unsigned char)256": 0, "(unsigned char)255": 255, "(char)128": negative(128),
		"bpf_htons(0x10050)": 0x5000, "bpf_htonl(0x100000050)": 0x50000000, "bpf_cpu_to_be64(0xff00000000000001)": 0x01000000000000ff,
	} {
		v, err := ev.Eval(text)
		if assert.NoError(t, err, text) {
			n, _, err := ev.AsInt(v)
			assert.NoError(t, err, text)
			assert.Equal(t, want, n, text)
		}
	}
}
