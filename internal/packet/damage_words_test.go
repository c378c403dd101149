package packet

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// expressions are packets of all kinds of layers.
var expressions = []string{
	"eth(dst=02:00:00:00:00:01) / ip(src=10.0.0.1, ttl=3) / tcp(dport=80, flags=S) / \"hello\"",
	"eth / vlan(id=7) / ip6(src=fd00::1) / udp(sport=53) / 0x0102",
	"eth / qinq / vlan / arp(op=2)",
	"eth / ip(frag=5) / icmp(type=8)",
	"eth / ip6 / hopopts / dstopts / frag / icmp6",
	"ip / tcp",
}

// TestDamagedPacketsAreToldInTheSameWords changes expressions and the packets they mean, one byte
// after the other, and compares what is made and said of them.
func TestDamagedPacketsAreToldInTheSameWords(t *testing.T) {
	var all rewrite.Outcomes
	say := func(input string, p []byte, good []byte) {
		var out bytes.Buffer
		for start := range Start(2) {
			fmt.Fprintf(&out, "%s %+v %+v ", Describe(p, start), Decode(p, start), Damages(good, p, start))
			changes := Diff(good, p, start)
			fmt.Fprintf(&out, "%s %+v ", Summary(changes), changes)
			q := bytes.Clone(p)
			Repair(q, start)
			fmt.Fprintf(&out, "%x ", q)
			q = bytes.Clone(p)
			Mend(q, start, func(from, _ int) bool { return from%3 == 0 })
			fmt.Fprintf(&out, "%x\n", q)
		}
		all.Add(input, "packet\t"+out.String())
	}
	for _, text := range expressions {
		good, err := Parse(text)
		require.NoError(t, err, text)
		for i := range text {
			for _, with := range []string{"", "9", "(", "=", "/", "-"} {
				expr := text[:i] + with + text[i+1:]
				p, err := Read(expr)
				var wrong *SyntaxError
				if errors.As(err, &wrong) {
					all.Add(expr, fmt.Sprintf("%.25s\t%v %d", wrong.Why, err, wrong.Col))
				} else {
					all.Add(expr, fmt.Sprintf("read\t%x %v", p, err))
				}
			}
		}
		for i := range good {
			say(fmt.Sprintf("%s cut at %d", text, i), good[:i], good)
			for _, x := range []byte{1, 0x80, 0xff, 0x10} {
				bad := bytes.Clone(good)
				bad[i] ^= x
				say(fmt.Sprintf("%s byte %d %#x", text, i, x), bad, good)
			}
		}
	}
	all.Compare(t, filepath.Join("testdata", "damage.txt"))
}
