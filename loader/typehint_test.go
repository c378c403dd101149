package loader

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestTypeHint suggests types that a program can be loaded as: by its context, by what it calls and
// loads.
func TestTypeHint(t *testing.T) {
	o, err := Open("../testdata/objects/clang-14/cilium.o", WithDialect(DialectLibbpf))
	require.NoError(t, err)
	l := load(t, o, kernel(t, linux72), LoadOptions{})
	for name, want := range map[string]string{
		"ingress": "set the program's type, for example --type ingress=socket_filter (or sched_cls, sched_act, cgroup_skb)",
		"glued":   "set the program's type, for example --type glued=socket_filter (or sched_cls, sched_act, cgroup_skb)",
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

// TestTypesThatDoNotFit: what a program reads of its context, and the constants it returns, keep
// types out that would be refused.
func TestTypesThatDoNotFit(t *testing.T) {
	skb := func(typ uapi.ProgType) *progtype.Row { return progtype.Of(typ) }
	l := &loading{t: kernel(t, linux72)}
	for _, tt := range []struct {
		name, text       string
		typ              uapi.ProgType
		misuses, returns bool
	}{
		{"metadata, of tc", "r2 = *(u32 *)(r1 + 140); r0 = 0; exit", uapi.ProgTypeSchedCls, false, false},
		{"metadata, of a cgroup", "r2 = *(u32 *)(r1 + 140); r0 = 0; exit", uapi.ProgTypeCgroupSkb, true, false},
		{"metadata by a copy", "r6 = r1; r1 = 0; r2 = *(u32 *)(r6 + 140); r0 = 0; exit", uapi.ProgTypeCgroupSkb, true, false},
		{"another register", "r1 = r10; r2 = *(u32 *)(r1 - 4); r0 = 0; exit", uapi.ProgTypeCgroupSkb, false, false},
		{"after a call", "call 7; r2 = *(u32 *)(r1 + 140); r0 = 0; exit", uapi.ProgTypeCgroupSkb, false, false},
		{"packet without access", "r2 = *(u32 *)(r1 + 76); r0 = 0; exit", uapi.ProgTypeSocketFilter, true, false},
		{"a subprogram", "call f; r0 = 0; exit; f: r2 = *(u32 *)(r1 + 140); r0 = 0; exit", uapi.ProgTypeCgroupSkb, false, false},
		{"a store", "*(u32 *)(r1 + 4) = r1; r0 = 0; exit", uapi.ProgTypeSchedCls, true, false},
		{"returns 2 to tc", "r0 = 2; exit", uapi.ProgTypeSchedCls, false, false},
		{"returns 2 to a cgroup", "r0 = 2; exit", uapi.ProgTypeCgroupSkb, false, true},
		{"returns 2 to a cgroup by a jump", "r0 = 2; if r1 == 0 goto out; r2 = 0; out: exit", uapi.ProgTypeCgroupSkb, false, true},
		{"overwrites 2", "r0 = 2; if r1 == 0 goto out; out: r0 = 1; exit", uapi.ProgTypeCgroupSkb, false, false},
		{"returns 1 to a cgroup", "w0 = 1; exit", uapi.ProgTypeCgroupSkb, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			insns, err := decode.Assemble(tt.text)
			require.NoError(t, err)
			lp := &LinkedProgram{Insns: insns}
			assert.Equal(t, tt.misuses, l.misusesContext(lp, skb(tt.typ)))
			assert.Equal(t, tt.returns, l.returnsUnduly(lp, skb(tt.typ)))
		})
	}
}
