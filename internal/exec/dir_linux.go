//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"hash/fnv"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
)

// getdents lists a simulated directory. The position in it is that of the memfd's open file, which
// the tool's lseek(2) changes and copies of the descriptor share; an entry's position is its place
// in the list.
func (c *call) getdents() {
	s := c.s
	f := s.fileAt(c.n, c.fd(0))
	if f == nil || !f.dir {
		s.host(c.n)
		return
	}
	g, err := s.grab(c.n, c.fd(0))
	if err != nil {
		s.reply(c.n, 0, unix.EBADF)
		return
	}
	defer unix.Close(g)
	at, err := unix.Seek(g, 0, unix.SEEK_CUR)
	if err != nil {
		s.reply(c.n, 0, unix.EIO)
		return
	}
	names := append([]string{".", ".."}, c.names(f.path)...)
	i := int(min(max(at, 0), int64(len(names))))
	if at > 2 && at == f.listed { // entries before may have been removed since
		i = 2
		for i < len(names) && names[i] <= f.last {
			i++
		}
	}
	out, more := c.entries(f, names[i:], at)
	if len(out) == 0 && i < len(names) {
		s.reply(c.n, 0, unix.EINVAL) // the buffer is too small for one entry
		return
	}
	if !c.Write(c.arg(1), out) {
		s.reply(c.n, 0, unix.EFAULT)
		return
	}
	if more > 0 {
		f.listed, f.last = at+int64(more), names[i+more-1]
		_, _ = unix.Seek(g, f.listed, unix.SEEK_SET)
	}
	s.reply(c.n, int64(len(out)), 0)
}

// entries makes as many struct linux_dirent64 of names as the caller's buffer takes; at is the
// position of the first.
func (c *call) entries(f *file, names []string, at int64) (out []byte, n int) {
	for _, name := range names {
		size := (19 + len(name) + 1 + 7) &^ 7
		if uint64(len(out)+size) > c.arg(2) {
			break
		}
		typ := byte(unix.DT_REG)
		if slices.Contains([]string{".", ".."}, name) || c.isDir(f.path+"/"+name) {
			typ = unix.DT_DIR
		} else if c.s.bpffsLink(f.path+"/"+name) != "" {
			typ = unix.DT_LNK
		}
		b := make([]byte, size)
		h := fnv.New64a()
		fmt.Fprint(h, f.path, "/", name)
		n++
		le.PutUint64(b, h.Sum64()>>16)
		le.PutUint64(b[8:], uint64(at)+uint64(n))
		le.PutUint16(b[16:], uint16(size))
		b[18] = typ
		copy(b[19:], name)
		out = append(out, b...)
	}
	return out, n
}

// isDir reports whether a simulated path is a directory.
func (c *call) isDir(p string) bool {
	s := c.s
	if bpfsys.InBPFFS(p) {
		e, ok := s.sys.Stat(p)
		return ok && e.Dir
	}
	if kind, _ := c.lookShared(p); kind != hostPath {
		return kind == directory
	}
	return s.cgroups[p] != 0 || s.sys.IsDir(p)
}
