package packet

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// under is what a layer follows in these tests.
func under(p *protocol) string {
	switch p {
	case eth:
		return ""
	case hopopts, dstopts, routing, frag, icmp6:
		return "eth/ip6/"
	case tcp, udp, sctp, gre, icmp:
		return "eth/ip/"
	case vxlan, geneve:
		return "eth/ip/udp/"
	}
	return "eth/"
}

// said is what comes of an expression: the packet and its layers, or the mistake.
func said(expr string) string {
	p, err := Read(expr)
	var wrong *SyntaxError
	if errors.As(err, &wrong) {
		return fmt.Sprintf("refused\t%v %d %v", err, wrong.Col, wrong.Nearest)
	}
	h := Decode(p, Ethernet)
	return fmt.Sprintf("made\t%.200x %s %s", p, h.String(), h.Cut)
}

// TestEveryLayerAfterEveryOther tells that a layer which may follow another is found again in the
// packet, and that others are refused.
func TestEveryLayerAfterEveryOther(t *testing.T) {
	for _, p := range headers {
		for _, next := range headers {
			expr := under(p) + p.name + "/" + next.name
			data, err := Parse(expr)
			_, _, carried := p.link(next)
			assert.Equal(t, carried, err == nil, "%s: %v", expr, err)
			if err == nil {
				h := Decode(data, Ethernet)
				want := expr
				if p == icmp || p == icmp6 {
					want = under(p) + p.name + "/payload" // an error quotes a packet
				}
				assert.Equal(t, want, h.String())
				assert.Equal(t, next == vxlan, h.Cut != "", "%s: %s", expr, h.Cut) // which always carries a frame
			}
		}
	}
}

// TestEveryFieldAtItsLimits gives every field of every layer what just fits, and what does not.
func TestEveryFieldAtItsLimits(t *testing.T) {
	var all rewrite.Outcomes
	for _, p := range headers {
		for _, f := range p.known() {
			most := uint64(1)<<min(f.bits, 63) - 1
			values := []string{
				"0", "1", fmt.Sprint(most - 1), fmt.Sprint(most), fmt.Sprint(most + 1), fmt.Sprintf("%#x", most), "-1", "", "bad", "x", "'x'", "0x", "0x0", "0x00", "0x0102", "0x01020304",
				"tcp", "ip", "1.2.3.4", "1.2.3", "fd00::1", "02:00:00:00:00:01", "02:00", "SA", "SAX", "none", "none,bits=3",
			}
			for _, v := range values {
				expr := fmt.Sprintf("%s%s(%s=%s)/'x'", under(p), p.name, f.name, v)
				all.Add(expr, p.name+"."+f.name+": "+said(expr))
			}
		}
	}
	all.Compare(t, filepath.Join("testdata", "fields.txt"))
}

func TestEscapesInStrings(t *testing.T) {
	for text, want := range map[string]string{
		`\n`: "\n", `\r`: "\r", `\t`: "\t", `\0`: "\x00", `\\`: `\`, `\'`: "'", `\"`: `"`, `\x41`: "A", `\xfF`: "\xff", `a\x00b`: "a\x00b", `\x414`: "A4",
		`\x`: "", `\x4`: "", `\x4g`: "", `\xg4`: "", `\q`: "", `\N`: "",
	} {
		p, err := Parse("eth/'" + text + "'")
		if want == "" {
			assert.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		assert.Equal(t, want, string(p[14:]), text)
	}
}

func TestLargestPackets(t *testing.T) {
	for _, c := range []struct {
		format  string
		largest int
	}{
		{"eth/zero(%d)", MaxSize - 14},
		{"eth/'x'*%d", MaxSize - 14},
		{"eth/'xy'*%d", (MaxSize - 14) / 2},
		{"eth/'x'/pad(%d)", MaxSize},
		{"eth/ip/zero(%d)", 65535 - 20},
		{"eth/ip6/zero(%d)", 65535},
		{"eth/ip/udp/zero(%d)", 65535 - 28},
		{"eth/ip6/udp/zero(%d)", 65535 - 8},
	} {
		_, err := Parse(fmt.Sprintf(c.format, c.largest))
		require.NoError(t, err, c.format)
		_, err = Parse(fmt.Sprintf(c.format, c.largest+1))
		assert.Error(t, err, c.format)
	}
	p, err := Read(strings.Repeat("00", MaxSize))
	require.NoError(t, err)
	assert.Len(t, p, MaxSize)
	_, err = Read(strings.Repeat("00", MaxSize) + "00")
	assert.Error(t, err)
	_, err = Read(strings.Repeat("00 \n", MaxSize))
	require.NoError(t, err)
	_, err = Read(strings.Repeat("00 \n", MaxSize) + " ")
	assert.Error(t, err, "longer than any packet with a blank and a line for each byte")
	h, err := Parse("eth" + strings.Repeat("/vlan", 31))
	require.NoError(t, err)
	layers := Decode(h, Ethernet)
	assert.Len(t, layers.Layers, 32)
	_, err = Parse("eth" + strings.Repeat("/vlan", 32))
	assert.Error(t, err)
}
