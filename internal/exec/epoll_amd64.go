//go:build linux && amd64

package exec

import "golang.org/x/sys/unix"

// epollEventSize is the size of struct epoll_event, which is packed on amd64.
const epollEventSize = 12

const sysPause = unix.SYS_PAUSE

func epollEvent(b []byte) unix.EpollEvent {
	return unix.EpollEvent{Events: le.Uint32(b), Fd: int32(le.Uint32(b[4:])), Pad: int32(le.Uint32(b[8:]))}
}
