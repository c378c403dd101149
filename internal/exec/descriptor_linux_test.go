//go:build linux && (amd64 || arm64)

package exec

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func init() {
	tools["owners"] = ownerTool
	tools["listing"] = listingTool
}

// ownerTool stores values for its own process, a file, a socket and in socket maps, named by its
// descriptors.
func ownerTool() error {
	pid, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return err
	}
	sock, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP)
	if err != nil {
		return err
	}
	if err := errors.Join(unix.Bind(sock, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(sock, 1)); err != nil {
		return err
	}
	closed, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	null, err := os.Open("/dev/null")
	if err != nil {
		return err
	}
	for _, x := range []struct {
		typ     ebpf.MapType
		fd, not int
	}{{ebpf.TaskStorage, pid, sock}, {ebpf.SkStorage, sock, pid}, {ebpf.InodeStorage, int(null.Fd()), -1}} {
		m, err := ebpf.NewMap(&ebpf.MapSpec{Type: x.typ, KeySize: 4, ValueSize: 8, Flags: unix.BPF_F_NO_PREALLOC,
			Key: &btf.Int{Name: "int", Size: 4}, Value: &btf.Int{Name: "long", Size: 8}}) // the kernel makes none without types
		if err != nil {
			return err
		}
		var v uint64
		fmt.Printf("%s: %s", x.typ, outcomeOf(m.Lookup(uint32(x.fd), &v)))
		fmt.Printf(" %s", outcomeOf(m.Put(uint32(x.fd), uint64(42))))
		fmt.Printf(" %s %d", outcomeOf(m.Lookup(uint32(x.fd), &v)), v)
		fmt.Printf(" %s", outcomeOf(m.Delete(uint32(x.fd))))
		fmt.Printf(" %s\n", outcomeOf(m.Put(uint32(x.not), uint64(1))))
	}
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.SockHash, KeySize: 4, ValueSize: 8, MaxEntries: 4})
	if err != nil {
		return err
	}
	cookie, err := unix.GetsockoptUint64(sock, unix.SOL_SOCKET, unix.SO_COOKIE)
	if err != nil {
		return err
	}
	var v uint64
	fmt.Printf("sockhash: %s", outcomeOf(m.Put(uint32(1), uint64(sock))))
	fmt.Printf(" %s, cookie %t", outcomeOf(m.Lookup(uint32(1), &v)), v == cookie)
	fmt.Printf(", closed %s, pidfd %s\n", outcomeOf(m.Put(uint32(2), uint64(closed))), outcomeOf(m.Put(uint32(2), uint64(pid))))
	return nil
}

func TestOwnersByDescriptor(t *testing.T) {
	r := start(t, "owners", "")
	assert.Equal(t, strings.Join([]string{
		"TaskStorage: ENOENT ok ok 42 ok EBADF", "SkStorage: ENOENT ok ok 42 ok ENOTSOCK", "InodeStorage: ENOENT ok ok 42 ok EBADF",
		"sockhash: ok ok, cookie true, closed ENOTSUP, pidfd ENOTSOCK", "",
	}, "\n"), r.out)
	assert.Empty(t, r.notes)
	assert.Zero(t, r.code)
}

// listingTool lists a bpffs directory with buffers of several sizes, from a position that it seeks
// to, and while it removes entries.
func listingTool() error {
	const root = "/sys/fs/bpf"
	for i := range 20 {
		if err := os.Mkdir(fmt.Sprintf("%s/directory-%02d", root, i), 0o755); err != nil {
			return err
		}
	}
	fd, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	list := func(size int) ([]string, error) {
		var names []string
		buf := make([]byte, size)
		for {
			n, err := unix.Getdents(fd, buf)
			if n <= 0 || err != nil {
				return names, err
			}
			_, _, names = unix.ParseDirent(buf[:n], -1, names)
		}
	}
	for _, size := range []int{16, 32, 40, 100, 4096} {
		if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
			return err
		}
		names, err := list(size)
		fmt.Println(size, len(names), outcomeOf(err))
	}
	names, err := list(4096)
	fmt.Println("at the end", len(names), outcomeOf(err))
	if _, err := unix.Seek(fd, 12, unix.SEEK_SET); err != nil {
		return err
	}
	names, err = list(4096)
	fmt.Println("from 12", len(names), names[0], outcomeOf(err))
	if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
		return err
	}
	removed, buf := 0, make([]byte, 100)
	for {
		n, err := unix.Getdents(fd, buf)
		if n <= 0 || err != nil {
			break
		}
		_, _, names := unix.ParseDirent(buf[:n], -1, nil)
		for _, name := range names {
			if err := os.Remove(root + "/" + name); err != nil {
				return err
			}
			removed++
		}
	}
	fmt.Println("removed", removed)
	return nil
}

func TestDirectoriesAreListedInPieces(t *testing.T) {
	r := start(t, "listing", "")
	assert.Equal(t, "16 0 EINVAL\n32 20 ok\n40 20 ok\n100 20 ok\n4096 20 ok\nat the end 0 ok\nfrom 12 10 directory-10 ok\nremoved 20\n", r.out)
	assert.Zero(t, r.code)
}
