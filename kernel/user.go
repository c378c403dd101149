package kernel

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/mem"
)

// User address space: from the second page up to where the kernel begins on the target.
const (
	userBase  = 0x1000
	userEnd64 = 0x0000_7fff_ffff_f000
	userEnd32 = 0xbf00_0000
	// Strings and data are placed from the top down in a first stack and in a heap of their own.
	userStack64 = 0x0000_7ffd_8000_0000
	userStack32 = 0xbe80_0000
	userStackSz = 1 << 20
	userHeap64  = 0x0000_5591_2000_0000
	userHeap32  = 0x0140_0000
	userHeapMax = 64 << 20
)

// userMemory is the memory of the simulated processes; all share one address space.
type userMemory struct {
	win  *mem.Window
	heap uint64 // next free address
	base uint64
}

func (k *Kernel) addUserMemory() error {
	end, heap := uint64(userEnd64), uint64(userHeap64)
	if k.mem.PointerSize() == 4 {
		end, heap = userEnd32, userHeap32
	}
	w, err := k.mem.AddWindow(mem.Window{Base: userBase, Size: end - userBase, Kind: mem.WindowUser, Name: "user"})
	if err != nil {
		return err
	}
	k.user = userMemory{win: w, heap: heap, base: heap}
	return nil
}

// IsUserAddress reports whether addr lies in the user half of the address space; the first page does, as the kernel sees it.
func (k *Kernel) IsUserAddress(addr uint64) bool {
	return k.mem.Truncate(addr) < k.user.win.Base+k.user.win.Size
}

// UserAlloc places data in user memory and returns its address, aligned to 16; 0 when user memory is exhausted.
func (k *Kernel) UserAlloc(data []byte) uint64 {
	size := (uint64(len(data)) + 31) &^ 15 // at least one byte of gap
	if size > userHeapMax || k.user.heap-k.user.base > userHeapMax {
		k.fail(ErrNoMemory)
		return 0
	}
	addr := k.user.heap
	if err := k.user.win.Map(addr, size); err != nil {
		k.fail(err)
		return 0
	}
	if f := k.user.win.Poke(addr, data); f != nil {
		k.fail(f)
		return 0
	}
	k.user.heap += size
	return addr
}

// UserString places a NUL-terminated string in user memory.
func (k *Kernel) UserString(s string) uint64 { return k.UserAlloc(append([]byte(s), 0)) }

// UserWrite writes to user memory at a chosen address and maps its pages.
func (k *Kernel) UserWrite(addr uint64, data []byte) error {
	if err := k.user.win.Map(addr, uint64(len(data))); err != nil {
		return err
	}
	if f := k.user.win.Poke(addr, data); f != nil {
		return f
	}
	return nil
}

// UserRead copies user memory; an error when something of it is not mapped.
func (k *Kernel) UserRead(addr uint64, p []byte) error {
	if f := k.user.win.Peek(addr, p); f != nil {
		return f
	}
	return nil
}

// userPointee makes what a pointer to user memory points to: a string for characters and void, else
// bytes of the type's size derived from the role.
func (k *Kernel) userPointee(role string, spec *btf.Spec, to pointee) uint64 {
	if to.typ == nil || isChar(spec, to.typ.ID) {
		return k.UserString(k.userText(role))
	}
	size := uint64(64)
	if n, err := spec.Sizeof(to.typ.ID); err == nil && n > 0 && n <= pageSize {
		size = uint64(n)
	}
	if to.typ.Name == "sockaddr" {
		return k.UserAlloc(k.sockaddrBytes(role))
	}
	data := make([]byte, size)
	for i := range data {
		if i%8 == 0 {
			putUint(k.order(), data[i:min(i+8, len(data))], 1+k.hash(role, "user", string(rune('a'+i/8)))%99991)
		}
	}
	return k.UserAlloc(data)
}

// userText is the default string behind a user pointer: file names look like paths.
func (k *Kernel) userText(role string) string {
	name := roleName(role)
	switch name {
	case "filename", "pathname", "path", "oldname", "newname", "oldpath", "newpath", "uptr", "fname", "dir_name":
		return "/tmp/" + k.word(role, name)
	}
	return k.word(role, name)
}

// sockaddrBytes is a struct sockaddr_in as user space passes it: family, port, address.
func (k *Kernel) sockaddrBytes(role string) []byte {
	b := make([]byte, 16)
	k.order().PutUint16(b, afInet)
	port := k.port(role)
	b[2], b[3] = byte(port>>8), byte(port)
	ip := k.ipv4(role)
	copy(b[4:], ip[:])
	return b
}

// port derives a TCP port above the privileged ones.
func (k *Kernel) port(role string) uint16 { return uint16(1024 + k.hash(role, "port")%30000) }

// ipv4 derives an address in 10.0.0.0/8, bytes in network order.
func (k *Kernel) ipv4(role string) [4]byte {
	h := k.hash(role, "ipv4")
	return [4]byte{10, byte(h >> 16), byte(h >> 8), byte(h%253) + 1}
}
