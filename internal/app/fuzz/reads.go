package fuzz

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// mostFields limits the fields of kernel objects that a search changes.
const mostFields = 256

// kernelSpace returns the fields of kernel objects that are input: those that the scenario sets, and
// those that programs were seen to read.
func (f *Fuzzer) kernelSpace() (fields []argument, texts []text) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.space.fields, f.space.texts
}

// noteReads makes fields of kernel objects input that a run read: those of objects that the scenario
// names or that its pointers lead to. The machine is as the run left it.
func (f *Fuzzer) noteReads(s *side, rec *record) {
	for _, res := range rec.results {
		for i := range res.Reads {
			a := &res.Reads[i]
			if a.Path == "" || a.Type != a.Object.TypeName() {
				continue
			}
			name := s.nameOf(a.Object)
			for path := range strings.SplitSeq(a.Path, ",") {
				if name != "" {
					f.noteRead(a.Object, name+"."+path, path)
				}
			}
		}
	}
}

// noteRead makes a field input if it is a number.
func (f *Fuzzer) noteRead(o *object.Object, name, path string) {
	field, _, err := o.Peek(path)
	if err != nil || field.Spec == nil {
		return
	}
	t := field.Spec.SkipMods(field.Type)
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.space.fields)+len(f.space.texts) >= mostFields {
		return
	}
	if t.Kind != btf.KindInt && t.Kind != btf.KindEnum && t.Kind != btf.KindEnum64 || find(f.space.fields, name) != nil {
		return
	}
	if v, err := o.Uint(path); err == nil {
		f.space.fields = append(f.space.fields, argument{Number: Number{name, v}, bits: fieldBits(o, path)})
	}
}
