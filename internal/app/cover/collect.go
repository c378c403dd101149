package cover

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"
	"sync"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// Collector counts what machines execute. It implements machine.CoverSink. Several machines may use
// it concurrently.
type Collector struct {
	mu      sync.Mutex
	profile *Profile
	digests map[*loader.Object]string
	names   map[string]string // object names by digest
	err     error
}

// bound holds a machine's kernel in the profile, and the profile's function for each function of
// its programs.
type bound struct {
	kernel *Kernel
	funcs  map[*loader.LinkedProgram][]*counted
	runs   int
}

// counted is a function with the runs that last counted each of its slots.
type counted struct {
	*Function
	at   []int // number of the run that last counted it, by slot and branch
	ways [2][]int
}

// NewCollector returns a collector without counts.
func NewCollector() *Collector {
	return &Collector{profile: New(), digests: map[*loader.Object]string{}, names: map[string]string{}}
}

// Profile returns the counts so far. No machine may run during the call.
func (c *Collector) Profile() (*Profile, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.profile, c.err
}

// Begin creates the entries for a machine's object and kernel.
func (c *Collector) Begin(m *machine.Machine) func([]machine.Covered) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.bind(m)
	return func(ran []machine.Covered) {
		if b == nil {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		b.runs++
		b.kernel.Runs++
		for i := range ran {
			b.count(&ran[i])
		}
	}
}

// name returns an object's name in the profile, with its digest if another object has the same
// name.
func (c *Collector) name(o *loader.Object, digest string) string {
	if name, ok := c.names[digest]; ok {
		return name
	}
	name := o.Name
	for _, used := range c.names {
		if used == name {
			name += " " + short(digest)
			break
		}
	}
	c.names[digest] = name
	return name
}

// bind finds or creates the entries for a machine's object and kernel.
func (c *Collector) bind(m *machine.Machine) *bound {
	linked := m.Linked()
	one := &Profile{}
	digest := c.digest(linked.Object)
	o := &Object{Name: c.name(linked.Object, digest), Digest: digest}
	k := &Kernel{Name: linked.Target.Name}
	one.Objects, o.Kernels = []*Object{o}, []*Kernel{k}
	for _, lp := range linked.Programs {
		if _, ok := m.ImageOf(lp.Name); !ok {
			continue // it cannot run on this kernel
		}
		branches := map[int]bool{}
		m.Branches(lp, func(pc int) { branches[pc] = true })
		for _, f := range lp.Funcs {
			g := function(o, lp, f, branches)
			if have := k.function(g.Section, g.Offset); have != nil {
				have.add(g)
			} else {
				k.Functions = append(k.Functions, g)
			}
		}
	}
	if err := c.profile.Merge(one); err != nil {
		if c.err == nil {
			c.err = err
		}
		return nil
	}
	b := &bound{kernel: c.profile.object(o.Name).kernel(k.Name), funcs: map[*loader.LinkedProgram][]*counted{}}
	all := map[*Function]*counted{}
	for _, lp := range linked.Programs {
		for _, f := range lp.Funcs {
			if g := b.kernel.function(f.Function.Section, f.Function.SectionOff); g != nil {
				if all[g] == nil {
					n := len(g.Branches)
					all[g] = &counted{g, make([]int, len(g.Hits)), [2][]int{make([]int, n), make([]int, n)}}
				}
				b.funcs[lp] = append(b.funcs[lp], all[g])
			} else {
				b.funcs[lp] = append(b.funcs[lp], nil)
			}
		}
	}
	return b
}

func (c *Collector) digest(o *loader.Object) string {
	if c.digests[o] == "" {
		h := sha256.Sum256(o.ELF())
		c.digests[o] = hex.EncodeToString(h[:])
	}
	return c.digests[o]
}

// function describes a function of a program, without counts.
func function(o *Object, lp *loader.LinkedProgram, f loader.Func, branches map[int]bool) *Function {
	g := &Function{
		Name: f.Name, Section: f.Function.Section, Offset: f.Function.SectionOff, Program: f.Function.Program != nil,
		Code: lp.Linked().Functions[f.Function.Index].Core(), Hits: make([]int, f.Len),
	}
	reach := lp.Reachable()
	dead := make([]bool, f.Len)
	lastFile, lastLine := -1, -1
	for i := 0; i < f.Len; i++ {
		pc := f.Start + i
		dead[i] = !reach[pc]
		if i > 0 && lp.Insns[pc-1].IsLdImm64() && lp.Insns[pc].Code == 0 && g.Hits[i-1] >= 0 {
			g.Hits[i] = -1
			continue
		}
		file, line := 0, 0
		if l, ok := lp.LineAt(pc); ok && l.Line > 0 && l.File != "" {
			file, line = o.file(path.Clean(l.File)), int(l.Line)
			if text := strings.TrimRight(l.Text, "\n"); text != "" {
				o.Files[file].text(line, text)
			}
		}
		if line == 0 && lastLine < 0 {
			lastLine = 0 // a function may begin without a line
		}
		if file != lastFile && line > 0 || line != lastLine {
			g.Lines = append(g.Lines, [3]int{i, file, line})
			lastFile, lastLine = file, line
		}
		if branches[pc] {
			b := Branch{Slot: i}
			taken, fell := lp.Ways(pc)
			if !taken {
				b.Taken = -1
			}
			if !fell {
				b.Fell = -1
			}
			g.Branches = append(g.Branches, b)
		}
	}
	g.Dead = ranges(dead)
	if len(o.Files) == 0 {
		g.Lines = nil // no line information
	}
	return g
}

// count adds what a run executed of a program. A function that one run executes in several programs
// counts once.
func (b *bound) count(c *machine.Covered) {
	funcs := b.funcs[c.Prog]
	at := 0
	c.Slots(func(pc int) {
		for at < len(c.Prog.Funcs) && pc >= c.Prog.Funcs[at].Start+c.Prog.Funcs[at].Len {
			at++
		}
		if at == len(c.Prog.Funcs) || at >= len(funcs) || funcs[at] == nil || pc < c.Prog.Funcs[at].Start {
			return
		}
		f, i := funcs[at], pc-c.Prog.Funcs[at].Start
		if i < len(f.Hits) && f.Hits[i] >= 0 && f.at[i] != b.runs {
			f.at[i] = b.runs
			f.Hits[i]++
		}
	})
	for at, f := range funcs {
		if f == nil {
			continue
		}
		for i := range f.Branches {
			taken, fell := c.Ways(c.Prog.Funcs[at].Start + f.Branches[i].Slot)
			for way, gone := range [2]bool{taken, fell} {
				n := &f.Branches[i].Taken
				if way == 1 {
					n = &f.Branches[i].Fell
				}
				if gone && f.ways[way][i] != b.runs {
					f.ways[way][i] = b.runs
					*n = max(*n, 0) + 1
				}
			}
		}
	}
}

// CollectorOf returns a collector that adds to the counts of p.
func CollectorOf(p *Profile) *Collector {
	c := NewCollector()
	c.profile = p
	for _, o := range p.Objects {
		c.names[o.Digest] = o.Name
	}
	return c
}
