package record

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/conformance"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/loader"
)

// instance is an object loaded into the kernel, with new maps and the programs of one case.
type instance struct {
	linked *loader.Linked
	types  int // descriptor of the object's BTF, or -1
	maps   map[*loader.Map]*liveMap
	progs  map[string]int
	// bare means that programs are only loaded, so the memory of buffers is not mapped.
	bare bool
}

func newInstance(linked *loader.Linked, rawTypes []byte) (*instance, error) {
	k := &instance{linked: linked, types: -1, maps: map[*loader.Map]*liveMap{}, progs: map[string]int{}}
	if rawTypes != nil {
		fd, err := loadTypes(rawTypes)
		if err != nil {
			return nil, err
		}
		k.types = fd
	}
	if err := k.createMaps(); err != nil {
		k.close()
		return nil, err
	}
	return k, nil
}

func (k *instance) close() {
	for _, fd := range k.progs {
		unix.Close(fd)
	}
	for _, m := range k.maps {
		m.close()
	}
	if k.types >= 0 {
		unix.Close(k.types)
	}
}

// load loads the programs of a case and those in the program arrays that they use.
func (k *instance) load(runs []conformance.CaseRun) error {
	var names []string
	for _, r := range runs {
		names = append(names, r.Prog)
	}
	used := k.mapsOf(names)
	for _, m := range k.linked.Maps {
		for _, init := range m.Values {
			if init.Prog != "" && used[m] {
				names = append(names, init.Prog)
			}
		}
	}
	for _, name := range names {
		if _, loaded := k.progs[name]; loaded {
			continue
		}
		p, ok := k.linked.Program(name)
		if !ok {
			return fmt.Errorf("no program %q", name)
		}
		if p.Status == loader.StatusRefused {
			return p.Err
		}
		insns, err := k.bind(p)
		if err != nil {
			return err
		}
		pace()
		fd, err := loadProgram(p, insns, k.types)
		if err != nil {
			return err
		}
		k.progs[name] = fd
	}
	for m, live := range k.maps {
		for _, init := range m.Values {
			if fd, ok := k.progs[init.Prog]; ok && init.Prog != "" {
				if err := updateMap(live.fd, slot(init.Index), slot(fd)); err != nil {
					return fmt.Errorf("map %s[%d] = %s: %w", m.Name, init.Index, init.Prog, err)
				}
			}
		}
	}
	return nil
}

// mapsOf returns the maps that the named programs refer to.
func (k *instance) mapsOf(names []string) map[*loader.Map]bool {
	used := map[*loader.Map]bool{}
	for _, name := range names {
		if p, ok := k.linked.Program(name); ok {
			for _, ref := range p.Refs {
				used[ref.Map] = true
			}
		}
	}
	return used
}

// bind returns a program's instructions with the references to maps, symbols and functions
// resolved.
func (k *instance) bind(p *loader.LinkedProgram) ([]decode.Insn, error) {
	insns := slices.Clone(p.Insns)
	for pc, ref := range p.Refs {
		in := &insns[pc]
		switch ref.Kind {
		case loader.RefMap, loader.RefMapValue:
			live := k.maps[ref.Map]
			if live == nil {
				return nil, fmt.Errorf("%s: instruction %d: map %s was not created", p.Name, pc, ref.Map.Name)
			}
			in.Imm = int32(live.fd)
			if ref.Kind == loader.RefMapValue {
				insns[pc+1].Imm = int32(ref.Off)
			}
		case loader.RefFunc:
			in.Imm = int32(ref.Func - pc - 1)
		case loader.RefKsym:
			in.Imm, insns[pc+1].Imm = int32(uint32(ref.Addr)), int32(uint32(ref.Addr>>32))
		case loader.RefKsymBTF:
			if ref.Resolved {
				in.Imm, insns[pc+1].Imm = int32(ref.TypeID), 0
			}
		case loader.RefInsnArray:
			live := k.maps[ref.Map]
			if live == nil {
				return nil, fmt.Errorf("%s: instruction %d: jump tables cannot be recorded", p.Name, pc)
			}
			in.Imm, insns[pc+1].Imm = int32(live.fd), int32(ref.Off)
		}
	}
	return insns, nil
}

// setGlobals sets the global variables that a case presets.
func (k *instance) setGlobals(globals map[string]string) error {
	images := map[*loader.Map][]byte{}
	for name, text := range globals {
		m, v, ok := variable(k.linked.Maps, name)
		if !ok {
			return fmt.Errorf("no global variable %q", name)
		}
		data, err := conformance.Preset(text, int(v.Size))
		if err != nil {
			return fmt.Errorf("global %s: %w", name, err)
		}
		image := images[m]
		if image == nil {
			image = make([]byte, m.ValueSize)
			copy(image, m.Data)
			images[m] = image
		}
		copy(image[v.Off:v.Off+v.Size], data)
	}
	for m, image := range images {
		if err := updateMap(k.maps[m].fd, slot(0), image); err != nil {
			return fmt.Errorf("globals in %s: %w", m.Name, err)
		}
	}
	return nil
}
