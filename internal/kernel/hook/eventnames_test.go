package hook

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// TestNamesByRecordAreThoseOfThePrototype: on a kernel that names parameters, the names that its
// records give are the same ones, or others that no parameter has: never those of another
// parameter.
func TestNamesByRecordAreThoseOfThePrototype(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	h := hooksOn(t, spec)
	same, other := 0, 0
	for id := btf.ID(1); int(id) < spec.NumTypes(); id++ {
		name, ok := strings.CutPrefix(spec.Name(id), "btf_trace_")
		if !ok || spec.Kind(id) != btf.KindTypedef {
			continue
		}
		_, named, ok := h.eventPrototype(name)
		if named == nil || !ok {
			continue
		}
		bare := object.FollowProto(spec, id)
		require.NotNil(t, bare, name)
		got := h.namedByRecord(name, spec, bare)
		if got == bare {
			continue
		}
		for i, p := range got.Params[1:] {
			want := named.Params[i+1].Name
			if p.Name == want {
				same++
				continue
			}
			other++
			assert.False(t, slices.ContainsFunc(named.Params, func(q btf.Param) bool { return q.Name == p.Name }),
				"%s: parameter %s is called %s, the name of another one", name, want, p.Name)
		}
	}
	assert.Greater(t, same, 10*other, "%d names are the same, %d are not", same, other)
	t.Logf("%d names are the same, %d are not", same, other)
}
