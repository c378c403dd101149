//go:build !linux || !(amd64 || arm64)

package jit

import "github.com/bpfrun/bpfrun/vm"

func (*Engine) isThin(*vm.Image) bool { return false }
