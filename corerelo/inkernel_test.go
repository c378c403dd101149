package corerelo

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestInKernel: the kernel's own engine, which light skeletons use, differs from libbpf in what it
// drops and how deep it looks.
func TestInKernel(t *testing.T) {
	both := structure("foo", member("x", tInt), member("y", tInt))
	halves := []*ty{structure("foo___a", member("x", tInt)), structure("foo___b", member("pad", tInt), member("y", tInt))}
	nested := func(param *ty, n int) *ty {
		for i := 1; i <= n; i++ {
			param = typedef("nest"+string(rune('0'+i)), ptr(proto(tInt, param)))
		}
		return param
	}
	deep := func(n int) []*ty { return []*ty{nested(tLong, n)} }
	for _, tt := range []struct {
		name           string
		target         []*ty
		steps          []step
		libbpf, kernel want // of the last step
	}{
		{"a match drops no candidates", halves, []step{field(both, "0:0", is(0)), field(both, "0:1", is(4))}, poisoned, is(4)},
		{
			"ENUM is not a candidate for ENUM64", []*ty{enum64("e", false, val{"A", 1 << 40})},
			[]step{enumval(enum("e", 4, false, val{"A", 1}), "0", is(0))}, is(1 << 40), poisoned,
		},
		{"two prototypes", deep(2), []step{typ(nested(tLong, 2), TypeExists, is(1))}, is(1), is(1)},
		{"three prototypes", deep(3), []step{typ(nested(tLong, 3), TypeExists, is(1))}, is(1), fails(ErrTooDeep)},
		{"three prototypes by type_matches", deep(3), []step{typ(nested(tLong, 3), TypeMatches, is(1))}, is(1), fails(ErrTooDeep)},
	} {
		for _, inKernel := range []bool{false, true} {
			want, name := tt.libbpf, "libbpf"
			if inKernel {
				want, name = tt.kernel, "kernel"
			}
			t.Run(tt.name+" "+name, func(t *testing.T) {
				f := rule{target: tt.target, steps: tt.steps}.build(t)
				r := NewResolver(f.local, Target{BTF: f.target, InKernel: inKernel})
				var rel *Relocation
				var err error
				for _, rec := range f.records {
					rel, err = r.Resolve(rec)
				}
				if want.err != nil {
					require.ErrorIs(t, err, want.err)
					return
				}
				require.NoError(t, err)
				assert.Equal(t, want.poison, rel.Result.Poison)
				if !want.poison {
					assert.Equal(t, want.value, rel.Result.New)
				}
			})
		}
	}
}
