package record

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// pipe reads a file of tracefs without blocking, so that it can be closed while a reader waits:
// tracefs cannot be polled by the Go runtime everywhere.
type pipe struct {
	mu sync.Mutex
	fd int // -1 once closed
}

func openPipe(path string) (io.ReadCloser, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return &pipe{fd: fd}, nil
}

// idle is how long a reader of an empty pipe waits before it looks again.
const idle = 20 * time.Millisecond

func (p *pipe) Read(b []byte) (int, error) {
	for {
		n, err := p.try(b)
		switch {
		case n > 0:
			return n, nil
		case err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR):
			return 0, err
		}
		time.Sleep(idle)
	}
}

func (p *pipe) try(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fd < 0 {
		return 0, io.EOF
	}
	return unix.Read(p.fd, b)
}

func (p *pipe) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fd >= 0 {
		unix.Close(p.fd)
		p.fd = -1
	}
	return nil
}
