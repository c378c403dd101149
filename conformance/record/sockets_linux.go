package record

import "golang.org/x/sys/unix"

// openSockets opens the sockets that a small server has, so that programs find them among the files
// of the process: a listening TCP socket, the ends of a connection to it, and a UDP socket, all of
// the loopback device. It returns their descriptors, also with an error.
func openSockets() (fds []int, err error) {
	local := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	open := func(typ int) int {
		fd := -1
		if err == nil {
			if fd, err = unix.Socket(unix.AF_INET, typ|unix.SOCK_CLOEXEC, 0); err == nil {
				fds = append(fds, fd)
			}
		}
		return fd
	}
	listener, udp, client := open(unix.SOCK_STREAM), open(unix.SOCK_DGRAM), open(unix.SOCK_STREAM)
	for _, fd := range [...]int{listener, udp} {
		if err == nil {
			err = unix.Bind(fd, local)
		}
	}
	if err == nil {
		err = unix.Listen(listener, 1)
	}
	if err != nil {
		return fds, err
	}
	at, err := unix.Getsockname(listener)
	if err == nil {
		err = unix.Connect(client, at)
	}
	if err != nil {
		return fds, err
	}
	server, _, err := unix.Accept4(listener, unix.SOCK_CLOEXEC)
	if err == nil {
		fds = append(fds, server)
	}
	return fds, err
}
