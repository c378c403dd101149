//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"os"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func init() { tools["netns link"] = netnsLinkTool }

// netnsLinkTool attaches a program to its network namespace and looks for the namespace by what the
// link's information says.
func netnsLinkTool() error {
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SkLookup, AttachType: ebpf.AttachSkLookup, License: "GPL", Instructions: asm.Instructions{
		asm.Mov.Imm(asm.R0, 1), asm.Return(),
	}})
	if err != nil {
		return err
	}
	own, err := os.Open("/proc/self/ns/net")
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(own.Fd()), &st); err != nil {
		return err
	}
	l, err := link.AttachNetNs(int(own.Fd()), p)
	if err != nil {
		return err
	}
	info, err := l.Info()
	if err != nil {
		return err
	}
	fmt.Println(uint64(info.NetNs().NetnsInode) == st.Ino)
	return nil
}

func TestInformationOnLinksHasTheNamespacesInode(t *testing.T) {
	assert.Equal(t, "true\n", start(t, "netns link", "").out)
}
