package packet

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

var update = rewrite.Flag

func TestReferencePageIsFresh(t *testing.T) {
	const path = "../../docs/packet-reference.md"
	var page bytes.Buffer
	require.NoError(t, WriteMarkdown(&page))
	if *update {
		require.NoError(t, os.WriteFile(path, page.Bytes(), 0o666))
	}
	have, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, page.String(), string(have), "stale: go test ./internal/packet -run Reference -update")
}

// Every example of the description parses, every layer and field of the table is in both forms, and
// every layer that is said to follow another does.
func TestReferenceIsTrue(t *testing.T) {
	examples := 0
	for line := range strings.Lines(Language) {
		if expr, ok := strings.CutPrefix(line, "    eth/"); ok {
			expr, _, _ = strings.Cut("eth/"+strings.TrimSpace(expr), "  ")
			_, err := Parse(expr)
			assert.NoError(t, err, expr)
			examples++
		}
	}
	assert.Equal(t, 6, examples)
	var text bytes.Buffer
	require.NoError(t, WriteReference(&text))
	for _, p := range headers {
		line := "\n" + p.title()
		if next := p.carries(); len(next) > 0 {
			line += ", carries " + strings.Join(next, ", ")
		}
		assert.Contains(t, text.String(), line+"\n")
		assert.Len(t, p.rows(), len(p.fieldNames()), p.name)
		for _, r := range p.rows() {
			require.NoError(t, CheckPath(p.name+"."+r.name))
			assert.NotEmpty(t, r.format, "%s.%s", p.name, r.name)
		}
		for _, next := range p.carries() {
			lead := map[*protocol]string{vxlan: "eth/ip/udp/", geneve: "eth/ip/udp/", gre: "eth/ip/", icmp: "eth/ip/", icmp6: "eth/ip6/", eth: ""}[p]
			switch p {
			case ip, ip6, vlan, qinq:
				lead = "eth/"
			case hopopts, dstopts, routing, frag:
				lead = "eth/ip6/"
			case udp:
				lead = "eth/ip/"
			}
			_, err := Parse(lead + p.name + "/" + next)
			assert.NoError(t, err, "%s carries %s", p.name, next)
		}
	}
}

func TestTruncation(t *testing.T) {
	whole, err := Parse("eth/ip/tcp/'hello'")
	require.NoError(t, err)
	for text, want := range map[string]int{
		"eth/ip/tcp/'hello'[:40]": 40, "eth/ip/tcp/'hello' [ : 0x10 ] ": 16, "eth/ip/tcp/'hello'[:-2]": len(whole) - 2, "eth/ip/tcp/'hello'[:0]": 0,
		"eth/ip/tcp/'hello'[:59]": 59, "eth/ip/tcp/'hello'[:-0]": 59,
	} {
		p, err := Read(text)
		require.NoError(t, err, text)
		assert.Equal(t, whole[:want], p, text)
	}
	p, err := Read("00 11 22 33[:3]")
	require.NoError(t, err)
	assert.Equal(t, []byte{0, 0x11, 0x22}, p)
	for text, want := range map[string]struct {
		col int
		why string
	}{
		"eth/ip[:100]": {7, "the packet has 34 bytes (pad(100)"}, "eth/ip[:-35]": {7, "the packet has 34 bytes"}, "eth/ip[3]": {7, "want [:N]"},
		"eth/ip[:3]/tcp": {7, "want [:N]"}, "eth/ip[:3": {7, "want [:N]"}, "0011[:3]": {5, "the packet has 2 bytes"}, "eth/'[:3]": {5, "no closing '"},
	} {
		_, err := Read(text)
		var se *SyntaxError
		require.ErrorAs(t, err, &se, text)
		assert.Equal(t, want.col, se.Col, text)
		assert.Contains(t, se.Why, want.why, text)
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/p.bin", whole, 0o600))
	p, err = Load("@p.bin[:20]", dir)
	require.NoError(t, err)
	assert.Equal(t, whole[:20], p)
	_, err = Load("@p.bin[:200]", dir)
	assert.ErrorContains(t, err, "@p.bin[:200]: the packet has 59 bytes")
}

func TestErrorsListLayersAndFields(t *testing.T) {
	_, err := Parse("eth/ip(tll=3)")
	assert.ErrorContains(t, err, "its fields: version, ihl, tos, len, id, df, mf, frag, ttl, proto, csum, src, dst, dscp, ecn, flags, options (nearest: ttl")
	assert.ErrorContains(t, CheckPath("gre.kei"), "its fields: flags, proto, csum, key, seq (nearest: key)")
	_, err = Parse("eth/zzz")
	assert.ErrorContains(t, err, "there are eth, vlan, qinq, arp, ip, ip6,")
}
