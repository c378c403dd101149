package model

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// stackEndMagic is the word at the end of every kernel stack (STACK_END_MAGIC of
// include/uapi/linux/magic.h).
const stackEndMagic = 0x57AC6E9D

// stackShape is the layout of a task's kernel stack on an architecture (THREAD_SIZE of
// asm/thread_info.h and asm/page_64_types.h, task_pt_regs of asm/processor.h).
type stackShape struct {
	size  uint64 // THREAD_SIZE without KASAN, which doubles it
	top   uint64 // bytes between the registers of user mode and the end
	align uint64 // of the registers
}

var stackShapes = map[string]stackShape{
	"x86": {size: 16 << 10, align: 1}, "arm64": {size: 16 << 10, align: 1}, "riscv": {size: 16 << 10, align: 16},
	"arm": {size: 8 << 10, top: 8, align: 1}, "s390": {size: 16 << 10, align: 1},
}

// fredFrame is a struct that is used only in kernels built with CONFIG_X86_FRED, which keep 16
// bytes free above the registers (TOP_OF_KERNEL_STACK_PADDING).
const fredFrame = "fred_frame"

func (m *Model) stackShape() stackShape {
	s, ok := stackShapes[m.Arch()]
	if !ok {
		s = stackShapes["x86"]
	}
	if m.Arch() == "x86" && m.LayoutNamed(fredFrame) != nil {
		s.top = 16
	}
	return s
}

// fillStack sets up a task's kernel stack: the user mode registers at one end; at the other end
// thread_info, where it is not part of task_struct, and the magic word.
func (m *Model) fillStack(b object.Builder) {
	f, ok := b.Field("stack")
	if !ok || b.Taken(f) {
		return
	}
	role, shape := b.Role("stack"), m.stackShape()
	o, err := m.MakeBytes(role, shape.size, b.Object)
	if err != nil {
		m.Fail(err)
		return
	}
	end := uint64(0)
	if _, inTask := b.Field("thread_info"); !inTask {
		if l := m.LayoutNamed("thread_info"); l != nil && l.Size < shape.size/2 {
			if info, err := o.Embed(role+".thread_info", l, 0, 0); err == nil {
				info.MarkBuiltin()
				t := object.Fill(info)
				t.Ptr("task", b.Object)
				t.Num("cpu", uint64(m.cpu))
				t.Num("flags", 0)
				t.Num("preempt_count", 0)
				end = l.Size
			}
		}
	}
	word := uint64(m.Mem().PointerSize())
	if mark, err := o.Embed(role+" end", nil, (end+word-1)&^(word-1), word); err == nil {
		bytes := make([]byte, word)
		endian.PutUint(m.Order(), bytes, stackEndMagic)
		mark.Poke(0, bytes, object.Made)
	}
	if l := m.LayoutNamed("pt_regs"); l != nil && l.Size+shape.top < shape.size/2 {
		size := (l.Size + shape.align - 1) &^ (shape.align - 1)
		regs, err := o.Embed(b.Role("pt_regs"), l, shape.size-shape.top-size, 0)
		if err != nil {
			m.Fail(err)
			return
		}
		regs.MarkBuiltin()
		m.Keep(userRegsKey(b.Object), regs)
	}
	b.Num("stack", o.Addr())
}

func userRegsKey(task *object.Object) string {
	return fmt.Sprintf("user registers of %#x", task.Base())
}

// HasStack reports whether a task has a stack, because something has read from the task or set it.
func (m *Model) HasStack(task *object.Object) bool {
	if task == nil {
		return false
	}
	f, ok := object.Fill(task).Field("stack")
	return !ok || task.Stored(f) != 0
}

// UserRegs returns the user mode registers at the end of a task's kernel stack, or nil if the
// target's types lack stack or registers, or if the stack was set by the user.
func (m *Model) UserRegs(task *object.Object) *object.Object {
	if task == nil {
		return nil
	}
	task.Populate()
	o := m.Kept(userRegsKey(task))
	if o == nil || o.Parent() == nil || task.Num("stack") != o.Parent().Addr() {
		return nil
	}
	return o
}
