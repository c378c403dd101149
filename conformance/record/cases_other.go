//go:build !linux

package record

import (
	"context"
	"errors"

	"github.com/bpfrun/bpfrun/conformance"
	"github.com/bpfrun/bpfrun/loader"
)

// ErrNoKernel: cases can only be recorded on Linux.
var ErrNoKernel = errors.New("record: recording needs a running Linux kernel")

// Cases returns ErrNoKernel.
func Cases(context.Context, *loader.Object, *loader.Target, *conformance.CaseFile) error {
	return ErrNoKernel
}

// Release is "none".
func Release() string { return "none" }
