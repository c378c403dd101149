// Package since knows which release of Linux changed which rule of the verifier: one row for each rule.
//
// It does not know what the rules are; the verifier asks [Release.Has] where it applies one.
package since

import "fmt"

// Release is a release of Linux: R(6, 18) is 6.18.y.
type Release uint16

// R makes a Release.
func R(major, minor int) Release { return Release(major<<8 | minor) }

// FromVersion cuts KERNEL_VERSION(a, b, c) to a release.
func FromVersion(v uint32) Release { return Release(v >> 8) }

// Major is the first number.
func (r Release) Major() int { return int(r >> 8) }

// Minor is the second number.
func (r Release) Minor() int { return int(r & 0xff) }

// String returns "major.minor".
func (r Release) String() string { return fmt.Sprintf("%d.%d", r.Major(), r.Minor()) }
