//go:build !linux

package record

import (
	"errors"

	"github.com/bpfrun/bpfrun/conformance/isa"
)

// ErrNoKernel is what Open returns on systems other than Linux.
var ErrNoKernel = errors.New("record: recording needs a running Linux kernel")

// Kernel is the running kernel as a runner of vectors; there is none here.
type Kernel struct{}

// Open returns ErrNoKernel.
func Open() (*Kernel, error) { return nil, ErrNoKernel }

// Close does nothing.
func (*Kernel) Close() error { return nil }

// Name is "none".
func (*Kernel) Name() string { return "none" }

// Load returns ErrNoKernel.
func (*Kernel) Load(*isa.Program) error { return ErrNoKernel }

// Run faults.
func (*Kernel) Run(*isa.Value) isa.Outcome {
	return isa.Outcome{Fault: "test-run", Text: ErrNoKernel.Error()}
}

// Release is "none".
func Release() string { return "none" }
