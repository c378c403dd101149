//go:build !(linux && (amd64 || arm64))

package jit

import (
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// Engine is not available on this system; New returns an error.
type Engine struct{}

// Supported reports whether this system has native code.
func Supported() bool { return false }

// New returns ErrUnsupported.
func New(*mem.Memory) (*Engine, error) { return nil, ErrUnsupported }

// Name returns "jit".
func (*Engine) Name() string { return "jit" }

// Executed returns 0.
func (*Engine) Executed() uint64 { return 0 }

// Cover does nothing.
func (*Engine) Cover(*vm.Patches) {}

// Check does nothing.
func (*Engine) Check(func(string)) {}

// SetEager does nothing.
func (*Engine) SetEager(int) {}

// Close does nothing.
func (*Engine) Close() {}

// Run leaves everything to the interpreter.
func (*Engine) Run(*vm.Thread, uint64) bool { return false }
