package machine

import (
	stdmaps "maps"
	"slices"

	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/maps"
)

// arenaOf is the arena of a program: the one it refers to, of which the kernel allows one. nil without.
func (m *Machine) arenaOf(lp *loader.LinkedProgram) maps.Arena {
	for _, pc := range slices.Sorted(stdmaps.Keys(lp.Refs)) {
		if def := lp.Refs[pc].Map; def != nil && m.byDef[def] != nil {
			if a, ok := m.byDef[def].m.(maps.Arena); ok {
				return a
			}
		}
	}
	return nil
}

// useArena lets the processor convert pointers of the program's arena.
func (m *Machine) useArena(p *program) {
	if p.arena == nil {
		m.thread.SetArena(0, 0)
		return
	}
	m.thread.SetArena(p.arena.KernelBase(), p.arena.UserBase())
}

// arenaVariable finds a variable that lives in an arena: where in it, and its size.
func (m *Machine) arenaVariable(name string) (a maps.Arena, at uint64, size int, ok bool) {
	def, v, found := Variable(m.linked, name)
	if !found || m.byDef[def] == nil {
		return nil, 0, 0, false
	}
	a, ok = m.byDef[def].m.(maps.Arena)
	return a, def.ArenaOffset + uint64(v.Off), int(v.Size), ok
}
