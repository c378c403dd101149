package main

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bpfrun/bpfrun/internal/visible"
)

// progressAfter is the delay before progress is shown, progressEvery the interval of updates.
const (
	progressAfter = 2 * time.Second
	progressEvery = 200 * time.Millisecond
)

// progress counts the steps of a long operation on standard error if that is a terminal. A nil
// progress shows nothing.
type progress struct {
	w           io.Writer
	what        string
	done, total atomic.Int64
	stop        chan struct{}
	ended       sync.WaitGroup
	once        sync.Once
}

// progress starts a count. total is 0 if it is not known yet. Nothing is shown unless standard
// error is a terminal.
func (c *console) progress(what string, total int) *progress {
	if c.quiet || !isTerminal(c.stderr) {
		return nil
	}
	return newProgress(fileOf(c.stderr), what, total, progressAfter, progressEvery)
}

// silentProgress returns the progress of work whose results are printed as they come, which show it
// themselves: only JSON waits for the end.
func (c *console) silentProgress(what string, total int) *progress {
	if !c.json {
		return nil
	}
	return c.progress(what, total)
}

func newProgress(w io.Writer, what string, total int, after, every time.Duration) *progress {
	p := &progress{w: w, what: what, stop: make(chan struct{})}
	p.total.Store(int64(total))
	p.ended.Go(func() {
		wait := time.NewTimer(after)
		defer wait.Stop()
		select {
		case <-p.stop:
			return
		case <-wait.C:
		}
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			p.show()
			select {
			case <-p.stop:
				_, _ = io.WriteString(p.w, "\r\x1b[K") // clear the line
				return
			case <-tick.C:
			}
		}
	})
	return p
}

func (p *progress) show() {
	if total := p.total.Load(); total > 0 {
		visible.Fprintf(p.w, "\r\x1b[K%d of %d %s", p.done.Load(), total, p.what)
		return
	}
	visible.Fprintf(p.w, "\r\x1b[K%d %s", p.done.Load(), p.what)
}

// expect adds to the total.
func (p *progress) expect(n int) {
	if p != nil {
		p.total.Add(int64(n))
	}
}

// add counts finished steps. It is safe for concurrent use.
func (p *progress) add(n int) {
	if p != nil {
		p.done.Add(int64(n))
	}
}

// set shows done out of total.
func (p *progress) set(done, total int) {
	if p != nil {
		p.done.Store(int64(done))
		p.total.Store(int64(total))
	}
}

// end removes the line. It may be called twice.
func (p *progress) end() {
	if p == nil {
		return
	}
	p.once.Do(func() { close(p.stop) })
	p.ended.Wait()
}
