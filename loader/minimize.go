package loader

import (
	"github.com/bpfrun/bpfrun/corerelo"
)

// CORERecords returns the object's CO-RE records in the order of .BTF.ext, including those of
// functions that are not loaded.
func (o *Object) CORERecords() []corerelo.Record {
	if o.Ext == nil {
		return nil
	}
	var out []corerelo.Record
	for _, sec := range o.Ext.CORE {
		cs := o.sections[sec.Name]
		if cs == nil {
			continue
		}
		for _, r := range sec.Records {
			if r.InsnOff%insnSize == 0 && cs.at(int(r.InsnOff/insnSize)) != nil {
				out = append(out, corerelo.Record{InsnOff: r.InsnOff, TypeID: r.TypeID, Access: r.Access, Kind: corerelo.Kind(r.Kind)})
			}
		}
	}
	return out
}
