package loader

// NeedsKernelTypes reports whether the linked form of the object depends on a kernel's types: it
// has CO-RE relocations, externs, struct_ops maps or kptrs. If not, loading it with
// [LoadOptions].LinkOnly for a target without types gives the same programs, and the types need not
// be read (libbpf obj_needs_vmlinux_btf).
func (o *Object) NeedsKernelTypes() bool {
	if o.Ext != nil && len(o.Ext.CORE) > 0 || len(o.Externs) > 0 {
		return true
	}
	for _, m := range o.Maps {
		if m.StructOps != nil {
			return true
		}
	}
	return o.BTF != nil && o.hasKptrs()
}
