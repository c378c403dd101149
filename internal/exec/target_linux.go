//go:build linux && (amd64 || arm64)

package exec

import (
	"encoding/binary"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
)

// TargetError means that tools of this host cannot use the kernel: the attributes of bpf(2), BTF
// and instructions that a tool's loader writes have the host's byte order and word size, and a
// kernel reads them in its own.
type TargetError struct {
	Kernel string // the target's name
	What   string // what differs from the host
}

func (e *TargetError) Error() string {
	return fmt.Sprintf("bpfrun exec cannot simulate %s, a %s kernel: tools of this host are 64-bit little-endian programs, and so must the kernel be. "+
		"Choose the types of such a kernel (amd64, arm64), or run the BPF object itself with bpfrun run or bpfrun test", e.Kernel, e.What)
}

// checkTarget refuses kernels of the other byte order or word size.
func checkTarget(c *bpfsys.Config) error {
	t := c.Target
	switch {
	case t == nil || t.BTF == nil:
	case t.BTF.ByteOrder() != binary.ByteOrder(binary.LittleEndian):
		return &TargetError{t.Name, "big-endian"}
	case t.BTF.PointerSize() != 8:
		return &TargetError{t.Name, "32-bit"}
	}
	return nil
}
