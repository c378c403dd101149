//go:build linux && (amd64 || arm64)

package exec

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func init() { tools["arena"] = arenaTool }

// loadAdder loads a program that casts an address of an arena as user space knows it, and adds 100
// to the number there, which it also stores in the next page. Instructions are encoded here because
// package asm has no addr_space_cast.
func loadAdder(m *ebpf.Map, at uint64) (*ebpf.Program, error) {
	var code []byte
	insn := func(op, regs byte, off int16, imm uint32) {
		code = append(code, op, regs)
		code = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint16(code, uint16(off)), imm)
	}
	insn(0x18, 0x11, 0, uint32(m.FD())) // r1 = the arena
	insn(0, 0, 0, 0)
	insn(0x18, 0x02, 0, uint32(at)) // r2 = at
	insn(0, 0, 0, uint32(at>>32))
	insn(0xbf, 0x22, 1, 1) // r2 = addr_space_cast(r2, 0, 1)
	insn(0x79, 0x23, 0, 0) // r3 = *r2
	insn(0x07, 0x03, 0, 100)
	insn(0x7b, 0x32, 0, 0)
	insn(0x7b, 0x32, 4096, 0)
	insn(0xb7, 0, 0, 0)
	insn(0x95, 0, 0, 0)
	license := []byte("GPL\x00")
	attr := make([]byte, 144)
	binary.LittleEndian.PutUint32(attr, 31) // BPF_PROG_TYPE_SYSCALL
	binary.LittleEndian.PutUint32(attr[4:], uint32(len(code)/8))
	binary.LittleEndian.PutUint64(attr[8:], uint64(uintptr(unsafe.Pointer(&code[0]))))
	binary.LittleEndian.PutUint64(attr[16:], uint64(uintptr(unsafe.Pointer(&license[0]))))
	binary.LittleEndian.PutUint32(attr[44:], unix.BPF_F_SLEEPABLE)
	var pin runtime.Pinner
	pin.Pin(&code[0])
	pin.Pin(&license[0])
	defer pin.Unpin()
	fd, _, e := unix.Syscall(unix.SYS_BPF, unix.BPF_PROG_LOAD, uintptr(unsafe.Pointer(&attr[0])), uintptr(len(attr)))
	if e != 0 {
		return nil, fmt.Errorf("load: %w", e)
	}
	return ebpf.NewProgramFromFD(int(fd))
}

// arenaTool maps an arena, without and with a fixed address, stores a number that a program adds
// to, and reads the result where it stored.
func arenaTool() error {
	for _, extra := range []uint64{0, 0x7a1234560000} {
		m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Arena, MaxEntries: 3, Flags: unix.BPF_F_MMAPABLE, MapExtra: extra})
		if err != nil {
			return err
		}
		flags := uintptr(unix.MAP_SHARED)
		if extra != 0 {
			flags |= unix.MAP_FIXED
			_, _, e := unix.Syscall6(unix.SYS_MMAP, uintptr(extra), 2*4096, unix.PROT_READ|unix.PROT_WRITE, flags, uintptr(m.FD()), 0)
			fmt.Println("another size:", unix.ErrnoName(e))
			_, _, e = unix.Syscall6(unix.SYS_MMAP, uintptr(extra)+1<<20, 3*4096, unix.PROT_READ|unix.PROT_WRITE, flags, uintptr(m.FD()), 0)
			fmt.Println("another address:", unix.ErrnoName(e))
		}
		at, _, e := unix.Syscall6(unix.SYS_MMAP, uintptr(extra), 3*4096, unix.PROT_READ|unix.PROT_WRITE, flags, uintptr(m.FD()), 0)
		if e != 0 {
			return e
		}
		memory := unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), 3*4096)
		word := func(off int) uint64 { return binary.LittleEndian.Uint64(memory[off:]) }
		prog, err := loadAdder(m, uint64(at)+4096+8)
		if err != nil {
			return err
		}
		for i := range uint64(2) {
			binary.LittleEndian.PutUint64(memory[4096+8:], 7+i)
			binary.LittleEndian.PutUint64(memory[4096+16:], 55)
			if _, err := prog.Run(&ebpf.RunOptions{}); err != nil {
				return err
			}
			fmt.Println(word(4096+8), word(4096+16), word(8192+8))
		}
	}
	return nil
}

// TestArenasAreMapped also shows that a program cannot store to a page before user space has
// touched it.
func TestArenasAreMapped(t *testing.T) {
	r := start(t, "arena", "")
	assert.Equal(t, "107 55 0\n108 55 108\nanother size: EINVAL\nanother address: EINVAL\n107 55 0\n108 55 108\n", r.out, r.notes)
	assert.Zero(t, r.code)
}
