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
	require.Len(t, f.all, 2)
	assert.Contains(t, f.all[0], "no inputs lead to: 1 ")
	assert.Contains(t, f.all[1], "c: made\ty")
	f.all = nil
	var swapped Outcomes // the same outcomes of other inputs
	swapped.Add("a", "refused at 4")
	swapped.Add("b", "refused at 3")
	swapped.Add("c", "made\tx")
	swapped.Compare(f, path)
	assert.Len(t, f.all, 2)
}
