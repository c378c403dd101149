//go:build !linux

package record

import (
	"context"
	"errors"

	"github.com/bpfrun/bpfrun/conformance"
	"github.com/bpfrun/bpfrun/loader"
)

// ErrNoKernel means that recording is not possible because the system is not Linux.
var ErrNoKernel = errors.New("record: recording needs a running Linux kernel")

// Cases returns ErrNoKernel.
func Cases(context.Context, *loader.Object, *loader.Target, *conformance.CaseFile) error {
	return ErrNoKernel
}

// Release returns "none".
func Release() string { return "none" }
