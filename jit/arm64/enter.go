//go:build arm64

package arm64

// Enter calls generated code. text is the address of Code.Text[0], state that of its plan.State.
// Enter returns the address of the State of the code that exited: tail calls may have led to
// another program's.
func Enter(text, state uintptr) (left uintptr)

// Sync makes code that was written to memory visible to instruction fetches: the data and
// instruction caches of AArch64 are not coherent. start and end are the addresses of the code's
// first byte and of the byte after its last.
func Sync(start, end uintptr)
