// Package testsize selects how many of its cases a test runs. It is for tests only.
//
//	go test ./...                a sample: seconds
//	go test -short ./...         a smaller one, for the race detector and emulated processors
//	make test-long               all, as .ci/run --all runs them (BPFRUN_LONG=1)
package testsize

import (
	"os"
	"testing"
)

// Long reports whether tests run all their cases: BPFRUN_LONG is set.
func Long() bool { return os.Getenv("BPFRUN_LONG") != "" }

// Pick returns long with BPFRUN_LONG, short with -short, and normal otherwise. BPFRUN_LONG wins.
func Pick[T any](long, normal, short T) T {
	switch {
	case Long():
		return long
	case testing.Short():
		return short
	}
	return normal
}
