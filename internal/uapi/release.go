package uapi

import "fmt"

// Release is a release of Linux, such as 6.12, including its stable updates. Releases compare in
// numerical order. The zero value means an unknown release, which counts as the newest.
type Release uint16

// R returns a Release: R(6, 12) is Linux 6.12.
func R(major, minor int) Release { return Release(major<<8 | minor) }

// ReleaseOf returns the release of a LINUX_VERSION_CODE (a<<16 | b<<8 | c).
func ReleaseOf(version uint32) Release { return Release(version >> 8) }

// Has reports whether the release has a feature that was introduced in since. An unknown release
// has every feature.
func (r Release) Has(since Release) bool { return r == 0 || r >= since }

// String returns "major.minor".
func (r Release) String() string { return fmt.Sprintf("%d.%d", r>>8, r&0xff) }

// VersionCode returns the LINUX_VERSION_CODE of the first version of a release (a<<16 | b<<8).
func VersionCode(major, minor uint32) uint32 { return major<<16 | minor<<8 }
