//go:build !linux

package helpers

import "testing"

// record needs the bpf system call.
func record(t *testing.T, _ string, _ []recorded) {
	t.Helper()
	t.Skip("recording needs Linux")
}
