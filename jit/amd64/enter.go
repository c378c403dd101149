//go:build amd64

package amd64

// Enter calls generated code. text is the address of Code.Text[0]; the State is where the code was compiled to find it.
func Enter(text, state uintptr)
