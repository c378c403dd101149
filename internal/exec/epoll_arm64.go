//go:build linux && arm64

package exec

import "golang.org/x/sys/unix"

const epollEventSize = 16

const sysPause = -14

func epollEvent(b []byte) unix.EpollEvent {
	return unix.EpollEvent{Events: le.Uint32(b), Fd: int32(le.Uint32(b[8:])), Pad: int32(le.Uint32(b[12:]))}
}
