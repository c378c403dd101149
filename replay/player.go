// Package replay runs a program on every packet of a capture. It knows how captures and runs go together: simulated time passes between
// two packets as it did when they were captured, and callbacks that fall due then are runs of their own. What is made of the results is
// up to the caller: package replay/capture makes counts, changes and a file of them.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package replay

import (
	"context"
	"io"
	"time"

	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/packet"
)

// Player moves through a capture.
type Player struct {
	run  *machine.Replay
	file *packet.Reader
	last time.Time
}

// NewPlayer plays the packets of file with a replay. The caller closes both.
func NewPlayer(run *machine.Replay, file *packet.Reader) *Player {
	return &Player{run: run, file: file}
}

// ReadError is a capture that cannot be read on.
type ReadError struct{ Err error }

// Error is that of the capture.
func (e *ReadError) Error() string { return e.Err.Error() }

// Unwrap returns it.
func (e *ReadError) Unwrap() error { return e.Err }

// Next reads the next packet, whose data is valid until the one after it is read, and lets simulated time pass to its moment. late is what
// callbacks did that fell due in between, nil when there were none. The error is io.EOF at the end, a [*ReadError], or that of ctx.
func (p *Player) Next(ctx context.Context) (c packet.Captured, late *machine.Result, err error) {
	c, err = p.file.Next()
	if err == io.EOF {
		return c, nil, err
	}
	if err != nil {
		return c, nil, &ReadError{err}
	}
	if gap := c.Time.Sub(p.last); !p.last.IsZero() && gap > 0 {
		if late, err = p.run.Pass(ctx, gap); err != nil {
			return c, late, err
		}
	}
	p.last = c.Time
	return c, late, nil
}
