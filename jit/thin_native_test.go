//go:build linux && (amd64 || arm64)

package jit

import "github.com/bpfrun/bpfrun/vm"

// isThin reports whether a program continues in thin code.
func (e *Engine) isThin(img *vm.Image) bool {
	c := e.codes[img]
	return c != nil && c.full != nil
}
