//go:build !linux

package record

import (
	"context"

	"github.com/bpfrun/bpfrun/conformance/verdicts"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// Verdicts returns ErrNoKernel.
func Verdicts(context.Context, *loader.Object, *loader.Target, VerdictConfig, func(*verdicts.Line) error) error {
	return ErrNoKernel
}

// GeneratedVerdicts returns ErrNoKernel.
func GeneratedVerdicts(context.Context, *verdicts.Line, VerdictConfig) error { return ErrNoKernel }

// ReadKallsyms returns nil.
func ReadKallsyms() map[string]uint64 { return nil }

// BTFVerdict returns ErrNoKernel.
func BTFVerdict([]byte) (uapi.Errno, error) { return 0, ErrNoKernel }
