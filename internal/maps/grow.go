package maps

// Grown lists, by map, the chunks of memory for values that exist: maps get them when they are
// first needed.
func (e *Env) Grown() [][]int {
	out := make([][]int, 0, e.maps.Len())
	for m := range e.maps.All() {
		var chunks []int
		if g, ok := m.(grower); ok {
			chunks = g.grown()
		}
		out = append(out, chunks)
	}
	return out
}

// Grow gives the maps the chunks of a list that they do not have yet.
func (e *Env) Grow(to [][]int) {
	i := 0
	for m := range e.maps.All() {
		if i == len(to) {
			return
		}
		if g, ok := m.(grower); ok {
			g.growTo(to[i])
		}
		i++
	}
}

type grower interface {
	grown() []int
	growTo(chunks []int)
}

func (s *slab) grown() []int {
	out := make([]int, len(s.chunks))
	for i := range out {
		out[i] = i
	}
	return out
}

func (s *slab) growTo(chunks []int) {
	for len(s.chunks) < len(chunks) {
		if s.addChunk() != nil {
			return // the run that needs it says so
		}
	}
	s.changed = true
}

func (a *array) grown() []int {
	var out []int
	for i, base := range a.bases {
		if base != 0 {
			out = append(out, i)
		}
	}
	return out
}

func (a *array) growTo(chunks []int) {
	for _, i := range chunks {
		if a.bases[i] == 0 && a.grow(uint32(i)) != OK {
			return // as above
		}
	}
}
