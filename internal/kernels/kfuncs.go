package kernels

import (
	"debug/elf"
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/ids"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Kfuncs returns the kfuncs declared by .BTF_ids in a kernel's or module's ELF file; nil for other
// files and for files without sets of kfuncs. spec is the BTF of the file, which names the entries
// of resolved sets. For stripped files the error is ids.ErrNoSymbols.
func Kfuncs(path string, spec *btf.Spec) (*proto.Declared, error) {
	if path == Host || path == Embedded { // no files
		return nil, nil
	}
	f, err := elf.Open(path)
	if err != nil {
		return nil, nil // raw BTF, or compressed
	}
	defer f.Close()
	section, err := ids.ReadELF(f)
	switch {
	case errors.Is(err, ids.ErrNoSection):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	found, err := section.KfuncSets(spec)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(found) == 0 {
		return nil, nil
	}
	programs, registered := section.Registered(f)
	sets := make([]proto.KfuncSet, len(found))
	for i, s := range found {
		sets[i] = proto.KfuncSet{Name: s.Name, Flags: map[string]proto.KfuncFlags{}}
		for name, bits := range s.Flags {
			sets[i].Flags[name] = proto.KfuncFlagsOf(bits)
		}
		if registered {
			for _, n := range programs[s.Offset] {
				sets[i].Programs = append(sets[i].Programs, uapi.ProgType(n))
			}
		}
	}
	return proto.Declare(sets), nil
}
