package search

import (
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/loader"
)

// Constants notes the variables of .rodata as they are; the function that it returns brings them
// back. Snapshots do not, since no program changes them.
func Constants(m *machine.Machine) (restore func()) {
	type section struct {
		r    *mem.Region
		data []byte
	}
	var all []section
	for _, def := range m.Linked().Maps {
		if mp, ok := m.Map(def); ok && def.DataKind == loader.DataRodata {
			if addr, errno := mp.Lookup(0, make([]byte, 4)); errno == 0 {
				if r := m.Memory().Find(addr); r != nil {
					all = append(all, section{r, append([]byte(nil), m.Memory().Bytes(r)...)})
				}
			}
		}
	}
	return func() {
		for _, s := range all {
			copy(m.Memory().Bytes(s.r), s.data)
		}
	}
}
