package scenario

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sampleKeys are valid values for the keys that make a run's input.
var sampleKeys = map[string]string{
	"prog": "p", "chain": "[p, q]", "sched": "{}", "qdisc": "{}", "sockets": "{}", "tcp": "{}", "current": "$t", "cpu": "1", "args": "{a: 1}", "function": "f",
	"functions": "all", "cookie": "1", "usdt": "8@%rdi", "elements": "[]", "map": "m", "helpers": "{bpf_get_prandom_u32: 1}", "hid": "{}", "packet": "eth/ip/udp",
	"pcap": "x.pcap", "truncate": "all", "ctx": `"00"`, "context": "{ingress: true}", "unset_stack": "ignore", "after": "1s", "settle": "1s", "repeat": "2",
}

// notInput are the keys of a run that do not make its input.
var notInput = []string{"name", "each", "since", "arch", "expect"}

// TestConflictsNameBothKeys: every pair of keys in the table is refused at the position of one of
// them, by a text with both.
func TestConflictsNameBothKeys(t *testing.T) {
	for _, key := range slices.Sorted(maps.Keys(conflicts())) {
		for _, other := range conflicts()[key] {
			text := "runs:\n- name: x\n  " + key + ": " + sampleKeys[key] + "\n  " + other + ": " + sampleKeys[other] + "\n"
			if key != "prog" && other != "prog" && key != "chain" && other != "chain" {
				text += "  prog: p\n"
			}
			_, err := Parse("f.yaml", []byte(text))
			if assert.Errorf(t, err, "%s with %s", key, other) {
				found := false
				for line := range strings.SplitSeq(err.Error(), "\n") {
					found = found || strings.HasPrefix(line, "f.yaml:") && strings.Contains(line, key) && strings.Contains(line, other)
				}
				assert.Truef(t, found, "%s with %s: %v", key, other, err)
			}
		}
	}
}

// TestEveryInputKeyHasASample: a key that is added to runs must be thought of here and in the table
// of conflicts.
func TestEveryInputKeyHasASample(t *testing.T) {
	for _, name := range runForm.Names() {
		if !slices.Contains(notInput, name) {
			assert.Contains(t, sampleKeys, name)
		}
	}
	for key, others := range conflicts() {
		assert.Contains(t, sampleKeys, key)
		for _, o := range others {
			assert.Contains(t, sampleKeys, o)
		}
	}
}

func TestMembersOfTheContextAreSetOnce(t *testing.T) {
	for text, want := range map[string]string{
		"  ctx: {mark: 3}\n  context: {fields: {mark: 4}}\n":  "f.yaml:4:22: ctx and context.fields both set mark",
		"  ctx: \"00\"\n  context: {fields: {mark: 4}}\n":     "ctx and context.fields both set fields",
		"  args: {mark: 3}\n  context: {fields: {mark: 4}}\n": "context.fields and args both set mark",
	} {
		_, err := Parse("f.yaml", []byte("runs:\n- prog: p\n"+text))
		require.Error(t, err)
		assert.Contains(t, err.Error(), want)
	}
}

// TestContextMembersLeaveThePacket: members of an XDP context do not replace the bounds of the
// packet.
func TestContextMembersLeaveThePacket(t *testing.T) {
	res := runText(t, "xdp", `runs:
- prog: filter
  packet: eth/ip/udp
  ctx: {ingress_ifindex: 1}
  expect: {packet: {len: 42}}
`)
	for name, r := range res {
		assert.Empty(t, failures(r), name)
	}
}
