package kernel

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/mem"
)

// Buffer is kernel memory of plain bytes that programs may read and change, such as what the
// argument of a writable tracepoint points to.
type Buffer struct {
	m *mem.Memory
	r *mem.Region
}

// NewBuffer allocates a buffer with the given contents. Free releases it.
func (k *Kernel) NewBuffer(name string, data []byte) (*Buffer, error) {
	r, err := k.Mem().Alloc(uint64(len(data)), mem.Region{Kind: mem.Scratch, Name: name})
	if err != nil {
		return nil, fmt.Errorf("kernel: %s of %d bytes: %w", name, len(data), err)
	}
	b := &Buffer{k.Mem(), r}
	copy(b.Bytes(), data)
	return b, nil
}

// Addr returns the buffer's address in simulated memory.
func (b *Buffer) Addr() uint64 { return b.r.Base }

// Bytes returns the current contents. They are valid until Free.
func (b *Buffer) Bytes() []byte { return b.m.ExtentBytes(b.r)[:b.r.Size] }

// Free releases the buffer.
func (b *Buffer) Free() { b.m.Free(b.r) }
