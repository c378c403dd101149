package kernel

import "fmt"

// UserName names an address the simulated kernel allocated in user memory by its place there, which is the same on every
// target; ok is false for other addresses.
func (k *Kernel) UserName(addr uint64) (name string, ok bool) {
	if addr < k.user.base || addr >= k.user.heap {
		return "", false
	}
	return fmt.Sprintf("user+%#x", addr-k.user.base), true
}
