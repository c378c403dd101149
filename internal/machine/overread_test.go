package machine_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
)

// TestReadsPastObjects: a read that ends behind its object is one finding for its line, on both
// engines; a copy of the whole object is none, and is proved.
func TestReadsPastObjects(t *testing.T) {
	for _, engine := range []machine.Engine{machine.EngineInterpreter, machine.EngineJIT} {
		m := compose(t, load(t, "../../testdata/objects/clang-14/overreads.o", target(t, embedded.Name)), machine.Config{Engine: engine})
		for prog, wrong := range map[string]bool{"whole": false, "guessed": true, "in_loop": true} {
			res := run(t, m, prog)
			require.Equal(t, machine.StatusOK, res.Status, prog)
			if !wrong {
				assert.Empty(t, res.Findings, prog)
				assert.Empty(t, m.Validate(res).Findings, prog)
				continue
			}
			require.Len(t, res.Findings, 1, prog)
			f := res.Findings[0]
			assert.Equal(t, finding.Overread, f.Kind)
			assert.Equal(t, "reads 328 bytes past the end of kernel object current.cred (cred): the bytes there vary", f.Text)
			assert.Contains(t, f.Line, "/* wrong */")
		}
	}
}

// TestIgnoredFindingsOfRuns: what is ignored, as a whole or of one program, is in no result.
func TestIgnoredFindingsOfRuns(t *testing.T) {
	for _, tt := range []struct {
		ignore          string
		guessed, inLoop int
	}{
		{"leak", 1, 1}, {"overread", 0, 0}, {"overread:guessed", 0, 1}, {"overread:whole", 1, 1},
	} {
		i, err := finding.ParseIgnore(tt.ignore)
		require.NoError(t, err)
		m := compose(t, load(t, "../../testdata/objects/clang-14/overreads.o", target(t, embedded.Name)), machine.Config{Ignore: []finding.Ignore{i}})
		assert.Len(t, run(t, m, "guessed").Findings, tt.guessed, tt.ignore)
		assert.Len(t, run(t, m, "in_loop").Findings, tt.inLoop, tt.ignore)
		m.Ignore(finding.Ignore{Kind: finding.Overread})
		assert.Empty(t, run(t, m, "in_loop").Findings, tt.ignore)
	}
}

// TestIgnoredReadsDoNotStop: strict runs stop at reads past the end of objects, but for those that
// are ignored.
func TestIgnoredReadsDoNotStop(t *testing.T) {
	for _, tt := range []struct {
		ignore          string
		guessed, inLoop machine.Status
	}{
		{"leak", machine.StatusFault, machine.StatusFault}, {"overread", machine.StatusOK, machine.StatusOK}, {"overread:guessed", machine.StatusOK, machine.StatusFault},
	} {
		i, err := finding.ParseIgnore(tt.ignore)
		require.NoError(t, err)
		m := compose(t, load(t, "../../testdata/objects/clang-14/overreads.o", target(t, embedded.Name)), machine.Config{Strict: true, Ignore: []finding.Ignore{i}})
		assert.Equal(t, tt.guessed, run(t, m, "guessed").Status, tt.ignore)
		assert.Equal(t, tt.inLoop, run(t, m, "in_loop").Status, tt.ignore)
	}
}

// TestIgnoredWrongFields: reads that are not proved are findings, too; a field that was never set
// is none.
func TestIgnoredWrongFields(t *testing.T) {
	m := compose(t, load(t, "../../testdata/objects/clang-14/baked.o", target(t, embedded.Name)), machine.Config{})
	kinds := func() (wrong, others int) {
		for _, name := range m.Names() {
			for _, f := range m.Validate(run(t, m, name)).Findings {
				if f.Kind.WrongField() {
					wrong++
				} else {
					others++
				}
			}
		}
		return
	}
	wrong, others := kinds()
	require.NotZero(t, wrong)
	m.Ignore(finding.Ignore{Kind: finding.WrongField})
	none, same := kinds()
	assert.Equal(t, [2]int{0, others}, [2]int{none, same})
}
