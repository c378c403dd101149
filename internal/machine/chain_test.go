package machine_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
)

// TestWhichProgramsShareAHook: those of one type and attach type, at one hook, where it has several.
func TestWhichProgramsShareAHook(t *testing.T) {
	chain := compose(t, load(t, "../../testdata/objects/clang-14/chain.o", target(t, embedded.Name)), machine.Config{})
	sections := compose(t, load(t, "../../testdata/objects/clang-14/sections.o", target(t, embedded.Name)), machine.Config{})
	for _, tt := range []struct {
		m     *machine.Machine
		names []string
		want  string // of the error
	}{
		{chain, []string{"mark", "drop_marked", "last"}, ""},
		{chain, []string{"last"}, ""},
		{chain, []string{"deny", "look"}, ""},
		{chain, nil, "none is chosen"},
		{chain, []string{"mark", "nosuch"}, "nosuch"},
		{chain, []string{"mark", "deny"}, "do not share a hook: mark (tcx/ingress) and deny (cgroup/connect4)"},
		{chain, []string{"mark", "odd"}, "do not share a hook: mark (tcx/ingress) and odd (netkit/primary)"},
		{chain, []string{"alone"}, "a hook has one program of type xdp"},
		{sections, []string{"cgroup_bind4", "cgroup_post_bind4"}, "do not share a hook"},
		{sections, []string{"classifier_fn", "action_fn"}, "do not share a hook"},
		{sections, []string{"sockops_fn", "socket_filter"}, "do not share a hook"},
		{sections, []string{"lsm_fn", "lsm_s"}, "do not share a hook"},
		{sections, []string{"tcx_in", "tcx_out"}, "do not share a hook: tcx_in (tcx/ingress) and tcx_out (tcx/egress)"},
	} {
		err := tt.m.CheckChain(tt.names)
		if tt.want == "" {
			assert.NoError(t, err, "%v", tt.names)
		} else {
			assert.ErrorContains(t, err, tt.want, "%v", tt.names)
		}
	}
}
