package paced

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Settle waits for an RCU grace period, after which the kernel frees programs, and then for moment.
func Settle(moment time.Duration) {
	const globalBarrier = 1 // MEMBARRIER_CMD_GLOBAL
	unix.Syscall(unix.SYS_MEMBARRIER, globalBarrier, 0, 0)
	time.Sleep(moment)
}

// Interrupt locks the calling goroutine to its thread. Once limit has elapsed it repeatedly sends
// the thread SIGURG, which Go programs ignore, to interrupt its system calls: the verifier aborts
// when a signal is pending. stop ends this, unlocks the thread, and reports whether a signal was
// sent.
func Interrupt(limit time.Duration) (stop func() bool) {
	runtime.LockOSThread()
	pid, tid := unix.Getpid(), unix.Gettid()
	done, fired := make(chan struct{}), make(chan bool)
	go func() {
		t := time.NewTimer(limit)
		defer t.Stop()
		interrupted := false
		for {
			select {
			case <-done:
				fired <- interrupted
				return
			case <-t.C:
				interrupted = true
				unix.Tgkill(pid, tid, unix.SIGURG)
				t.Reset(50 * time.Millisecond)
			}
		}
	}()
	return func() bool {
		close(done)
		interrupted := <-fired
		runtime.UnlockOSThread()
		return interrupted
	}
}
