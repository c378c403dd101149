package helpers

// Reset makes the state of a run that of a fresh one of the same program and context, and keeps its memory: what it recorded is
// overwritten by the next run.
func (r *Run) Reset() {
	if len(r.records) > 0 {
		clear(r.records)
	}
	*r = Run{
		ProgType: r.ProgType, Attach: r.Attach, FuncIP: r.FuncIP, Cookie: r.Cookie, FuncArgs: r.FuncArgs, FuncReturns: r.FuncReturns, Packet: r.Packet,
		Trace: r.Trace[:0], Output: r.Output[:0], Events: r.Events[:0], held: r.held[:0], draining: r.draining[:0], records: r.records,
	}
}
