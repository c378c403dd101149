package repl

import (
	"bytes"
	"io"
)

// pager pauses after each screenful of one command's output.
type pager struct {
	out    io.Writer
	height int
	// ask waits for the user; false discards the rest of the output.
	ask  func() bool
	line int
	over bool
}

// Write implements io.Writer.
func (p *pager) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0 && !p.over; {
		n := bytes.IndexByte(rest, '\n') + 1
		if n == 0 {
			n = len(rest)
		}
		if p.line >= p.height-1 {
			p.line = 0
			if p.over = !p.ask(); p.over {
				break
			}
		}
		if _, err := p.out.Write(rest[:n]); err != nil {
			return 0, err
		}
		if rest[n-1] == '\n' {
			p.line++
		}
		rest = rest[n:]
	}
	return len(b), nil
}
