package jit

import (
	"errors"

	"github.com/bpfrun/bpfrun/vm"
)

// ErrUnsupported is why there is no native code: the system or the processor is not one it is made for, or the memory is not.
var ErrUnsupported = errors.New("jit: no native code here")

var _ vm.Engine = (*Engine)(nil)
