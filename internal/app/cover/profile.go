// Package cover counts which instructions, branches, lines and functions of unmodified objects were
// executed on each kernel. It merges such counts and writes them for people and tools.
//
// It knows machines, which report what a run executed, and line information, but not command lines.
// Start from [Collector], whose result is a [Profile]. [Profile.Merge] adds another profile; [Read]
// and [Profile.Write] use its file format.
//
// A count is a number of runs: an instruction that one run executes a thousand times counts once.
// Code that CO-RE or constants make unreachable on a kernel is dead there, not missed.
package cover

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/worded"
)

// Profile is the coverage of objects, each on the kernels it ran on.
type Profile struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Objects []*Object `json:"objects"`
}

// The header of a coverage file.
const (
	format  = "bpfrun-coverage"
	version = 1
)

// Object is the coverage of one object file.
type Object struct {
	Name string `json:"name"`
	// Digest is the sha256 of the file.
	Digest string `json:"digest"`
	// Files are the source files in its line information.
	Files   []*File   `json:"files"`
	Kernels []*Kernel `json:"kernels"`
}

// File is a source file, with the text of its lines as stored in the object.
type File struct {
	Path  string         `json:"path"`
	Texts map[int]string `json:"texts,omitempty"`
}

// Kernel is the coverage of an object on one kernel.
type Kernel struct {
	Name string `json:"name"`
	// Runs is the number of runs that were counted.
	Runs      int         `json:"runs"`
	Functions []*Function `json:"functions"`
}

// Function is the coverage of one function after CO-RE on a kernel. Slots are counted from its
// first instruction.
type Function struct {
	Name    string `json:"name"`
	Section string `json:"section"`
	Offset  int    `json:"offset"` // first slot in the section
	Program bool   `json:"program,omitempty"`
	// Code is the sha256 of the function's instructions after CO-RE.
	Code string `json:"code"`
	// Hits is the number of runs that executed each slot; -1 marks the second slot of an
	// instruction.
	Hits []int `json:"hits"`
	// Dead lists ranges of slots, first and end, that are unreachable on the kernel.
	Dead [][2]int `json:"dead,omitempty"`
	// Lines lists the slots at which another line begins: slot, index of the file, line. Line 0
	// means no line.
	Lines    [][3]int `json:"lines,omitempty"`
	Branches []Branch `json:"branches,omitempty"`
}

// Branch is a conditional jump: the number of runs that jumped to its target, and the number that
// went on with the next instruction. A direction that is impossible on the kernel is -1.
type Branch struct {
	Slot  int `json:"slot"`
	Taken int `json:"taken"`
	Fell  int `json:"fell"`
}

// New returns an empty profile.
func New() *Profile { return &Profile{Format: format, Version: version} }

// FormatError means that a file is not a coverage file or has inconsistent contents.
type FormatError struct{ Why string }

// Error describes what is wrong.
func (e *FormatError) Error() string { return "coverage: " + e.Why }

// MismatchError means that two profiles cannot be merged, since they belong to different code.
type MismatchError struct {
	Object, Kernel, Function string
	Why                      string
}

// Error names the difference and the next step.
func (e *MismatchError) Error() string {
	text := "coverage of " + e.Object
	if e.Function != "" {
		text += ", function " + e.Function
	}
	if e.Kernel != "" {
		text += ", on " + e.Kernel
	}
	return text + ": " + e.Why
}

// maxCount limits the counts in a file, so that sums over many files cannot overflow.
const maxCount = 1 << 40

// maxFile limits the size of a coverage file in bytes.
const maxFile = 1 << 30

// Read reads a profile that [Profile.Write] wrote. The error is a *[FormatError].
func Read(r io.Reader) (*Profile, error) { return read(r, maxFile) }

// read is Read of a file of at most so many bytes.
func read(r io.Reader, most int64) (*Profile, error) {
	lr := &io.LimitedReader{R: r, N: most}
	dec := json.NewDecoder(lr)
	p := &Profile{}
	if err := dec.Decode(p); err != nil {
		if lr.N == 0 {
			return nil, &FormatError{fmt.Sprintf("the file has more than %d bytes", most)}
		}
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return nil, &FormatError{"the file is truncated"}
		}
		return nil, &FormatError{"not a coverage file written by --cover-out json=FILE: " + worded.Error(err).Error()}
	}
	switch {
	case p.Format != format:
		return nil, &FormatError{"not a coverage file written by --cover-out json=FILE"}
	case p.Version != version:
		return nil, &FormatError{fmt.Sprintf("format version %d, but this bpfrun reads version %d", p.Version, version)}
	}
	return p, p.check()
}

// check returns an error for inconsistent contents.
func (p *Profile) check() error {
	for _, o := range p.Objects {
		if o == nil || o.Name == "" {
			return &FormatError{"an object without a name"}
		}
		for _, f := range o.Files {
			if f == nil || f.Path == "" {
				return &FormatError{"a file without a path"}
			}
		}
		for _, k := range o.Kernels {
			if k == nil || k.Name == "" {
				return &FormatError{"a kernel without a name"}
			}
			if k.Runs < 0 || int64(k.Runs) > maxCount {
				return &FormatError{fmt.Sprintf("kernel %s: %d runs", k.Name, k.Runs)}
			}
			for _, f := range k.Functions {
				if err := f.check(len(o.Files)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (f *Function) check(files int) error {
	if f == nil || f.Name == "" {
		return &FormatError{"a function without a name"}
	}
	bad := func(what string) error { return &FormatError{fmt.Sprintf("function %s: %s", f.Name, what)} }
	n := len(f.Hits)
	for i, hits := range f.Hits {
		if hits < -1 || int64(hits) > maxCount {
			return bad(fmt.Sprintf("a count of %d runs at slot %d", hits, i))
		}
	}
	for _, d := range f.Dead {
		if d[0] < 0 || d[1] < d[0] || d[1] > n {
			return bad("dead code outside of the function")
		}
	}
	last := -1
	for _, l := range f.Lines {
		if l[0] <= last || l[0] >= n || l[1] < 0 || l[1] >= files || l[2] < 0 {
			return bad("a line outside of the function or of the files")
		}
		last = l[0]
	}
	for _, b := range f.Branches {
		if b.Slot < 0 || b.Slot >= n || b.Taken < -1 || b.Fell < -1 {
			return bad("a branch outside of the function")
		}
		if int64(max(b.Taken, b.Fell)) > maxCount {
			return bad(fmt.Sprintf("a count of %d runs at the branch in slot %d", max(b.Taken, b.Fell), b.Slot))
		}
	}
	return nil
}

// Write writes the profile as JSON. The same coverage gives the same bytes.
func (p *Profile) Write(w io.Writer) error {
	p.sort()
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

func (p *Profile) sort() {
	slices.SortFunc(p.Objects, func(a, b *Object) int { return strings.Compare(a.Name+"\x00"+a.Digest, b.Name+"\x00"+b.Digest) })
	for _, o := range p.Objects {
		slices.SortFunc(o.Kernels, func(a, b *Kernel) int { return strings.Compare(a.Name, b.Name) })
	}
}

// Merge adds the counts of another profile. If the two belong to different versions of an object,
// or to kernels of the same name with different types, the error is a *[MismatchError] and p is
// unchanged.
func (p *Profile) Merge(q *Profile) error {
	for _, o := range q.Objects {
		mine := p.object(o.Name)
		if mine == nil {
			continue
		}
		if mine.Digest != o.Digest {
			return &MismatchError{Object: o.Name, Why: fmt.Sprintf("two versions of the object (sha256 %s and %s): record the coverage of one of them again", short(mine.Digest), short(o.Digest))}
		}
		for _, k := range o.Kernels {
			if have := mine.kernel(k.Name); have != nil {
				if err := have.fits(o.Name, k); err != nil {
					return err
				}
			}
		}
	}
	for _, o := range q.Objects {
		mine := p.object(o.Name)
		if mine == nil {
			mine = &Object{Name: o.Name, Digest: o.Digest}
			p.Objects = append(p.Objects, mine)
		}
		files := make([]int, len(o.Files))
		for i, f := range o.Files {
			files[i] = mine.file(f.Path)
			for line, text := range f.Texts {
				mine.Files[files[i]].text(line, text)
			}
		}
		for _, k := range o.Kernels {
			mine.add(k, files)
		}
	}
	return nil
}

func short(digest string) string { return digest[:min(len(digest), 12)] }

func (p *Profile) object(name string) *Object {
	for _, o := range p.Objects {
		if o.Name == name {
			return o
		}
	}
	return nil
}

func (o *Object) kernel(name string) *Kernel {
	for _, k := range o.Kernels {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// file returns the index of a source file, which it adds if it is new.
func (o *Object) file(path string) int {
	for i, f := range o.Files {
		if f.Path == path {
			return i
		}
	}
	o.Files = append(o.Files, &File{Path: path})
	return len(o.Files) - 1
}

func (f *File) text(line int, text string) {
	if f.Texts == nil {
		f.Texts = map[int]string{}
	}
	f.Texts[line] = text
}

func (k *Kernel) function(section string, offset int) *Function {
	for _, f := range k.Functions {
		if f.Section == section && f.Offset == offset {
			return f
		}
	}
	return nil
}

// fits reports a difference between the code of two kernels of the same name.
func (k *Kernel) fits(object string, q *Kernel) error {
	for _, f := range q.Functions {
		g := k.function(f.Section, f.Offset)
		if g == nil {
			continue
		}
		if g.Name != f.Name || g.Code != f.Code || len(g.Hits) != len(f.Hits) || len(g.Branches) != len(f.Branches) {
			return &MismatchError{Object: object, Kernel: k.Name, Function: f.Name,
				Why: "CO-RE relocated it differently: two kernels have this name, or the types of one changed (name the files differently, or record one again)"}
		}
		for i := range f.Branches {
			if f.Branches[i].Slot != g.Branches[i].Slot {
				return &MismatchError{Object: object, Kernel: k.Name, Function: f.Name, Why: "its branches are at other places in the two files"}
			}
		}
	}
	return nil
}

// add adds the counts of a kernel that fits. files maps its file indexes to those of the object.
func (o *Object) add(q *Kernel, files []int) {
	k := o.kernel(q.Name)
	if k == nil {
		k = &Kernel{Name: q.Name}
		o.Kernels = append(o.Kernels, k)
	}
	k.Runs += q.Runs
	for _, f := range q.Functions {
		g := k.function(f.Section, f.Offset)
		if g == nil {
			c := *f
			c.Hits, c.Dead, c.Branches = slices.Clone(f.Hits), slices.Clone(f.Dead), slices.Clone(f.Branches)
			c.Lines = make([][3]int, len(f.Lines))
			for i, l := range f.Lines {
				c.Lines[i] = [3]int{l[0], files[l[1]], l[2]}
			}
			k.Functions = append(k.Functions, &c)
			continue
		}
		g.add(f)
	}
}

func (f *Function) add(g *Function) {
	for i, n := range g.Hits {
		if n > 0 && f.Hits[i] >= 0 {
			f.Hits[i] += n
		}
	}
	for i, b := range g.Branches {
		f.Branches[i].Taken = sum(f.Branches[i].Taken, b.Taken)
		f.Branches[i].Fell = sum(f.Branches[i].Fell, b.Fell)
	}
	dead := make([]bool, len(f.Hits)) // dead with the global variables of both profiles
	f.eachDead(func(i int) { dead[i] = true })
	both := make([]bool, len(f.Hits))
	g.eachDead(func(i int) { both[i] = dead[i] })
	f.Dead = ranges(both)
}

// sum adds two counts; -1 remains only if both are impossible.
func sum(a, b int) int {
	switch {
	case a < 0:
		return b
	case b < 0:
		return a
	}
	return a + b
}

func (f *Function) eachDead(do func(slot int)) {
	for _, d := range f.Dead {
		for i := d[0]; i < d[1]; i++ {
			do(i)
		}
	}
}

// ranges lists the ranges of slots that are true.
func ranges(on []bool) [][2]int {
	var out [][2]int
	for i := 0; i < len(on); i++ {
		if !on[i] {
			continue
		}
		from := i
		for i < len(on) && on[i] {
			i++
		}
		out = append(out, [2]int{from, i})
	}
	return out
}
