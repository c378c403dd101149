//go:build linux && (amd64 || arm64)

package exec

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

func (c *call) uname() {
	s := c.s
	if s.cfg.Release == "" {
		s.host(c.n)
		return
	}
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		s.host(c.n)
		return
	}
	clear(u.Release[:])
	copy(u.Release[:len(u.Release)-1], s.cfg.Release)
	if s.cfg.Version != "" {
		clear(u.Version[:])
		copy(u.Version[:len(u.Version)-1], s.cfg.Version)
	}
	out := bytes.Join([][]byte{u.Sysname[:], u.Nodename[:], u.Release[:], u.Version[:], u.Machine[:], u.Domainname[:]}, nil)
	if !c.Write(c.arg(0), out) {
		s.reply(c.n, 0, unix.EFAULT)
		return
	}
	s.logf("[%d] uname %s", c.n.PID, s.cfg.Release)
	s.reply(c.n, 0, 0)
}

// versionNote is the header of the note in a vDSO that holds the kernel's version: sizes, type 0,
// name.
var versionNote = []byte("\x06\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00Linux\x00\x00\x00")

// version patches the kernel's version in the caller's vDSO, which some loaders trust more than
// uname. Each exec maps a new vDSO, so it is checked in calls that loaders make early.
func (s *supervisor) version(c *call) {
	want := s.cfg.System.Target.Version
	if want == 0 || s.cfg.Release == "" {
		return
	}
	p := s.processOf(c.n.PID)
	b := make([]byte, 4)
	if p.vdso != 0 && c.Read(p.vdso, b) && le.Uint32(b) == want {
		return
	}
	p.vdso = 0
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", c.n.PID))
	if err != nil {
		return
	}
	for l := range strings.Lines(string(text)) {
		if !strings.HasSuffix(strings.TrimSpace(l), "[vdso]") {
			continue
		}
		var lo, hi uint64
		if _, err := fmt.Sscanf(l, "%x-%x", &lo, &hi); err != nil || hi <= lo || hi-lo > 1<<20 {
			return
		}
		image := make([]byte, hi-lo)
		if !c.Read(lo, image) {
			return
		}
		i := bytes.Index(image, versionNote)
		if i < 0 || i+len(versionNote)+4 > len(image) {
			return
		}
		at := lo + uint64(i+len(versionNote))
		f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", c.n.PID), os.O_RDWR, 0)
		if err != nil {
			return
		}
		defer f.Close()
		// The open file is this process's memory only while the call is pending.
		if !s.valid(c.n.ID) {
			return
		}
		if _, err := f.WriteAt(le.AppendUint32(nil, want), int64(at)); err == nil {
			p.vdso = at
		}
		return
	}
}
