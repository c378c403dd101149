package loader

import "github.com/bpfrun/bpfrun/uapi"

// SectionName is a section name libbpf knows, and what it makes of a program.
type SectionName struct {
	Name   string
	Type   uapi.ProgType
	Attach uapi.AttachType
	// Target says that "NAME/target" names what the program attaches to.
	Target bool
}

// SectionNames lists the section names libbpf knows.
func SectionNames() []SectionName {
	out := make([]SectionName, len(secDefs))
	for i, d := range secDefs {
		out[i] = SectionName{d.name, d.typ, d.attach, d.flags&secTarget != 0}
	}
	return out
}
