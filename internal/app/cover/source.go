package cover

import (
	"fmt"
	"slices"
	"strings"
)

// Source is coverage by source file, on one kernel or merged over several.
type Source struct {
	Files  []*SourceFile
	Totals Totals
	// Unmapped lists functions without line information; they count in Totals.
	Unmapped []string
}

// SourceFile is the coverage of one source file.
type SourceFile struct {
	Path      string
	Lines     map[int]*Line
	Functions []SourceFunction
	Totals    Totals
	texts     map[int]string
}

// Line is a source line that has code.
type Line struct {
	// Count is the number of runs that executed any of its code. Code that several programs contain
	// counts in each.
	Count int
	// Dead means that none of its code can be executed on the kernel.
	Dead bool
	// Branches are its conditional jumps; each inlined copy is a separate entry.
	Branches []Branch
}

// SourceFunction is a function at the line of its declaration.
type SourceFunction struct {
	Name  string
	Line  int // 0 if unknown
	Count int
	Dead  bool
}

// State returns the line's state as shown in reports.
func (l *Line) State() string {
	switch {
	case l.Dead:
		return "dead"
	case l.Count == 0:
		return "miss"
	}
	for _, b := range l.Branches {
		if b.Taken == 0 || b.Fell == 0 {
			return "part"
		}
	}
	return "hit"
}

// Count is the number of executed items (Hit), of all items that are not dead (All), and of dead
// ones.
type Count struct{ Hit, All, Dead int }

func (c *Count) add(hit, dead bool) {
	switch {
	case dead:
		c.Dead++
	case hit:
		c.Hit++
		c.All++
	default:
		c.All++
	}
}

func (c *Count) sum(d Count) { c.Hit, c.All, c.Dead = c.Hit+d.Hit, c.All+d.All, c.Dead+d.Dead }

// Percent returns the executed percentage; ok is false if there are no items.
func (c Count) Percent() (p float64, ok bool) {
	if c.All == 0 {
		return 0, false
	}
	return 100 * float64(c.Hit) / float64(c.All), true
}

// String returns "66.7% (2 of 3)".
func (c Count) String() string {
	p, ok := c.Percent()
	if !ok {
		return "none"
	}
	return fmt.Sprintf("%.1f%% (%d of %d)", p, c.Hit, c.All)
}

// Totals are the counts of one file or of all files.
type Totals struct {
	Lines, Branches, Functions, Insns Count
}

func (t *Totals) sum(u Totals) {
	t.Lines.sum(u.Lines)
	t.Branches.sum(u.Branches)
	t.Functions.sum(u.Functions)
	t.Insns.sum(u.Insns)
}

// Kernels returns the names of the kernels of a profile, sorted.
func (p *Profile) Kernels() []string {
	var out []string
	for _, o := range p.Objects {
		for _, k := range o.Kernels {
			if !slices.Contains(out, k.Name) {
				out = append(out, k.Name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// unit is a function of an object, merged over kernels.
type unit struct {
	f     *Function // from the first kernel
	insns []slotCount
	ways  map[int]*Branch
}

type slotCount struct {
	count int // -1 if there is no instruction
	dead  bool
	file  string
	line  int
}

// Source maps the counts to source lines, for one kernel or, if kernel is "", for all together.
// Merged code is dead only if it is dead on every kernel that has it.
func (p *Profile) Source(kernel string) *Source {
	s := &Source{}
	files := map[string]*SourceFile{}
	for _, o := range p.Objects {
		for _, u := range o.units(kernel) {
			s.place(o, u, files)
		}
	}
	for _, f := range files {
		f.total()
		s.Files = append(s.Files, f)
		s.Totals.sum(f.Totals)
	}
	slices.SortFunc(s.Files, func(a, b *SourceFile) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(s.Unmapped)
	return s
}

// units merges the functions of an object over kernels.
func (o *Object) units(kernel string) []*unit {
	var out []*unit
	type key struct {
		section string
		offset  int
	}
	byKey := map[key]*unit{}
	for _, k := range o.Kernels {
		if kernel != "" && k.Name != kernel {
			continue
		}
		for _, f := range k.Functions {
			id := key{f.Section, f.Offset}
			u := byKey[id]
			if u == nil {
				u = &unit{f: f, insns: make([]slotCount, len(f.Hits)), ways: map[int]*Branch{}}
				for i := range u.insns {
					u.insns[i] = slotCount{count: f.Hits[i], dead: true}
				}
				u.place(o, f)
				byKey[id] = u
				out = append(out, u)
			} else {
				for i := range min(len(u.insns), len(f.Hits)) {
					u.insns[i].count += max(f.Hits[i], 0)
				}
			}
			alive := make([]bool, len(u.insns))
			for i := range alive {
				alive[i] = true
			}
			f.eachDead(func(i int) {
				if i < len(alive) {
					alive[i] = false
				}
			})
			for i := range u.insns {
				u.insns[i].dead = u.insns[i].dead && !alive[i]
			}
			for _, b := range f.Branches {
				if w := u.ways[b.Slot]; w != nil {
					w.Taken, w.Fell = sum(w.Taken, b.Taken), sum(w.Fell, b.Fell)
				} else {
					c := b
					u.ways[b.Slot] = &c
				}
			}
		}
	}
	return out
}

// place determines the line that each slot belongs to.
func (u *unit) place(o *Object, f *Function) {
	for n, l := range f.Lines {
		end := len(u.insns)
		if n+1 < len(f.Lines) {
			end = f.Lines[n+1][0]
		}
		for i := l[0]; i < end && l[2] > 0; i++ {
			u.insns[i].file, u.insns[i].line = o.Files[l[1]].Path, l[2]
		}
	}
}

// place adds a function to the source files of its code.
func (s *Source) place(o *Object, u *unit, files map[string]*SourceFile) {
	at := func(path string) *SourceFile {
		f := files[path]
		if f == nil {
			f = &SourceFile{Path: path, Lines: map[int]*Line{}, texts: map[int]string{}}
			files[path] = f
			for _, of := range o.Files {
				if of.Path == path {
					for n, text := range of.Texts {
						f.texts[n] = text
					}
				}
			}
		}
		return f
	}
	counts := map[*Line]int{} // of this function
	var first slotCount
	allDead, count := true, 0
	for i, in := range u.insns {
		if in.count < 0 {
			continue
		}
		dead := in.dead && in.count == 0
		allDead = allDead && dead
		count = max(count, in.count)
		if in.line == 0 {
			s.Totals.Insns.add(in.count > 0, dead)
			if b := u.ways[i]; b != nil && !dead {
				s.Totals.Branches.way(b.Taken)
				s.Totals.Branches.way(b.Fell)
			}
			continue
		}
		if first.line == 0 {
			first = in
		}
		f := at(in.file)
		f.Totals.Insns.add(in.count > 0, dead)
		l := f.Lines[in.line]
		if l == nil {
			l = &Line{Dead: true}
			f.Lines[in.line] = l
		}
		l.Dead = l.Dead && dead
		counts[l] = max(counts[l], in.count)
		if b := u.ways[i]; b != nil && !dead {
			l.Branches = append(l.Branches, *b)
		}
	}
	for l, n := range counts {
		l.Count += n
	}
	if first.line == 0 {
		s.Unmapped = append(s.Unmapped, u.f.Name)
		s.Totals.Functions.add(count > 0, allDead)
		return
	}
	f := at(first.file)
	f.Functions = append(f.Functions, SourceFunction{Name: u.f.Name, Line: first.line, Count: count, Dead: allDead})
}

// way adds one direction of a branch: its count, -1 if impossible.
func (c *Count) way(n int) { c.add(n > 0, n < 0) }

func (f *SourceFile) total() {
	for _, l := range f.Lines {
		f.Totals.Lines.add(l.Count > 0, l.Dead)
		for _, b := range l.Branches {
			f.Totals.Branches.way(b.Taken)
			f.Totals.Branches.way(b.Fell)
		}
	}
	slices.SortFunc(f.Functions, func(a, b SourceFunction) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return strings.Compare(a.Name, b.Name)
	})
	for _, fn := range f.Functions {
		f.Totals.Functions.add(fn.Count > 0, fn.Dead)
	}
}

// Numbers returns the numbers of the lines with code, ascending.
func (f *SourceFile) Numbers() []int {
	out := make([]int, 0, len(f.Lines))
	for n := range f.Lines {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}
