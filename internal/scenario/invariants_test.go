package scenario

import (
	"strings"
	"testing"

	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestInvariants: what is said of an invariant that does not hold; one that holds is an expectation
// that is met.
func TestInvariants(t *testing.T) {
	const limit = "runs:\n- prog: limit\n  packet: eth/ip(src=192.0.2.7,ttl=9)/udp(dport=53)\n"
	const reads = "runs: [{prog: vfs_read_enter, args: {count: 5}}]\n"
	const execs = "runs: [{prog: on_exec, repeat: 3}]\n"
	for _, tt := range []struct{ name, example, runs, invariant, want string }{
		{"a verdict", "ratelimit", limit, "holds: $retval == TC_ACT_OK", ""},
		{"another verdict", "ratelimit", limit, "holds: $retval == TC_ACT_SHOT", "$retval is 0"},
		{"a field of the packet", "ratelimit", limit, "holds: pkt.ip.ttl == old(pkt.ip.ttl) - 1", "pkt.ip.ttl is 9, old(pkt.ip.ttl) is 9"},
		{"bytes of the packet", "ratelimit", limit, "holds: unchanged(pkt)", ""},
		{"a member of a kernel's header", "ratelimit", limit, "holds: pkt.ip.protocol == 17 && pkt.udp.dport == 53", ""},
		{"an element that the run made", "ratelimit", limit, "holds: '!has(buckets[1])'", ""},
		{"how many elements", "ratelimit", limit, "holds: count(buckets) == old(count(buckets)) + 1", ""},
		{"a map that is written", "ratelimit", limit, "holds: unchanged(buckets)", "unchanged(buckets) is false: the element with key c0000207 differs"},
		{"a field of the packet as a key", "ratelimit", limit, "holds: buckets[pkt.ip.src].tokens == burst - 1", ""},
		{"a variable", "ratelimit", limit, "holds: unchanged(burst) && burst == 2", ""},
		{"the sum of a member", "ratelimit", limit, "holds: sum(buckets, tokens) == burst", "sum(buckets, tokens) is 1, burst is 2"},
		{"runs so far", "exec", execs, "holds: sum(execs_by_uid) == $events", ""},
		{"runs so far, off by one", "exec", execs, "holds: sum(execs_by_uid) < $events", "sum(execs_by_uid) is 1, $events is 1 (the first of 3 runs in which it does not hold)"},
		{"records of one run", "exec", execs, "holds: sent(events) == 1", ""},
		{"a member of a record", "exec", execs, "holds: events[0].pid == 4294967295", "events[0].pid is "},
		{"an argument of the hook", "exec", execs, "holds: ctx->old_pid == 7", "ctx->old_pid is "},
		{"an argument by its name", "fentry", reads, "holds: count == 5 && file->f_pos >= 0", ""},
		{"another argument by its name", "fentry", reads, "holds: count == 6", "count is 5"},
		{"a constant", "fentry", reads, "holds: BPF_NOEXIST == 1", ""},
		{"an element that is changed", "exec", "maps: {execs_by_uid: {7700: 1, 5: 1}}\n" + execs, "holds: unchanged(execs_by_uid)", "the element with key 141e0000 differs"},
		{"an element that stays", "exec", "maps: {execs_by_uid: {5: 1}}\n" + execs, "holds: unchanged(execs_by_uid[5])", ""},
		{"an element that does not exist", "exec", execs, "holds: execs_by_uid[77] == 1", "it has no value: execs_by_uid has no element 77; has(...) in when limits it to runs that have one"},
		{"a condition without a value", "exec", execs, "{when: 'execs_by_uid[77] == 1', holds: 0}", ""},
		{"a condition that does not hold", "exec", execs, "{when: $events == 9, holds: 0}", ""},
		{"a condition that holds once", "exec", execs, "{when: $events == 2, holds: 0}", "it is false"},
		{"a program's", "tc", "runs: [{prog: classify}]\n", "{prog: classify, holds: '1'}", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := "invariants: [" + strings.TrimPrefix(tt.invariant, "x") + "]\n"
			if !strings.HasPrefix(tt.invariant, "{") {
				text = "invariants:\n- " + tt.invariant + "\n"
			}
			for _, r := range runText(t, tt.example, tt.runs+text) {
				var mine []grammar.Expectation
				for _, e := range r.Expectations {
					if strings.HasPrefix(e.What, "invariant ") {
						mine = append(mine, e)
					}
				}
				require.Len(t, mine, 1)
				if tt.want == "" {
					assert.True(t, mine[0].OK, mine[0].Got)
					continue
				}
				assert.False(t, mine[0].OK)
				assert.Contains(t, mine[0].Got, tt.want)
				assert.NotEmpty(t, mine[0].Want)
			}
		})
	}
}

// TestMistakesInInvariants: names that do not exist are found before anything runs, also in a part
// that is never evaluated.
func TestMistakesInInvariants(t *testing.T) {
	const runs = "runs: [{prog: limit}]\n"
	for _, tt := range []struct{ name, invariants, want string }{
		{"a name", "- holds: bucket == 1\n", `s.yaml:3:10: holds: no name "bucket" in the object and the kernel (nearest: buckets`},
		{"a name that is skipped", "- holds: 1 || bucket == 1\n", `s.yaml:3:15: holds: no name "bucket"`},
		{"a member of an element that does not exist", "- holds: buckets[0].token == 1\n", `s.yaml:3:21: holds: no member "token" in struct bucket`},
		{"a member for a sum", "- holds: sum(buckets, token) == 1\n", `no member "token"`},
		{"a header", "- holds: pkt.ipp.ttl == 1\n", `s.yaml:3:14: holds: no header "ipp"`},
		{"a header that this packet does not have", "- holds: pkt.ip6.hlim == 1\n", ""},
		{"a field of one", "- holds: pkt.ip6.tttl == 1\n", `s.yaml:3:18: holds: no field "tttl" in pkt.ip6`},
		{"a value", "- {when: $events > 1, holds: $ret == 0}\n", `s.yaml:3:30: holds: no value "$ret" in invariants`},
		{"in when", "- {when: x, holds: 1}\n", `s.yaml:3:10: when: no name "x"`},
		{"syntax", "- holds: 1 +\n", "s.yaml:3:13: holds: expression expected"},
		{"a function", "- holds: summ(buckets)\n", "s.yaml:3:10: holds: no function summ in expressions (nearest: sum"},
		{"an assignment", "- holds: burst = 3\n", "holds: an assignment"},
		{"old in old", "- holds: old(old(burst))\n", "old inside old"},
		{"a result before the run", "- holds: old($retval) == 1\n", "old($retval): $retval has no value before the run"},
		{"a program", "- {prog: limits, holds: 1}\n", "s.yaml:3:10: unknown program \"limits\" (nearest: limit)"},
		{"nothing that holds", "- {name: x}\n", `s.yaml:3:3: invariant needs "holds"`},
		{"a key", "- {hold: 1}\n", `unknown key of invariant "hold"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := openText(t, "ratelimit", runs+"invariants:\n"+tt.invariants)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			assert.Contains(t, err.Error(), tt.want)
		})
	}
}
