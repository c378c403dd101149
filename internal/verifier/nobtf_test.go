package verifier_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// If a kernel refuses the object's BTF, it gets programs and maps without it and refuses what needs
// types. Linux 6.18 answered so; 6.1 does not check the struct in question and accepts all.
func TestProgramsOfRefusedBTF(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	verdictsOn := func(version uint32) map[string]string {
		l := linkAll(t, loader.NewTarget("x", spec, loader.WithVersion(version)), "../../testdata/objects/clang-14/refusedtypes.o")
		assert.Equal(t, uapi.ReleaseOf(version).Has(uapi.R(6, 2)), l.NoBTF != nil)
		said := map[string]string{}
		for _, lp := range l.Programs {
			p, err := verifier.FromLinked(l, lp)
			require.NoError(t, err)
			v, err := verifier.Verify(context.Background(), verifier.KernelOf(l.Target), p, verifier.Options{})
			require.NoError(t, err)
			if said[lp.Name] = v.Message; v.Outcome != verifier.Refused {
				said[lp.Name] = v.Outcome.String()
			}
		}
		return said
	}
	assert.Equal(t, map[string]string{
		"calls": "accepted", "writes": "accepted",
		"locking": "map 'locks' has to have BTF in order to use bpf_spin_lock",
		"timing":  "map 'timers' has to have BTF in order to use bpf_timer",
		"jumping": "tail_call is not allowed in subprogs without BTF",
		"looping": "missing btf func_info",
	}, verdictsOn(uapi.VersionCode(6, 18)))
	for name, said := range verdictsOn(uapi.VersionCode(6, 1)) {
		if name == "writes" { // it writes a timer that the kernel knows
			assert.Equal(t, "bpf_timer cannot be accessed directly by load/store", said)
			continue
		}
		assert.Equal(t, "accepted", said, name)
	}
}
