// Package replay runs a program on every packet of a capture. Between two packets, simulated time
// advances by the difference of their timestamps, and callbacks that fall due in that time run
// separately. The caller decides what to do with the results: package internal/app/capture counts
// them, collects changes and writes them to a file.
package replay

import (
	"context"
	"io"
	"time"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/packet"
)

// Player steps through the packets of a capture.
type Player struct {
	run  *machine.Replay
	file *packet.Reader
	last time.Time
}

// NewPlayer returns a player that runs the packets of file through run. The caller closes both.
func NewPlayer(run *machine.Replay, file *packet.Reader) *Player {
	return &Player{run: run, file: file}
}

// ReadError means that the rest of a capture cannot be read.
type ReadError struct{ Err error }

// Error returns the message of the underlying error.
func (e *ReadError) Error() string { return e.Err.Error() }

// Unwrap returns the underlying error.
func (e *ReadError) Unwrap() error { return e.Err }

// Next reads the next packet, whose data is valid until the following call, and advances simulated
// time to its timestamp. late is the result of callbacks that fell due in between, nil if there
// were none. The error is io.EOF at the end, a [*ReadError], or that of ctx.
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
