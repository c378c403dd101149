package corpus

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/machine"
)

func TestProjectsCountProgramsOnTheirBestKernel(t *testing.T) {
	rows := []*Row{
		{Package: "one", Object: "a.o", Target: "old", Programs: []Program{
			{Name: "everywhere", Status: machine.StatusOK, Runs: 2},
			{Name: "new", Status: machine.StatusRefused, Why: "helper 5 is not known"},
			{Name: "hookless", Status: machine.StatusUnknownHook, Runs: 2},
			{Name: "nowhere", Status: machine.StatusRefused, Why: "R1 invalid"},
			{Name: "optional", Status: machine.StatusDisabled},
		}},
		{Package: "one", Object: "a.o", Target: "new", Programs: []Program{
			{Name: "everywhere", Status: machine.StatusOK, Runs: 2},
			{Name: "new", Status: machine.StatusOK, Runs: 2},
			{Name: "hookless", Status: machine.StatusAbsent},
			{Name: "nowhere", Status: machine.StatusFault, Why: "insn 7: read of 8 bytes at 0xff00"},
			{Name: "optional", Status: machine.StatusDisabled},
		}},
		{Package: "one", Object: "arm.o", Target: "old", Err: "arm.o: compiled for another architecture", Programs: nil},
		{Package: "one", Object: "arm.o", Target: "new", Programs: []Program{{Name: "p", Status: machine.StatusOK, Runs: 1}, {Name: "q", Status: machine.StatusAbsent, Why: "no a|b"}}},
		{Package: "two", Object: "b.o", Target: "old", Err: "b.o: no ELF file"},
		{Package: "two", Object: "b.o", Target: "new", Err: "b.o: no ELF file"},
		{Package: "three", Object: "c.o", Target: "new", Programs: []Program{{Name: "p", Status: machine.StatusUnknownHook}}},
	}
	var out bytes.Buffer
	require.NoError(t, WriteProjects(&out, rows))
	assert.Equal(t, `| project | objects | programs that run to the end | the others |
|---|---:|---:|---|
| one | 2 | 4 of 6 | 1 absent: no a\|b; 1 fault: insn N: read of N bytes at ADDRESS |
| two | 1 | 0 of 1 | 1 no ELF file |
| three | 1 | 0 of 1 | 1 unknown-hook |

In all 4 of 8 programs (50.0 %).
`, out.String())
}
