package loader

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/uapi"
)

// TestTypeHint suggests types that a program can be loaded as: by its context, by what it calls and loads.
func TestTypeHint(t *testing.T) {
	o, err := Open("../testdata/objects/clang-14/cilium.o", WithDialect(DialectLibbpf))
	require.NoError(t, err)
	l := load(t, o, kernel(t, linux72), LoadOptions{})
	for name, want := range map[string]string{
		"ingress": "name the program's type, as in --type ingress=socket_filter (or sched_cls, sched_act, cgroup_skb)",
		"glued":   "name the program's type, as in --type glued=socket_filter (or sched_cls, sched_act, cgroup_skb)",
	} {
		p, _ := l.Program(name)
		var e *Error
		require.ErrorAs(t, p.Err, &e)
		assert.Equal(t, want, e.Hint)
	}
	// What is suggested is not refused.
	for _, p := range l.Programs {
		for _, name := range (&loading{Linked: l, o: o, t: l.Target}).fittingTypes(p) {
			typ, ok := uapi.ParseProgType(name)
			require.True(t, ok, name)
			o, err := Open("../testdata/objects/clang-14/cilium.o", WithType(p.Name, typ))
			require.NoError(t, err)
			again, _ := load(t, o, kernel(t, linux72), LoadOptions{Only: []string{p.Name}}).Program(p.Name)
			assert.NoError(t, again.Err, "%s as %s", p.Name, name)
		}
	}
}
