package hook

// NameAt names what is at an offset of the context: an argument, a field of a trace record or of a user ABI context, as
// [Context.SetArg] and [Context.SetField] know it, and the offset inside of it.
func (c *Context) NameAt(off uint64) (name string, in uint64, ok bool) {
	if c.view != nil {
		for i := range c.view.Fields {
			if f := &c.view.Fields[i]; f.Name != "" && off >= uint64(f.Off) && off < uint64(f.Off+f.Size) {
				return f.Name, off - uint64(f.Off), true
			}
		}
		return "", 0, false
	}
	for _, name := range c.ArgNames() {
		if p, ok := c.placeOf(name); ok && off >= p.off && off < p.off+p.size {
			return name, off - p.off, true
		}
	}
	return "", 0, false
}

// FieldNames lists the fields of a user ABI context that [Context.SetField] changes; nil for other contexts.
func (c *Context) FieldNames() []string {
	if c.view == nil {
		return nil
	}
	var out []string
	for i := range c.view.Fields {
		f := &c.view.Fields[i]
		if f.Name != "" && settable(f) {
			out = append(out, f.Name)
		}
	}
	return out
}
