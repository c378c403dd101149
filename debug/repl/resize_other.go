//go:build !unix

package repl

// onResize does nothing: the next command draws the screen again.
func onResize(func()) (stop func()) { return func() {} }
