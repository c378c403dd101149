package uapi

import "fmt"

// Release is a release of Linux, such as 6.12; stable updates of it count as the same. Releases are ordered as numbers are.
// The zero value is an unknown release, which is taken for the newest.
type Release uint16

// R makes a Release: R(6, 12) is Linux 6.12.
func R(major, minor int) Release { return Release(major<<8 | minor) }

// ReleaseOf returns the release of a LINUX_VERSION_CODE (a<<16 | b<<8 | c).
func ReleaseOf(version uint32) Release { return Release(version >> 8) }

// Has reports whether the release has what came with since. An unknown release has everything.
func (r Release) Has(since Release) bool { return r == 0 || r >= since }

// String returns "major.minor".
func (r Release) String() string { return fmt.Sprintf("%d.%d", r>>8, r&0xff) }

// VersionCode makes a LINUX_VERSION_CODE of a release without its stable updates.
func VersionCode(major, minor uint32) uint32 { return major<<16 | minor<<8 }
