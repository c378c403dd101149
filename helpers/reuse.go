package helpers

// Reset makes the state of a run that of a fresh one of the same program and context, and keeps its memory: what it recorded is
// overwritten by the next run. It happens before every packet of a replay, so that only what is not as it should be is written.
func (r *Run) Reset() {
	r.Release()
	if len(r.records) > 0 {
		clear(r.records)
	}
	r.Retval, r.SeqStart, r.SeqFull, r.SessionReturn, r.sessionCookie, r.target = 0, 0, false, false, 0, 0
	r.Trace, r.Output, r.Events, r.held, r.draining = r.Trace[:0], r.Output[:0], r.Events[:0], r.held[:0], r.draining[:0]
	if r.skb.started {
		r.skb = skbState{}
	}
}
