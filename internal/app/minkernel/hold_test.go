package minkernel

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/loader"
)

// TestRulesThatHoldBack are instructions if all of them are, and begin with the last of them.
func TestRulesThatHoldBack(t *testing.T) {
	var insn, other since.Rule
	for _, r := range since.All() {
		if !r.OfVerifier() {
			continue
		}
		if r.Area() == "Instructions" {
			insn = r
		} else {
			other = r
		}
	}
	require.NotEqual(t, insn, other)
	for _, tt := range []struct {
		rules []since.Rule
		want  Kind
	}{
		{[]since.Rule{insn}, Instruction}, {[]since.Rule{insn, insn}, Instruction}, {[]since.Rule{other}, Rule}, {[]since.Rule{other, insn}, Rule}, {[]since.Rule{insn, other}, Rule},
	} {
		h := &Hold{Kind: Refusal}
		h.rules(tt.rules)
		assert.Equal(t, tt.want, h.Kind, "%v", tt.rules)
		assert.Equal(t, tt.rules, h.Rules)
		for _, r := range tt.rules {
			assert.Contains(t, h.Name, r.Row().What)
			assert.GreaterOrEqual(t, h.Since, r.Row().From)
		}
	}
}

// TestOnlyRefusalsAreBlamed: on kernels whose types are at hand.
func TestOnlyRefusalsAreBlamed(t *testing.T) {
	s, target := &search{}, &loader.Target{}
	for name, pair := range map[string][2]Answer{
		"nothing holds":      {{target: target}, {target: target}},
		"a helper":           {{target: target, Hold: &Hold{Kind: Helper}}, {target: target}},
		"a rule":             {{target: target, Hold: &Hold{Kind: Rule}}, {target: target}},
		"no types of one":    {{Hold: &Hold{Kind: Refusal}}, {target: target}},
		"no types of others": {{target: target, Hold: &Hold{Kind: Refusal}}, {}},
	} {
		before := pair[0].Hold
		require.NoError(t, s.blame(&pair[0], &pair[1]), name)
		assert.Same(t, before, pair[0].Hold, name)
		if before != nil {
			assert.Empty(t, before.Rules, name)
		}
	}
}

// TestKfuncsAreDated by the release that brought them; where that is older, by the one that has them
// for programs of the type.
func TestKfuncsAreDated(t *testing.T) {
	later := 0
	for _, release := range since.Releases() {
		target := &loader.Target{Version: uint32(release) << 8}
		for _, typ := range []uapi.ProgType{uapi.ProgTypeXDP, uapi.ProgTypeSchedCls, uapi.ProgTypeKprobe, uapi.ProgTypeLSM, uapi.ProgTypeTracing, uapi.ProgTypeSyscall, uapi.ProgTypeStructOps} {
			c := proto.Caller{Type: typ}
			for _, name := range []string{"bpf_iter_num_new", "bpf_dynptr_slice", "bpf_task_from_pid", "bpf_cpumask_create", "bpf_obj_new_impl", "bpf_xdp_metadata_rx_hash", "bpf_rcu_read_lock", "bpf_preempt_disable", "bpf_get_fsverity_digest"} {
				row, ok := proto.LookupKfunc(name)
				require.True(t, ok, name)
				h := &Hold{Name: name}
				h.setKfunc(name, target, c)
				switch {
				case !row.In(release):
					assert.Equal(t, row.Since, h.Since, "%s on Linux %v", name, release)
					assert.False(t, h.types)
				case row.For(release, c) || c.Class() == 0:
					assert.Equal(t, row.Since, h.Since, "%s on Linux %v", name, release)
					assert.True(t, h.types, "the types of another kernel lack it")
				default:
					assert.False(t, h.types)
					if h.Since != 0 {
						later++
						assert.True(t, h.Since.Has(release) && row.For(h.Since, c), "%s on Linux %v: %v", name, release, h.Since)
					}
				}
			}
		}
	}
	assert.Positive(t, later)
	h := &Hold{Since: uapi.R(9, 9)}
	h.setKfunc("no_such_function", &loader.Target{}, proto.Caller{})
	assert.Equal(t, uapi.R(9, 9), h.Since)
}
