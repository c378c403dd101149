//go:build linux && (amd64 || arm64)

package exec

import (
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func init() { tools["closed socket"] = closedSocketTool }

// closedSocketTool has a socket in a map, of which it closes one descriptor after the other: its
// own, and that of a process that it started.
func closedSocketTool() error {
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.SockMap, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		return err
	}
	sock, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.Bind(sock, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := m.Put(uint32(0), uint64(sock)); err != nil {
		return err
	}
	child := osexec.Command("/bin/cat")
	child.ExtraFiles = []*os.File{os.NewFile(uintptr(sock), "socket")}
	in, err := child.StdinPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	look := func(when string) {
		var cookie uint64
		err := m.Lookup(uint32(0), &cookie)
		fmt.Println(when, cookie != 0, errors.Is(err, ebpf.ErrKeyNotExist))
	}
	look("open:")
	child.ExtraFiles[0].Close()
	look("in another process:")
	in.Close()
	_ = child.Wait()
	look("closed:")
	return nil
}

func TestClosedSocketsLeaveMaps(t *testing.T) {
	assert.Equal(t, "open: true false\nin another process: true false\nclosed: false true\n", start(t, "closed socket", "").out)
}
