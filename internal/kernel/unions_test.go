package kernel

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// TestUnionMembers: a read of another member of a union than the one that was set is told apart
// from one of the same member.
func TestUnionMembers(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		k := newKernel(t, b, func(c *Config) { c.Mode = object.ModeScenario })
		o, err := k.NewObjectNamed("sk", "sock_common")
		require.NoError(t, err)
		require.NoError(t, o.Set("skc_daddr", 1))
		require.NoError(t, o.Set("skc_rcv_saddr", 2))
		require.NoError(t, o.Set("skc_portpair", 3))
		for _, tt := range []struct{ read, meant, want string }{
			{"skc_daddr", "", ""},
			{"skc_daddr", "skc_daddr", ""},
			{"skc_addrpair", "skc_addrpair", "skc_rcv_saddr"},
			{"skc_portpair", "skc_portpair", ""},
			{"skc_num", "skc_num", "skc_portpair"},
			{"skc_state", "skc_state", ""},
		} {
			var seen object.Access
			k.SetSink(func(a *object.Access) { seen = *a })
			f, rest, err := o.Layout().Place(tt.read)
			require.NoError(t, err)
			require.Empty(t, rest)
			_, fault := o.Load(o.Addr()-o.Base()+f.Off, int(f.Size))
			require.Nil(t, fault)
			assert.Equal(t, tt.want, seen.OtherMember(tt.meant), tt.read)
		}
		k.SetSink(nil)
	})
}
