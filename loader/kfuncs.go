package loader

import "github.com/bpfrun/bpfrun/helpers/proto"

// WithKfuncs sets the kfuncs that the kernel's own image declares.
func WithKfuncs(d *proto.Declared) TargetOption { return func(t *Target) { t.Kfuncs = d } }

// kfunc returns what the target, or the module that has the function, knows about it.
func (t *Target) kfunc(module, name string) (*proto.Kfunc, bool) {
	for _, m := range t.Modules {
		if m.Name == module {
			return m.Kfuncs.Lookup(name)
		}
	}
	return t.Kfuncs.Lookup(name)
}
