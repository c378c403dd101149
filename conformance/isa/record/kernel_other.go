//go:build !linux

package record

import (
	"errors"

	"github.com/bpfrun/bpfrun/conformance/isa"
)

// ErrNoKernel means that recording is not possible because the system is not Linux.
var ErrNoKernel = errors.New("record: recording needs a running Linux kernel")

// Kernel runs vectors on the running kernel, which requires Linux.
type Kernel struct{}

// Open returns ErrNoKernel.
func Open() (*Kernel, error) { return nil, ErrNoKernel }

// Close does nothing.
func (*Kernel) Close() error { return nil }

// Name returns "none".
func (*Kernel) Name() string { return "none" }

// Load returns ErrNoKernel.
func (*Kernel) Load(*isa.Program) error { return ErrNoKernel }

// Run returns a fault.
func (*Kernel) Run(*isa.Value) isa.Outcome {
	return isa.Outcome{Fault: "test-run", Text: ErrNoKernel.Error()}
}

// Release returns "none".
func Release() string { return "none" }
