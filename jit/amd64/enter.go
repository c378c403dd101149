//go:build amd64

package amd64

// Enter calls generated code. text is the address of Code.Text[0]; the State is where the code was
// compiled to find it. Enter returns the address of the State of the code that exited: tail calls
// may have led to another program's.
func Enter(text, state uintptr) (left uintptr)
