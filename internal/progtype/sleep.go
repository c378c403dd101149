package progtype

import (
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Sleepable determines the releases that accept programs with BPF_F_SLEEPABLE (verifier.c
// can_be_sleepable). The zero value means none.
type Sleepable struct {
	Since uapi.Release
	// Unchecked is the first release that checks. Earlier ones, back to 5.10, accept
	// BPF_F_SLEEPABLE without a check. 0 means that all releases check.
	Unchecked uapi.Release
	// Always means that programs must be sleepable.
	Always bool
}

// SleepableIn returns when programs of an attach type may, or must, be sleepable.
func (r *Row) SleepableIn(a uapi.AttachType) Sleepable {
	if at := r.Attached(a); at != nil && at.Sleepable != nil {
		return *at.Sleepable
	}
	return r.Sleepable
}

// MaySleep reports whether a release accepts sleepable programs of an attach type.
func (r *Row) MaySleep(release uapi.Release, a uapi.AttachType) bool {
	s := r.SleepableIn(a)
	return s.Since != 0 && release.Has(s.Since) || s.Unchecked != 0 && release >= v510 && release < s.Unchecked
}
