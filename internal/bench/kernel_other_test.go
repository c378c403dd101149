//go:build !linux

package bench

import "testing"

// kernelRuns needs Linux.
func kernelRuns(*testing.T, *comparison) func() float64 { return nil }
