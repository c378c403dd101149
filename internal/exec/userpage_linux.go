//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"os"
	"strings"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// toolPage is a page of a tool's memory to which maps point. The open file stays that of the memory
// it was opened for: when the process executes another program or ends, it reads nothing.
type toolPage struct {
	pid  uint32
	mem  *os.File
	addr uint64
}

// Pin opens the memory of the caller's process.
func (c *call) Pin(addr uint64) (bpfsys.Page, bool) {
	if addr > 1<<62 {
		return nil, false
	}
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", c.n.PID), os.O_RDWR, 0)
	if err != nil {
		return nil, false
	}
	p := &toolPage{c.n.PID, f, addr}
	// The thread id may have been reused before the file was opened.
	if !c.s.valid(c.n.ID) || !p.Read(make([]byte, uapi.PageSize)) {
		f.Close()
		return nil, false
	}
	return p, true
}

func (p *toolPage) Read(b []byte) bool {
	n, err := p.mem.ReadAt(b, int64(p.addr))
	return n == len(b) && err == nil && p.isMapped()
}

func (p *toolPage) Write(off int, b []byte) bool {
	_, err := p.mem.WriteAt(b, int64(p.addr)+int64(off))
	return err == nil
}

func (p *toolPage) Close() { p.mem.Close() }

// isMapped reports whether the process may write to the page. A write through its file could change
// memory that the process may only read.
func (p *toolPage) isMapped() bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.pid))
	if err != nil {
		return false
	}
	for l := range strings.Lines(string(text)) {
		var lo, hi uint64
		var may string
		if _, err := fmt.Sscanf(l, "%x-%x %s", &lo, &hi, &may); err == nil && lo <= p.addr && p.addr < hi {
			return may[1] == 'w'
		}
	}
	return false
}
