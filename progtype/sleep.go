package progtype

import (
	"github.com/bpfrun/bpfrun/uapi"
)

// Sleepable tells from which release on programs may be loaded with BPF_F_SLEEPABLE (verifier.c can_be_sleepable). The zero
// value is never.
type Sleepable struct {
	Since uapi.Release
	// Unchecked is the release before which nobody looked, from 5.10 on, when programs could be sleepable at all.
	Unchecked uapi.Release
	// Always means that programs must be sleepable.
	Always bool
}

// SleepableIn tells when programs of an attach type may be, or have to be, sleepable.
func (r *Row) SleepableIn(a uapi.AttachType) Sleepable {
	if at := r.Attached(a); at != nil && at.Sleepable != nil {
		return *at.Sleepable
	}
	return r.Sleepable
}

// MaySleep reports whether a release loads sleepable programs of an attach type.
func (r *Row) MaySleep(release uapi.Release, a uapi.AttachType) bool {
	s := r.SleepableIn(a)
	return s.Since != 0 && release.Has(s.Since) || s.Unchecked != 0 && release >= v510 && release < s.Unchecked
}
