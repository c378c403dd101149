package scenario

import (
	"testing"

	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/stretchr/testify/assert"
)

// TestConditions: each condition on a value below, equal to and above the one it names.
func TestConditions(t *testing.T) {
	for tag, want := range map[string][3]bool{
		"!lt": {true, false, false}, "!le": {true, true, false}, "!gt": {false, false, true}, "!ge": {false, true, true}, "!ne": {true, false, true},
	} {
		for i, c := range []int{-1, 0, 1} {
			assert.Equal(t, want[i], grammar.Conditions[tag](c), "%s %d", tag, c)
		}
	}
}
