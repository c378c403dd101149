//go:build !unix

package repl

// onResize does nothing: the next command redraws the screen.
func onResize(func()) (stop func()) { return func() {} }
