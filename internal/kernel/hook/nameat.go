package hook

import "github.com/bpfrun/bpfrun/internal/kernel/net"

// bounds are fields that say where other memory is, or that follow from what else a context has.
var bounds = map[string]bool{"skb_data": true, "skb_data_end": true, "skb_len": true, "optval": true, "optval_end": true, "optlen": true, "write": true, "data": true, "data_end": true, "data_meta": true, "len": true, "size": true, "file_pos": true}

// NameAt names what is at an offset of the context: an argument, a field of a trace record or of a
// user ABI context, as [Context.SetArg] and [Context.SetField] know it, and the offset inside of
// it.
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

// FieldNames lists the fields of a user ABI context that the program may read and that are numbers
// of their own, which [Context.SetField] changes: no addresses and bounds of other memory, and not
// whether a sysctl is written. It returns nil for other contexts.
func (c *Context) FieldNames() []string {
	if c.view == nil {
		return nil
	}
	var out []string
	for i := range c.view.Fields {
		f := &c.view.Fields[i]
		if f.Name != "" && settable(f) && f.Kind == net.PlainField && c.view.Readable(f) && !bounds[f.Name] {
			out = append(out, f.Name)
		}
	}
	return out
}
