package window

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/undo"
)

// The user address space extends from the second page to the start of the kernel's address space on
// the target.
const (
	userBase  = 0x1000
	userEnd64 = 0x0000_7fff_ffff_f000
	userEnd32 = 0xbf00_0000
	// Strings and data are placed in a heap of their own, arguments and environments above the
	// stacks.
	userStack64  = 0x0000_7ffd_8000_0000
	userStack32  = 0xbe80_0000
	userStackMax = 4 << 20
	userHeap64   = 0x0000_5591_2000_0000
	userHeap32   = 0x0140_0000
	userHeapMax  = 64 << 20
)

// User is the memory of the simulated processes, which share one address space. Create it with
// [NewUser].
type User struct {
	*object.Space `snapshot:"fixed"`
	win           *mem.Window `snapshot:"fixed"`
	base          uint64      `snapshot:"fixed"` // of the heap

	heap    uint64                   // next free address
	above   uint64                   // next free address above the stacks
	strings undo.Map[string, uint64] // default strings and arguments, by role
}

// NewUser adds user memory to a space.
func NewUser(s *object.Space) (*User, error) {
	end, heap := uint64(userEnd64), uint64(userHeap64)
	if s.Mem().PointerSize() == 4 {
		end, heap = userEnd32, userHeap32
	}
	w, err := s.Mem().AddWindow(mem.Window{Base: userBase, Size: end - userBase, Kind: mem.WindowUser, Name: "user"})
	if err != nil {
		return nil, err
	}
	u := &User{Space: s, win: w, heap: heap, base: heap}
	u.above = u.UserStack()
	return u, nil
}

// UserSnapshot is the state of user memory at one point in time, without its bytes.
type UserSnapshot struct {
	heap, above uint64
	strings     *undo.State[string, uint64]
}

// Snapshot records what is allocated.
func (u *User) Snapshot() *UserSnapshot {
	return &UserSnapshot{u.heap, u.above, u.strings.Snapshot()}
}

// Restore restores a snapshot.
func (u *User) Restore(s *UserSnapshot) {
	u.heap, u.above = s.heap, s.above
	u.strings.Restore(s.strings)
}

// IsUserAddress reports whether addr is in the user half of the address space, including the first
// page, as in the kernel.
func (u *User) IsUserAddress(addr uint64) bool {
	return u.Mem().Truncate(addr) < u.win.Base+u.win.Size
}

// UserAlloc places data in user memory and returns its address, aligned to 16, or 0 if user memory
// is exhausted.
func (u *User) UserAlloc(data []byte) uint64 {
	return u.place(&u.heap, u.base+userHeapMax, data)
}

// UserAboveStack is UserAlloc for the arguments and the environment of a process, which are above
// the start of its stack (create_elf_tables). room is how many bytes between them and the start of
// the stack stay free.
func (u *User) UserAboveStack(room uint64, data []byte) uint64 {
	end := u.UserStack() + userStackMax
	u.above = min(u.above+room, end)
	return u.place(&u.above, end, data)
}

// place puts data at the next free address of an area that ends at end, and moves that address on.
func (u *User) place(next *uint64, end uint64, data []byte) uint64 {
	size := (uint64(len(data)) + 31) &^ 15 // at least one byte of gap
	addr := *next
	if addr > end || size > end-addr {
		u.Fail(object.ErrNoMemory)
		return 0
	}
	if err := u.win.Map(addr, size); err != nil {
		u.Fail(err)
		return 0
	}
	if f := u.win.Poke(addr, data); f != nil {
		u.Fail(f)
		return 0
	}
	*next += size
	return addr
}

// UserString places a NUL-terminated string in user memory.
func (u *User) UserString(s string) uint64 { return u.UserAlloc(append([]byte(s), 0)) }

// UserWrite writes to user memory at the given address and maps its pages.
func (u *User) UserWrite(addr uint64, data []byte) error {
	if err := u.win.Map(addr, uint64(len(data))); err != nil {
		return err
	}
	if f := u.win.Poke(addr, data); f != nil {
		return f
	}
	return nil
}

// UserUnmap unmaps the pages that a range of user memory touches.
func (u *User) UserUnmap(addr, size uint64) { u.win.Unmap(addr, size) }

// UserRead copies user memory; the error means that part of it is not mapped.
func (u *User) UserRead(addr uint64, p []byte) error {
	if f := u.win.Peek(addr, p); f != nil {
		return f
	}
	return nil
}

// UserMapped reports whether user memory is mapped at addr.
func (u *User) UserMapped(addr uint64) bool { return u.win.Mapped(addr) }

// UserDataOnce places data in user memory once per key, and then returns the same address for that
// key.
func (u *User) UserDataOnce(key string, content func() []byte) uint64 {
	if a, ok := u.strings.Lookup(key); ok {
		return a
	}
	a := u.UserAlloc(content())
	u.strings.Set(key, a)
	return a
}

// UserHeap returns the start address of the processes' heap.
func (u *User) UserHeap() uint64 { return u.base }

// UserStack returns the address of the top of the first stack.
func (u *User) UserStack() uint64 {
	if u.Mem().PointerSize() == 4 {
		return userStack32
	}
	return userStack64
}

// UserEnd returns the first address after user memory.
func (u *User) UserEnd() uint64 { return u.win.Base + u.win.Size }

// Pointer creates the pointee of a pointer to user memory: a string for characters and void, else
// bytes of the type's size derived from the role.
func (u *User) Pointer(role string, spec *btf.Spec, to object.Pointee) uint64 {
	if to.IsText(spec) {
		return u.UserString(u.userText(role))
	}
	size := uint64(64)
	if n, err := spec.Sizeof(to.Type.ID); err == nil && n > 0 && n <= uapi.PageSize {
		size = uint64(n)
	}
	if to.Type.Name == "sockaddr" {
		return u.UserAlloc(u.SockaddrBytes(role))
	}
	data := make([]byte, size)
	for i := range data {
		if i%8 == 0 {
			endian.PutUint(u.Order(), data[i:min(i+8, len(data))], 1+u.Hash(role, "user", string(rune('a'+i/8)))%99991)
		}
	}
	return u.UserAlloc(data)
}

// userText returns the default string behind a user pointer: file names look like paths.
func (u *User) userText(role string) string {
	name := object.RoleName(role)
	switch name {
	case "filename", "pathname", "path", "oldname", "newname", "oldpath", "newpath", "uptr", "fname", "dir_name":
		return "/tmp/" + u.Word(role, name)
	}
	return u.Word(role, name)
}

// SockaddrBytes returns a struct sockaddr_in as user space passes it: family, port, address.
func (u *User) SockaddrBytes(role string) []byte {
	b := make([]byte, 16)
	u.Order().PutUint16(b, uapi.AFInet)
	port := u.Port(role)
	b[2], b[3] = byte(port>>8), byte(port)
	ip := u.IPv4(role)
	copy(b[4:], ip[:])
	return b
}

// UserOnce is Pointer for arguments: those with the same name and type share one address in user
// memory.
func (u *User) UserOnce(name string, spec *btf.Spec, to object.Pointee) uint64 {
	key := "arg:" + name + ":" + spec.TypeString(to.ID)
	if a, ok := u.strings.Lookup(key); ok {
		return a
	}
	a := u.Pointer(name, spec, to)
	u.strings.Set(key, a)
	return a
}

// UserStringOnce places the default user string of a role, once per kernel.
func (u *User) UserStringOnce(role string) uint64 {
	if a, ok := u.strings.Lookup(role); ok {
		return a
	}
	a := u.UserString(u.userText(role))
	u.strings.Set(role, a)
	return a
}
