// Package since records which release of Linux changed which rule of the verifier: one row per rule.
//
// It does not implement the rules; the verifier asks [Rule.In] where it applies one.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package since

import "github.com/bpfrun/bpfrun/uapi"

// Release is a release of Linux.
type Release = uapi.Release

// R makes a Release: R(6, 18) is 6.18.y.
func R(major, minor int) Release { return uapi.R(major, minor) }
