package rewrite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// failures collects what a test would report.
type failures struct {
	testing.TB
	all []string
}

func (f *failures) Helper() {}

func (f *failures) Errorf(format string, args ...any) {
	f.all = append(f.all, fmt.Sprintf(format, args...))
}

func TestOneOtherOutcomeIsReported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "outcomes.txt")
	outcomes := func(last string) *Outcomes {
		var o Outcomes
		o.Add("a", "refused at 3")
		o.Add("b", "refused at 4")
		o.Add("c", "made\t"+last)
		return &o
	}
	*Flag = true
	outcomes("x").Compare(t, path)
	*Flag = false
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Len(t, strings.Split(strings.TrimSpace(string(text)), "\n"), 2, "numbers make no line of their own")
	outcomes("x").Compare(t, path)
	f := &failures{TB: t}
	outcomes("y").Compare(f, path)
	require.Len(t, f.all, 1)
	assert.Contains(t, f.all[0], "c: made\ty")
	f.all = nil
	var swapped Outcomes // the same outcomes of other inputs
	swapped.Add("a", "refused at 4")
	swapped.Add("b", "refused at 3")
	swapped.Add("c", "made\tx")
	swapped.Compare(f, path)
	assert.Len(t, f.all, 1)
	f.all = nil
	var fewer Outcomes
	fewer.Add("c", "made\tx")
	fewer.Compare(f, path)
	require.Len(t, f.all, 1)
	assert.Contains(t, f.all[0], "no inputs lead to: refused at N")
}

func TestSamplesAreComparedByThemselves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "outcomes.txt")
	asked := 0
	outcomes := func(other string) *Outcomes {
		var o Outcomes
		asked = 0
		for i := range 60 {
			input := fmt.Sprint("input ", i)
			o.Ask(input, func() string {
				asked++
				if input == other {
					return "other"
				}
				return fmt.Sprintf("as usual\t%d", i*i)
			})
		}
		return &o
	}
	t.Setenv("BPFRUN_WIDE", "1")
	*Flag = true
	outcomes("").Compare(t, path)
	*Flag = false
	differ := func() (n int) {
		for i := range 60 {
			f := &failures{TB: t}
			outcomes(fmt.Sprint("input ", i)).Compare(f, path)
			if len(f.all) > 0 {
				n++
			}
		}
		return n
	}
	outcomes("").Compare(t, path)
	assert.Equal(t, 60, asked)
	assert.Equal(t, 60, differ())
	t.Setenv("BPFRUN_WIDE", "")
	t.Setenv("BPFRUN_LONG", "")
	outcomes("").Compare(t, path)
	sample := asked
	assert.Greater(t, sample, 60/sampled/3)
	assert.Less(t, sample, 60/sampled*3)
	assert.Equal(t, sample, differ())
}
