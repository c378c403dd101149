package record

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/conformance"
)

// Layout of records and buffers (kernel/bpf/ringbuf.c, include/uapi/linux/perf_event.h).
const (
	ringHeader  = 8
	ringBusy    = 1 << 31
	ringDiscard = 1 << 30

	perfSoftware     = 1 // PERF_TYPE_SOFTWARE
	perfBPFOutput    = 10
	perfSampleRaw    = 1 << 10
	perfRecordSample = 9
	perfDataHead     = 1024 // offsets in struct perf_event_mmap_page
	perfDataTail     = 1032
	perfPages        = 16
)

// word returns a pointer to a ring position in shared memory.
func word(page []byte, off int) *uint64 { return (*uint64)(unsafe.Pointer(&page[off])) }

// records consumes and returns the records in a ring buffer.
func (m *liveMap) records() []conformance.HexBytes {
	out := []conformance.HexBytes{}
	consumer, producer := m.memory[0], m.memory[1]
	data := producer[os.Getpagesize():]
	size := uint64(m.entries)
	pos, end := atomic.LoadUint64(word(consumer, 0)), atomic.LoadUint64(word(producer, 0))
	for pos < end && end-pos <= size {
		at := pos & (size - 1)
		head := binary.NativeEndian.Uint32(data[at:])
		if head&ringBusy != 0 {
			break
		}
		n := uint64(head &^ (ringBusy | ringDiscard))
		if n > size {
			break
		}
		if head&ringDiscard == 0 {
			out = append(out, append(conformance.HexBytes{}, data[at+ringHeader:][:n]...))
		}
		pos += (n + ringHeader + 7) &^ 7
	}
	atomic.StoreUint64(word(consumer, 0), pos)
	return out
}

// push adds a sample to a user ring buffer.
func (m *liveMap) push(sample []byte) error {
	producer := m.memory[0]
	data := producer[os.Getpagesize():]
	size := uint64(m.entries)
	pos := atomic.LoadUint64(word(producer, 0))
	need := (uint64(len(sample)) + ringHeader + 7) &^ 7
	if pos+need > size {
		return fmt.Errorf("map %s: no room for a sample of %d bytes", m.Name, len(sample))
	}
	at := pos & (size - 1)
	binary.NativeEndian.PutUint32(data[at:], uint32(len(sample)))
	copy(data[at+ringHeader:], sample)
	atomic.StoreUint64(word(producer, 0), pos+need)
	return nil
}

// perfBuffer receives what programs on one CPU write to a perf event array.
type perfBuffer struct {
	fd     int
	memory []byte
}

// openPerf opens a buffer for each CPU.
func (m *liveMap) openPerf() error {
	for cpu := range min(possibleCPUs(), int(m.entries)) {
		attr := unix.PerfEventAttr{Type: perfSoftware, Config: perfBPFOutput, Sample_type: perfSampleRaw, Wakeup: 1}
		attr.Size = uint32(unsafe.Sizeof(attr))
		fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			return fmt.Errorf("perf buffer of CPU %d: %w", cpu, err)
		}
		page := os.Getpagesize()
		memory, err := unix.Mmap(fd, 0, (1+perfPages)*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			unix.Close(fd)
			return fmt.Errorf("perf buffer of CPU %d: %w", cpu, err)
		}
		m.perf = append(m.perf, &perfBuffer{fd: fd, memory: memory})
		if err := updateMap(m.fd, slot(cpu), slot(fd)); err != nil {
			return fmt.Errorf("perf buffer of CPU %d: %w", cpu, err)
		}
	}
	return nil
}

func (p *perfBuffer) close() {
	unix.Munmap(p.memory)
	unix.Close(p.fd)
}

// samples consumes and returns the raw samples in a buffer.
func (p *perfBuffer) samples() []conformance.HexBytes {
	var out []conformance.HexBytes
	page := os.Getpagesize()
	data := p.memory[page:]
	size := uint64(len(data))
	at := func(pos, n uint64) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = data[(pos+uint64(i))%size]
		}
		return b
	}
	pos, end := atomic.LoadUint64(word(p.memory, perfDataTail)), atomic.LoadUint64(word(p.memory, perfDataHead))
	for pos < end {
		head := at(pos, 8) // u32 type, u16 misc, u16 size
		n := uint64(binary.NativeEndian.Uint16(head[6:]))
		if n < 8 || n > size {
			break
		}
		if binary.NativeEndian.Uint32(head) == perfRecordSample && n >= 12 {
			raw := at(pos+8, n-8)
			out = append(out, raw[4:][:min(uint64(binary.NativeEndian.Uint32(raw)), n-12)])
		}
		pos += n
	}
	atomic.StoreUint64(word(p.memory, perfDataTail), pos)
	return out
}
