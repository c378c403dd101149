//go:build apart

package embedded

var compressed []byte

// Give gives the file with the kernel's BTF, before anything asks for it.
func Give(file []byte) { compressed = file }
