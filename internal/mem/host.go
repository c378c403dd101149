package mem

import "fmt"

// DefaultHostLimit is the limit of a Host in bytes if none is set.
const DefaultHostLimit = 512 << 20

// Host accounts for host memory that guest programs cause to be used outside the arena: records and
// effects of a run, elements of queues, tables of large maps. The amounts include results and
// reports made of them. The zero value is ready to use.
type Host struct {
	// Limit is in bytes; 0 = DefaultHostLimit.
	Limit uint64

	used uint64
}

// HostLimitError reports that the limit of host memory is exceeded.
type HostLimitError struct {
	Limit uint64
}

// Error names the limit.
func (e *HostLimitError) Error() string {
	return fmt.Sprintf("the program's output (records, effects, trace lines, queues) needs more than %d MiB of memory", e.Limit>>20)
}

// HostCost returns the total cost in bytes of a record of n bytes: its entry in the result and in
// the report, and its bytes in raw form, as hex digits, and as numbers in a document, which is
// built in memory.
func HostCost(n int) uint64 { return 768 + 24*uint64(n) }

// Take reserves n bytes. The error is a [*HostLimitError]; nothing is reserved then.
func (h *Host) Take(n uint64) error {
	limit := h.limit()
	if n > limit || h.used > limit-n {
		return &HostLimitError{limit}
	}
	h.used += n
	return nil
}

func (h *Host) limit() uint64 {
	if h.Limit == 0 {
		return DefaultHostLimit
	}
	return h.Limit
}

// Left returns how many bytes can still be reserved.
func (h *Host) Left() uint64 { return h.limit() - min(h.used, h.limit()) }

// Give releases n bytes.
func (h *Host) Give(n uint64) { h.used -= min(h.used, n) }

// Used returns the number of reserved bytes.
func (h *Host) Used() uint64 { return h.used }

// Reset sets the number of reserved bytes to that of a snapshot.
func (h *Host) Reset(used uint64) { h.used = used }
