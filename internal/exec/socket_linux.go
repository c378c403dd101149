//go:build linux && (amd64 || arm64)

package exec

import (
	"bufio"
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/visible"
)

// listen serves bpfrun fire on a Unix socket: it reads a line of an events file and answers "N
// programs ran" or an error. Only the same user can connect.
func (s *supervisor) listen(path string) (stop func(), err error) {
	old := unix.Umask(0o077)
	l, err := net.Listen("unix", path)
	unix.Umask(old)
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.session(conn)
		}
	}()
	return func() { l.Close(); os.Remove(path) }, nil
}

func (s *supervisor) session(conn net.Conn) {
	defer conn.Close()
	sc := bufio.NewScanner(conn)
	sc.Buffer(nil, 1<<16)
	for sc.Scan() {
		l, err := ParseLine(sc.Text())
		n := 0
		if err == nil {
			s.mu.Lock()
			if s.listener < 0 {
				err = errors.New("the program has ended")
			} else {
				n, err = s.hit(l)
			}
			s.mu.Unlock()
		}
		if err != nil {
			visible.Fprintf(conn, "error: %v\n", err)
			continue
		}
		programs := "programs"
		if n == 1 {
			programs = "program"
		}
		visible.Fprintf(conn, "%d %s ran\n", n, programs)
	}
}
