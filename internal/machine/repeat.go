package machine

import "context"

// repeats is the number of runs of Repeat between two checks whether it was cancelled.
const repeats = 1 << 10

// Repeat runs the program again n times as the kernel's BPF_PROG_TEST_RUN repeats a program
// (bpf_test_run of net/bpf/test_run.c): packet, context and stack are not renewed, so that each run
// finds what the one before left in them. It needs a packet that [Replay.Run] put there. The
// outcome is that of the last run, or of the first that ends in a fault. The error is that of ctx.
func (r *Replay) Repeat(ctx context.Context, n int) (*Outcome, error) {
	m, t := r.m, r.m.thread
	img, limit := m.attached.entry(r.p).img, m.cfg.MaxInsns
	m.run = &r.state
	m.env.Run = r.run
	if r.tracked {
		t.Track(false)
		r.tracked = false
	}
	for left := n; left > 0; {
		if r.called {
			r.run.Reset()
			r.called = false
		}
		made, most := m.calls.made, min(left, repeats)
		ended, insns := t.Again(img, most, min(slice, limit), r.ctx.Addr)
		r.tracking.runs += uint64(ended)
		r.total.Insns += insns
		if left -= ended; ended < most { // a run has begun that ends in another way
			if err := r.execute(ctx); err != nil {
				return nil, err
			}
			left--
			r.tracking.runs++
			r.total.Insns += t.Insns()
			r.ended(made)
			if t.Fault() != nil {
				break
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return r.outcome(), nil
}
