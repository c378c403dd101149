package machine

import (
	"context"
	"time"
)

// Settle lets simulated time pass between runs, and returns what reached user space meanwhile. The error is that of ctx.
func (m *Machine) Settle(ctx context.Context, d time.Duration) (*Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.kernel.Clock().Advance(uint64(max(d, 0)))
	return &Result{Status: StatusOK, Events: m.takeEvents()}, nil
}
