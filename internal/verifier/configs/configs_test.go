package configs_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/internal/verifier/configs"
	"github.com/bpfrun/bpfrun/loader"
)

const object = "../../../testdata/objects/clang-14/settings.o"

func load(t *testing.T, program string, o loader.LoadOptions, opts ...loader.TargetOption) (*loader.Linked, *verifier.Kernel, *verifier.Program) {
	t.Helper()
	obj, err := loader.Open(object)
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	o.LinkOnly, o.Only = true, []string{program}
	linked, err := obj.Load(loader.NewTarget(embedded.Name, spec, opts...), o)
	require.NoError(t, err)
	lp, ok := linked.Program(program)
	require.True(t, ok)
	p, err := verifier.FromLinked(linked, lp)
	require.NoError(t, err)
	return linked, verifier.KernelOf(linked.Target), p
}

func explore(t *testing.T, program string, release since.Release) *configs.Result {
	t.Helper()
	linked, k, p := load(t, program, loader.LoadOptions{})
	k.Release = release
	r, err := configs.Explore(context.Background(), k, p, configs.Constants(linked), 0)
	require.NoError(t, err)
	return r
}

func names(r *configs.Result, list []int) []string {
	out := []string{}
	for _, i := range list {
		out = append(out, r.Constants[i].Name)
	}
	return out
}

func TestConstantsOfAnObject(t *testing.T) {
	linked, _, _ := load(t, "sampled", loader.LoadOptions{})
	got := map[string]configs.Constant{}
	for _, c := range configs.Constants(linked) {
		got[c.Name] = c
	}
	assert.Len(t, got, 6)
	assert.Equal(t, uint64(1), got["sample"].Max)
	assert.Equal(t, uint64(16), got["limit"].Initial)
	assert.Equal(t, uint64(1<<32-1), got["limit"].Max)
	assert.Equal(t, uint64(80), got["conf.port"].Initial)
	assert.Equal(t, uint64(1), got["conf.check"].Max)
	assert.True(t, got["CONFIG_PREEMPT"].Kconfig)
}

func TestVerdictsOnAllConfigurations(t *testing.T) {
	for _, release := range []since.Release{since.R(5, 10), since.R(6, 12), since.R(6, 18), since.R(7, 2)} {
		for _, c := range []struct {
			program string
			outcome verifier.Outcome
			decide  []string
		}{
			{"sampled", verifier.Accepted, []string{}},
			{"limited", verifier.Refused, []string{"limit"}},
			{"paired", verifier.Refused, []string{"flags", "conf.check"}},
			{"unreached", verifier.Accepted, []string{}},
			{"wrong", verifier.Refused, []string{}},
		} {
			t.Run(release.String()+"/"+c.program, func(t *testing.T) {
				r := explore(t, c.program, release)
				assert.Equal(t, c.outcome, r.Outcome())
				assert.ElementsMatch(t, c.decide, names(r, r.Decide))
				assert.Zero(t, r.Left)
			})
		}
	}
}

// What the parts say of a configuration is what verifying that configuration says.
func TestPartsAgreeWithSingleConfigurations(t *testing.T) {
	for _, program := range []string{"sampled", "limited", "paired", "unreached", "wrong"} {
		r := explore(t, program, since.R(6, 12))
		for _, sample := range []uint64{0, 1} {
			for _, limit := range []uint64{0, 16, 63, 64, 65, 66, 5000, 1<<32 - 1} {
				for _, flags := range []uint64{0, 4, 0x10, 0x14, 1<<32 - 1} {
					for _, check := range []uint64{0, 1} {
						set := map[string]uint64{"sample": sample, "limit": limit, "flags": flags, "conf.check": check, "conf.port": 80, "CONFIG_PREEMPT": 0}
						text := map[string]string{}
						for _, name := range []string{"sample", "limit", "flags", "conf.check"} {
							text[name] = fmt.Sprint(set[name])
						}
						_, k, p := load(t, program, loader.LoadOptions{Globals: text}, loader.WithKconfig(map[string]string{"CONFIG_PREEMPT": "n"}))
						want, err := verifier.Verify(context.Background(), k, p, verifier.Options{})
						require.NoError(t, err)
						part := r.Of(func(c *configs.Constant) uint64 { return set[c.Name] })
						require.NotNil(t, part, "%s %v", program, set)
						assert.Equal(t, want.Outcome, part.Verdict.Outcome, "%s %v", program, set)
					}
				}
			}
		}
	}
}

func TestCodeThatNoConfigurationReaches(t *testing.T) {
	_, _, p := load(t, "unreached", loader.LoadOptions{})
	r := explore(t, "unreached", since.R(6, 12))
	var lines []string
	for _, l := range p.Lines {
		if !r.Reached[l.Insn] {
			lines = append(lines, l.Text)
		}
	}
	assert.Contains(t, lines, "\t\tseen = bpf_ktime_get_ns();")
	assert.NotContains(t, lines, "\telse if (limit >= 100)")
}

// A part in which no number has both the range and the bits is no configuration: none of 4, 5 and 6
// has both low bits.
func TestPartsWithoutConfigurationsDoNotCount(t *testing.T) {
	insns, err := decode.Assemble(`
	r1 = map_value(0, 0)
	r0 = 0
	r2 = *(u32 *)(r1 + 0)
	if r2 < 7 goto small
	goto out
small:	if r2 >= 4 goto large
	goto out
large:	if r2 & 1 goto odd
	goto out
odd:	if r2 & 2 goto bad
out:	exit
bad:	r0 = r9
	exit`)
	require.NoError(t, err)
	m := &verifier.Map{Name: "c", Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 4, MaxEntries: 1, Flags: uapi.MapRdonlyProg, Frozen: make([]byte, 4)}
	p := &verifier.Program{Name: "p", Type: uapi.ProgTypeSocketFilter, Insns: insns, Refs: map[int]verifier.Ref{0: {Kind: verifier.RefMapValue, Map: m}}}
	_, k, _ := load(t, "sampled", loader.LoadOptions{})
	r, err := configs.Explore(context.Background(), k, p, []configs.Constant{{Map: "c", Name: "x", Size: 4, Max: 1<<32 - 1}}, 0)
	require.NoError(t, err)
	for _, part := range r.Parts {
		assert.Equal(t, verifier.Accepted, part.Verdict.Outcome, "%s: %s", part.Text(r.Constants), part.Verdict.Message)
	}
	assert.Zero(t, r.Left)
	assert.Equal(t, []int{0}, r.Read)
}
