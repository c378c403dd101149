//go:build arm64

package arm64

// Enter calls generated code. text is the address of Code.Text[0], state that of its plan.State.
func Enter(text, state uintptr)

// Sync makes code that was written to memory visible to instruction fetches: the caches of AArch64 for data and for instructions
// are not coherent. start is where the code begins, end after it.
func Sync(start, end uintptr)
