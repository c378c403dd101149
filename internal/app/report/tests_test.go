package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSlowestTestsAreNamed(t *testing.T) {
	s := &Suite{File: "f.yaml", Target: "k", Cases: []TestCase{
		{Name: "quick", Took: time.Millisecond}, {Name: "slow", Took: 200 * time.Millisecond}, {Name: "slower", Took: 2 * time.Second}, {Name: "third", Took: 150 * time.Millisecond},
	}}
	var b bytes.Buffer
	require.NoError(t, WriteSlowest(&b, []*Suite{s}, 2))
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	require.Len(t, lines, 2)
	assert.Equal(t, "slowest  2000.00 ms  f.yaml  slower  k", lines[0])
	assert.Contains(t, lines[1], "200.00 ms  f.yaml  slow  k")
}

func TestFailuresOfSeveralKernelsAreOneBlock(t *testing.T) {
	on := func(target, failure string) *Suite {
		c := TestCase{Name: "n", Debug: "bpfrun debug --btf " + target, Took: time.Duration(len(target))}
		if failure != "" {
			c.Failures = []string{failure}
		}
		return &Suite{File: "f.yaml", Target: target, Cases: []TestCase{c}}
	}
	suites := []*Suite{on("k1", "ret: 1"), on("k2", ""), on("k3", "ret: 2"), on("k4", "ret: 1"), {File: "bad.yaml", Err: assert.AnError}}
	var b bytes.Buffer
	require.NoError(t, WriteSuites(&b, suites, TableOptions{}))
	text := b.String()
	assert.Contains(t, text, "FAIL f.yaml  k1, k4 (2 kernels)  0 passed, 1 failed\n")
	assert.Contains(t, text, "FAIL f.yaml  k3  0 passed, 1 failed\n", "another failure is another block")
	assert.Contains(t, text, "ok   f.yaml  k2  1 passed, 0 failed\n")
	assert.Contains(t, text, "FAIL bad.yaml  0 passed, 1 failed\n")
	assert.Equal(t, 1, strings.Count(text, "ret: 1"))
	assert.Contains(t, text, "bpfrun debug --btf k1")
	assert.NotContains(t, text, "bpfrun debug --btf k4")
}

func TestSeedsAreMerged(t *testing.T) {
	suite := func(failures ...string) *Suite {
		s := &Suite{File: "f", Took: time.Second}
		for i, f := range failures {
			c := TestCase{Name: string(rune('a' + i)), Took: time.Second}
			if f != "" {
				c.Failures = []string{f}
			}
			s.Cases = append(s.Cases, c)
		}
		return s
	}
	m := MergeSeeds([]*Suite{suite("", ""), suite("", "two"), suite("", "three"), suite("")}, []uint64{5, 6, 7, 8})
	require.Len(t, m.Cases, 2)
	assert.Empty(t, m.Cases[0].Failures)
	assert.Empty(t, m.Cases[0].Notes)
	assert.Equal(t, 4*time.Second, m.Cases[0].Took)
	assert.Equal(t, []string{"two"}, m.Cases[1].Failures, "the first failure is shown")
	assert.Equal(t, []string{"failed with 2 of 4 seeds: 6, 7; shown is --seed 6"}, m.Cases[1].Notes)
	assert.Equal(t, 4*time.Second, m.Took)
}
