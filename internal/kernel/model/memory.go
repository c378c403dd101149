package model

import (
	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// fillMM gives a process its address space: arguments and environment in user memory, text, heap
// and stack.
func (m *Model) fillMM(b object.Builder) {
	heap, limit := m.UserHeap(), m.UserEnd()
	name := m.taskName(b.Object.Role())
	if t := b.Object.Parent(); t != nil && t.TypeName() == "task_struct" {
		if s, err := t.String("comm"); err == nil && s != "" {
			name = s
		}
	}
	args := "/usr/bin/" + name + "\x00--config\x00/etc/" + name + ".conf\x00"
	env := "HOME=/home/" + name + "\x00PATH=/usr/bin:/bin\x00"
	at := m.UserAboveStack(startRoom, []byte(args+env))
	b.Num("arg_start", at)
	b.Num("arg_end", at+uint64(len(args)))
	b.Num("env_start", at+uint64(len(args)))
	b.Num("env_end", at+uint64(len(args)+len(env)))
	code := heap - belowHeap - b.Hash("code")%0x1000<<12
	b.Num("start_code", code)
	b.Num("end_code", code+0x40000)
	b.Num("start_data", code+0x80000)
	b.Num("end_data", code+0x90000)
	b.Num("start_brk", heap)
	b.Num("brk", heap+0x21000)
	b.Num("start_stack", at-startRoom)
	b.Num("task_size", limit)
	b.Num("mmap_base", m.UserStack()-0x8000000)
	b.Num("def_flags", 0)
	b.Num("mm_users.counter", 2)
	b.Num("mm_count.counter", 1)
	b.Ptr("owner", b.Object.Parent())
	m.fillAreas(b)
}

// belowHeap is how far below the heap a program starts at the least: its text and data end before
// the heap begins (the heap follows data at a random distance, arch_randomize_brk).
const belowHeap = 0x100000

// startRoom is the distance from the start of a stack to the arguments: their number and pointers,
// and the auxiliary vector (create_elf_tables).
const startRoom = 0x200

// fillVMA gives a mapping of a file its range.
func (m *Model) fillVMA(b object.Builder) {
	start := uint64(0x7f00_0000_0000)
	if m.Mem().PointerSize() == 4 {
		start = 0x7600_0000
	}
	start += b.Hash("start") % 0x8000 << 12
	b.Num("vm_start", start)
	b.Num("vm_end", start+b.Within("pages", 1, 64)<<12)
	b.Num("vm_pgoff", b.Within("pgoff", 0, 16))
	b.Num("vm_flags", 0x75) // VM_READ, VM_EXEC, VM_MAYREAD, VM_MAYWRITE, VM_MAYEXEC
	if p := b.Object.Parent(); p != nil && p.TypeName() == "mm_struct" {
		b.Ptr("vm_mm", p)
	}
	b.Child("vm_file")
	b.Null("vm_next vm_prev vm_private_data anon_vma anon_name")
}
