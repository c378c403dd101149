package machine

import (
	"fmt"
	stdmaps "maps"
	"slices"

	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/ordered"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// registry holds the maps and programs of a machine. It records which exist, and how often each
// program ran; maps and code have state of their own.
type registry struct {
	linked   *loader.Linked
	maps     ordered.List[*boundMap]
	byDef    map[*loader.Map]*boundMap
	programs ordered.List[*program]
	byName   map[string]*program
	lastMap  uint32 // number of the newest map
	lastProg uint32 // id of the newest program
}

func newRegistry(l *loader.Linked) registry {
	return registry{linked: l, byDef: map[*loader.Map]*boundMap{}, byName: map[string]*program{}}
}

// boundMap is a map definition with the map created from it, or the reason why there is none.
type boundMap struct {
	number uint32 // in the order of creation
	def    *loader.Map
	m      maps.Map
	err    error
}

// Linked returns the object that the machine was created for.
func (reg *registry) Linked() *loader.Linked { return reg.linked }

// Map returns the map of a definition; ok is false if it is not simulated.
func (reg *registry) Map(def *loader.Map) (maps.Map, bool) {
	b := reg.byDef[def]
	if b == nil || b.m == nil {
		return nil, false
	}
	return b.m, true
}

// MapByName returns the map with that name.
func (reg *registry) MapByName(name string) (maps.Map, bool) {
	for b := range reg.maps.All() {
		if b.def.Name == name && b.m != nil {
			return b.m, true
		}
	}
	return nil, false
}

// MapDefAt returns the map at an address with its definition, also one that was added.
func (reg *registry) MapDefAt(addr uint64) (maps.Map, *loader.Map) {
	for b := range reg.maps.All() {
		if b.m != nil && b.m.Addr() == addr {
			return b.m, b.def
		}
	}
	return nil, nil
}

// note adds a map to the machine.
func (reg *registry) note(b *boundMap) {
	reg.lastMap++
	b.number = reg.lastMap
	reg.maps.Add(b.number, b)
	reg.byDef[b.def] = b
}

// ProgramName names the program in an element of a program array.
func (reg *registry) ProgramName(elem any) (string, bool) {
	p, ok := elem.(*program)
	if !ok || reg.byName[p.lp.Name] != p {
		return "", false
	}
	return p.lp.Name, true
}

// Names returns the names of all programs in file order.
func (reg *registry) Names() []string {
	names := make([]string, 0, reg.programs.Len())
	for p := range reg.programs.All() {
		names = append(names, p.lp.Name)
	}
	return names
}

// ProgramOf returns the linked program of an image; ok is false for images of other machines.
func (reg *registry) ProgramOf(img *vm.Image) (lp *loader.LinkedProgram, ok bool) {
	p, ok := owner(img)
	if !ok {
		return nil, false
	}
	return p.lp, reg.byName[p.lp.Name] == p
}

// ImageOf returns the code of a program; ok is false if the program cannot run.
func (reg *registry) ImageOf(name string) (img *vm.Image, ok bool) {
	p := reg.byName[name]
	if p == nil || p.img == nil {
		return nil, false
	}
	return p.img, true
}

// IsProgram reports whether an element of a program array is the named program.
func (reg *registry) IsProgram(name string, elem any) bool {
	p, ok := elem.(*program)
	return ok && reg.byName[name] == p
}

// SetProg stores a program of the object in a program array, as user space does.
func (reg *registry) SetProg(array maps.ProgArray, index uint32, name string) error {
	p := reg.byName[name]
	if p == nil {
		return fmt.Errorf("%w: %s", ErrNoProgram, name)
	}
	if errno := array.SetProg(index, p); errno != 0 {
		return errno
	}
	return nil
}

// ProgramStatus returns the status that Run would return without running the program: whether it
// can run, and if not, why.
func (reg *registry) ProgramStatus(name string) (Status, error) {
	p := reg.byName[name]
	if p == nil {
		return "", fmt.Errorf("%w: %s", ErrNoProgram, name)
	}
	return p.status, p.err
}

// ProgramError returns the reason why a program cannot run, or nil if it can.
func (reg *registry) ProgramError(name string) error {
	if p := reg.byName[name]; p != nil {
		return p.err
	}
	return nil
}

// dropStorage deletes what programs stored for a socket that no longer exists
// (bpf_sk_storage_free).
func (reg *registry) dropStorage(key uint64) {
	for b := range reg.maps.All() {
		if s, ok := b.m.(maps.LocalStorage); ok && s.Spec().Type == uapi.MapTypeSkStorage {
			s.FreeOwner(key) // usually nothing is stored
		}
	}
}

// Calls returns the names of the helpers and kfuncs a program may call, sorted: those an [Override]
// can name.
func (reg *registry) Calls(program string) []string {
	p := reg.byName[program]
	if p == nil {
		return nil
	}
	names := slices.Clone(p.calls)
	slices.Sort(names)
	return names
}

// ArenaOf returns the arena that the program of that name refers to, or nil.
func (reg *registry) ArenaOf(program string) maps.Arena {
	if p := reg.byName[program]; p != nil {
		return p.arena
	}
	return nil
}

// arenaOf returns the arena that a program refers to, or nil. The kernel allows one per program.
func (reg *registry) arenaOf(lp *loader.LinkedProgram) maps.Arena {
	for _, pc := range slices.Sorted(stdmaps.Keys(lp.Refs)) {
		if def := lp.Refs[pc].Map; def != nil && reg.byDef[def] != nil {
			if a, ok := reg.byDef[def].m.(maps.Arena); ok {
				return a
			}
		}
	}
	return nil
}

func owner(img *vm.Image) (*program, bool) {
	if img == nil {
		return nil, false
	}
	p, ok := img.Owner.(*program)
	return p, ok
}

// Branches calls f for each slot with a conditional jump that can go both ways.
func (reg *registry) Branches(lp *loader.LinkedProgram, f func(pc int)) {
	if img, ok := reg.ImageOf(lp.Name); ok {
		for pc := range lp.Insns {
			if branch, _, _ := img.Branches(pc); branch {
				f(pc)
			}
		}
	}
}

// add adds a program to the machine.
func (reg *registry) add(p *program) {
	reg.lastProg++
	p.id = reg.lastProg
	reg.programs.Add(p.id, p)
	reg.byName[p.lp.Name] = p
}

// remove removes a program.
func (reg *registry) remove(p *program) {
	delete(reg.byName, p.lp.Name)
	reg.programs.Remove(p.id)
}

// drop removes a map; it returns false if there is none with that definition.
func (reg *registry) drop(def *loader.Map) (*boundMap, bool) {
	b := reg.byDef[def]
	if b == nil {
		return nil, false
	}
	delete(reg.byDef, def)
	reg.maps.Remove(b.number)
	return b, true
}

// snapshot records which maps there are, and how often each program ran.
func (reg *registry) snapshot() (restore func()) {
	runs := map[*program]int{}
	for p := range reg.programs.All() {
		runs[p] = p.runs
	}
	list := slices.Collect(reg.maps.All())
	return func() {
		if !slices.Equal(list, slices.Collect(reg.maps.All())) {
			reg.maps, reg.byDef = ordered.List[*boundMap]{}, make(map[*loader.Map]*boundMap, len(list))
			for _, b := range list {
				reg.maps.Add(b.number, b)
				reg.byDef[b.def] = b
			}
		}
		for p := range reg.programs.All() {
			p.runs = runs[p]
		}
	}
}
