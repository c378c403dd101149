package machine

// SetOverrides replaces what the next run's calls of helpers and kfuncs return; nil for what Input
// says.
func (l *Loop) SetOverrides(o map[string]Override) {
	l.fresh()
	if o == nil {
		o = l.in.Overrides
	}
	l.m.run.overrides = o
}

// SetField changes a field of a user ABI context for the next run. It returns false for fields that
// are computed.
func (l *Loop) SetField(name string, v uint64) bool {
	l.fresh()
	return l.s.ctx.SetField(name, v)
}
