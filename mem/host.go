package mem

import "fmt"

// DefaultHostLimit is what a Host without a limit may hold, in bytes.
const DefaultHostLimit = 512 << 20

// Host accounts for memory of the host that guest programs make the simulation hold outside the arena: records and effects of a
// run, elements of queues, tables of large maps. What is booked is what it takes in the end, results and reports of it included.
// The zero value is ready to use.
type Host struct {
	// Limit is in bytes; 0 = DefaultHostLimit.
	Limit uint64

	used uint64
}

// HostLimitError refuses more memory of the host.
type HostLimitError struct {
	Limit uint64
}

// Error names the limit.
func (e *HostLimitError) Error() string {
	return fmt.Sprintf("the program's output (records, effects, trace lines, queues) needs more than %d MiB of memory", e.Limit>>20)
}

// HostCost returns what n bytes of a record take in the end: its place in the result and in the report, and its bytes as they are, as hex
// digits, and as numbers in a document, which is built in memory.
func HostCost(n int) uint64 { return 768 + 24*uint64(n) }

// Take books n bytes. The error is a [*HostLimitError]; nothing is booked then.
func (h *Host) Take(n uint64) error {
	limit := h.Limit
	if limit == 0 {
		limit = DefaultHostLimit
	}
	if n > limit || h.used > limit-n {
		return &HostLimitError{limit}
	}
	h.used += n
	return nil
}

// Give takes n bytes back.
func (h *Host) Give(n uint64) { h.used -= min(h.used, n) }

// Used returns how many bytes are booked.
func (h *Host) Used() uint64 { return h.used }

// Reset sets the bytes booked, as a snapshot recorded them.
func (h *Host) Reset(used uint64) { h.used = used }
