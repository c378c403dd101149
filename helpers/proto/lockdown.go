package proto

// Lockdown is how much a kernel is locked down (security/lockdown, include/linux/security.h).
type Lockdown uint8

// Levels of lockdown. At Integrity user space cannot change the kernel, as on many machines that
// boot with Secure Boot; at Confidentiality it cannot read the kernel's memory either.
const (
	NotLocked Lockdown = iota
	Integrity
	Confidentiality
)

var lockdownNames = [...]string{"none", "integrity", "confidentiality"}

// String returns the level as in /sys/kernel/security/lockdown.
func (l Lockdown) String() string { return lockdownNames[l] }

// ParseLockdown returns the level of a name.
func ParseLockdown(s string) (Lockdown, bool) {
	for i, n := range lockdownNames {
		if n == s {
			return Lockdown(i), true
		}
	}
	return 0, false
}
