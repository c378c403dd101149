package machine_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/loader"
)

// TestEverySectionNameRunsOrIsRefusedByName: the fixtures have a program for each section name
// libbpf knows. On a new kernel each of them runs, or says by name what is not simulated; the hooks
// that kernel lacks are absent.
func TestEverySectionNameRunsOrIsRefusedByName(t *testing.T) {
	kernel := target(t, "../../testdata/btf/linux-7.2.13-amd64.btf.xz")
	absent := map[string]bool{
		"raw_tp.w":   true, // nbd_send_request is a module's
		"freplace":   true, // the function is another program's
		"struct_ops": true, // of those without a map
	}
	refused := map[string]bool{
		"struct_ops": true, "struct_ops.s": true,
	}
	seen := map[string]bool{}
	for _, file := range []string{"sections.o", "hooks.o"} {
		l := load(t, "../../testdata/objects/clang-14/"+file, kernel)
		m := compose(t, l, machine.Config{})
		for _, lp := range l.Programs {
			if !lp.Known || lp.Status == loader.StatusDisabled {
				continue
			}
			seen[lp.Kind] = true
			res, err := m.Run(t.Context(), lp.Name, machine.Input{})
			require.NoError(t, err, lp.Section)
			switch res.Status {
			case machine.StatusOK, machine.StatusUnknownHook:
				assert.True(t, res.Ran, lp.Section)
			case machine.StatusFault: // of return values the kernel does not let the program have
				assert.Contains(t, res.Fault.Error(), "may return", lp.Section)
			case machine.StatusNotSimulated:
				var named *machine.NotSimulatedError
				require.ErrorAs(t, m.ProgramError(lp.Name), &named, lp.Section)
				assert.NotEmpty(t, named.What)
				assert.True(t, refused[lp.Kind], "%s: %v", lp.Section, named)
			case machine.StatusAbsent:
				assert.True(t, absent[lp.Kind], "%s: %v", lp.Section, m.ProgramError(lp.Name))
			default:
				t.Errorf("%s is %s: %v", lp.Section, res.Status, errors.Join(m.ProgramError(lp.Name)))
			}
		}
	}
	for _, s := range progtype.Sections() {
		assert.True(t, seen[s.Name], "no fixture has a program for %s", s.Name)
	}
}
