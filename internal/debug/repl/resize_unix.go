//go:build unix

package repl

import (
	"os"
	"os/signal"
	"syscall"
)

// onResize calls f whenever the terminal is resized, until stop is called.
func onResize(f func()) (stop func()) {
	c := make(chan os.Signal, 1)
	done := make(chan struct{})
	signal.Notify(c, syscall.SIGWINCH)
	go func() {
		for {
			select {
			case <-c:
				f()
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(c)
		close(done)
	}
}
