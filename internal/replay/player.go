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

	failed error // of the last Follow
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
func (p *Player) Next(ctx context.Context, c *packet.Captured) (late *machine.Result, err error) {
	if err = p.read(c); err == io.EOF {
		return nil, err
	} else if err != nil {
		return nil, &ReadError{err}
	}
	if gap := c.Time.Sub(p.last); !p.last.IsZero() && gap > 0 {
		if late, err = p.run.Pass(ctx, gap); err != nil {
			return late, err
		}
	}
	p.last = c.Time
	return late, nil
}

// Follow reads the next packet like Next, but leaves it to the caller to let gap pass. It returns
// false, and leaves everything to Next, if there is no packet, or callbacks may fall due.
func (p *Player) Follow(c *packet.Captured) (gap time.Duration, ok bool) {
	if p.run.Waits() {
		return 0, false
	}
	if p.failed = p.file.Read(c); p.failed != nil {
		return 0, false
	}
	if !p.last.IsZero() {
		gap = max(c.Time.Sub(p.last), 0)
	}
	p.last = c.Time
	return gap, true
}

func (p *Player) read(c *packet.Captured) error {
	if p.failed != nil {
		return p.failed
	}
	return p.file.Read(c)
}
