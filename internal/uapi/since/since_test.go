package since

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryRowIsWhole(t *testing.T) {
	const newest = 255 // patch
	seen := map[string]bool{}
	for _, r := range All() {
		row := r.Row()
		require.False(t, seen[row.Name], row.Name)
		seen[row.Name] = true
		for _, text := range []string{row.Name, row.Kernel, row.What, r.Area()} {
			require.NotEmpty(t, text, row.Name)
		}
		require.NotZero(t, row.From, row.Name)
		named, ok := Named(row.Name)
		require.True(t, ok)
		require.Equal(t, r, named)
		require.True(t, r.First().Has(r), row.Name)
		require.True(t, Version{}.Has(r), row.Name)
		require.False(t, Version{Release: r.Before()}.Has(r), row.Name)
		for _, u := range row.Stable {
			require.LessOrEqual(t, u.Release, row.From, "%s: an update of a release that has it", r)
			require.True(t, Version{u.Release, newest}.Has(r), row.Name)
			require.True(t, Version(u).Has(r), row.Name)
			if u.Patch > 0 {
				require.False(t, Version{u.Release, u.Patch - 1}.Has(r), row.Name)
			}
		}
	}
}

func TestSetsHoldTheRulesOfAVersion(t *testing.T) {
	v := Version{R(6, 12), 81}
	s := v.Rules()
	assert.True(t, s.Has(Always))
	for _, r := range All() {
		assert.Equal(t, v.Has(r), s.Has(r), r.String())
		assert.Equal(t, !s.Has(r), s.Without(r).Has(r), r.String())
	}
	assert.True(t, s.Has(SplitSign32))
	assert.False(t, Version{R(6, 12), 80}.Rules().Has(SplitSign32))
}

func TestPrevious(t *testing.T) {
	for _, c := range [][2]Release{{R(7, 0), R(6, 19)}, {R(6, 0), R(5, 19)}, {R(6, 12), R(6, 11)}} {
		assert.Equal(t, c[1], Previous(c[0]))
	}
	assert.Equal(t, Version{R(7, 2), 7}, NoNullBranch32.First())
	assert.False(t, Version{R(7, 2), 6}.Has(NoNullBranch32))
	assert.True(t, Version{R(7, 3), 0}.Has(NoNullBranch32))
	assert.Equal(t, Version{R(6, 8), 0}, MixedBounds.First())
	assert.Equal(t, R(6, 5), AnyBackEdge.Before(), "6.6 has it as maintained")
	assert.Equal(t, Version{R(6, 12), 117}, Of(6<<16|12<<8|117))
	_, ok := Named("NoSuchRule")
	assert.False(t, ok)
	assert.Panics(t, func() { numRules.Row() })
}

// TestReleases: all releases with rules follow one another, and updates are those of rows.
func TestReleases(t *testing.T) {
	all := Releases()
	require.Equal(t, Oldest, all[0])
	for i := 1; i < len(all); i++ {
		require.Equal(t, all[i-1], Previous(all[i]))
	}
	for _, r := range All() {
		require.True(t, !Verified(r.From()) || slices.Contains(all, r.From()), "%s came with %s", r, r.From())
	}
	require.Contains(t, Updates(R(6, 1)), 191)
	require.IsIncreasing(t, Updates(R(6, 1)))
	require.Empty(t, Updates(R(5, 18)), "a line without updates of its own")
}

// TestRowsAreInTheDocumentation: docs/releases.md, which is generated, has each row below its release,
// with the updates that older releases got.
func TestRowsAreInTheDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../../docs/releases.md")
	require.NoError(t, err)
	sections := map[string]string{}
	for _, s := range strings.Split(string(page), "\n## Linux ")[1:] {
		release, text, _ := strings.Cut(s, "\n")
		sections[release] = text
	}
	for _, r := range All() {
		row := r.Row()
		at := strings.Index(sections[row.From.String()], "- "+row.What+" (")
		require.GreaterOrEqual(t, at, 0, "%s is below %s", r, row.From)
		line, _, _ := strings.Cut(sections[row.From.String()][at:], "\n")
		for _, u := range row.Stable {
			text := u.Release.String()
			if u.Patch > 0 {
				text = fmt.Sprint(text, ".", u.Patch)
			}
			assert.Regexp(t, `\b`+regexp.QuoteMeta(text)+`\b`, line, r.String())
		}
	}
}
