// Package testsize selects how many of its cases a test runs. It is for tests only.
//
//	go test ./...                a sample: seconds
//	go test -short ./...         a smaller one, for the race detector and emulated processors
//	make test-wide               what every change must pass, as .ci/run runs them (BPFRUN_WIDE=1)
//	make test-long               all, as .ci/run --all runs them (BPFRUN_LONG=1)
package testsize

import (
	"os"
	"testing"
)

// Long reports whether tests run all their cases: BPFRUN_LONG is set.
func Long() bool { return os.Getenv("BPFRUN_LONG") != "" }

// Wide reports whether tests run the cases that every change must pass: BPFRUN_WIDE or BPFRUN_LONG
// is set.
func Wide() bool { return os.Getenv("BPFRUN_WIDE") != "" || Long() }

// Sample returns wide when Wide holds, and quick otherwise.
func Sample[T any](wide, quick T) T {
	if Wide() {
		return wide
	}
	return quick
}

// Some returns the list when Wide holds, and otherwise one of so many of its elements.
func Some[T any](of int, list []T) []T {
	if Wide() {
		return list
	}
	var out []T
	for i := 0; i < len(list); i += of {
		out = append(out, list[i])
	}
	return out
}

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
