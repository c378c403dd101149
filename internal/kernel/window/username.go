package window

import "fmt"

// UserName names an address that the simulated kernel allocated in user memory by its place there,
// which is the same on every target; ok is false for other addresses.
func (u *User) UserName(addr uint64) (name string, ok bool) {
	if addr < u.base || addr >= u.heap {
		return "", false
	}
	return fmt.Sprintf("user+%#x", addr-u.base), true
}
