package machine

import (
	"github.com/bpfrun/bpfrun/internal/maps"
)

// useArena makes the processor convert pointers of the program's arena.
func (m *Machine) useArena(p *program) {
	if p.arena == nil {
		m.thread.SetArena(0, 0)
		return
	}
	m.thread.SetArena(p.arena.KernelBase(), p.arena.UserBase())
}

// arenaVariable finds a variable in an arena, with its offset and size in bytes.
func (gl *globals) arenaVariable(name string) (a maps.Arena, at uint64, size int, ok bool) {
	def, v, found := Variable(gl.reg.linked, name)
	if !found || gl.reg.byDef[def] == nil {
		return nil, 0, 0, false
	}
	a, ok = gl.reg.byDef[def].m.(maps.Arena)
	return a, def.ArenaOffset + uint64(v.Off), int(v.Size), ok
}
