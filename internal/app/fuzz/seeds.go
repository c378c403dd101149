package fuzz

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// seeds reads the scenario with the seeds, or makes one of default runs.
func (f *Fuzzer) seeds(ctx context.Context) error {
	text, path := f.opt.Text, f.opt.Path
	var linked *loader.Linked
	if text == nil {
		load := f.opt.Scenario.Load
		load.Also = append(slices.Clone(load.Also), f.opt.Programs...)
		var err error
		if linked, err = f.obj.Load(f.target, load); err != nil {
			return err
		}
		var b bytes.Buffer
		opt := f.opt.Scenario
		opt.NameArgs = true
		if err := scenario.Skeleton(ctx, &b, linked, filepath.Base(f.objectFrom(f.keepDir())), f.opt.Programs, opt); err != nil {
			return err
		}
		text, path = b.Bytes(), "seeds.yaml"
	}
	root, err := grammar.ReadNode(path, text)
	if err != nil {
		return err
	}
	f.root = root
	if linked != nil {
		if err := f.deviceRun(ctx, root, linked); err != nil {
			return err
		}
		text = root.Print()
	}
	if f.file, err = scenario.Parse(path, text); err != nil {
		return err
	}
	if f.opt.Text == nil { // what a default run does is no expectation of other inputs, and checking it takes time in each machine
		for _, run := range root.Get("runs").Items {
			run.Drop("expect")
		}
	}
	if f.opt.Text == nil { // what only other inputs read has the values that a default run finds there
		root.Child("kernel").Put("values", grammar.Word("default"))
	}
	if len(f.opt.Others) > 0 {
		stopClock(root)
	}
	if f.opt.Text == nil || len(f.opt.Others) > 0 {
		if f.file, err = scenario.Parse(path, root.Print()); err != nil {
			return err
		}
	}
	for _, n := range f.file.Varied {
		f.varies[n.Text] = true
	}
	for _, i := range f.file.Ignored {
		f.opt.Ignore = append(f.opt.Ignore, i.Ignore)
	}
	return nil
}

// betweenEvents is the time before an event, where two builds or kernels are compared and the
// scenario says nothing: with a clock that stands still during events, none would pass.
const betweenEvents = "1ms"

// stopClock makes the clock of a scenario stand still while events run, so that it tells two builds
// the same however often they ask.
func stopClock(root *grammar.Node) {
	root.Child("kernel").Child("clock").Put("step", grammar.Word("0"))
	for _, run := range root.Get("runs").Items {
		if run.Get("after") == nil {
			run.Put("after", grammar.Word(betweenEvents))
		}
	}
}

// space is what is input, apart from packets.
type space struct {
	writers *writers
	maps    []*loader.Map
	vars    []Variable // with their initial bytes
	fields  []argument // of objects in the scenario
	texts   []text     // likewise
	values  []uint64   // constants of the programs
	runs    map[string]*runSpace
	shares  map[string][]string
}

// runSpace is the input of a run.
type runSpace struct {
	packet      []byte // that it begins with, nil without packets
	least, most int
	ctx         []byte     // plain bytes that are the context, or a report
	reports     [][]byte   // of a HID device, one of each id
	fields      []string   // of a user ABI context
	args        []argument // numbers among the arguments
	slow        []string   // arguments that are set only when a context is made
	helpers     []string   // whose results are input
	pointers    []string   // arguments that lead to kernel objects
	user        []Buffer   // what is behind those that lead to user memory
	// option is the call of a socket option, sysctl the access to a file, that the program filters.
	option *hook.Sockopt
	sysctl *Sysctl
}

// findSpace finds out what is input.
func (f *Fuzzer) findSpace(s *side) space {
	m := s.fast.Machine()
	l := m.Linked()
	sp := space{writers: findWriters(l, f.without()), values: constants(l), runs: map[string]*runSpace{}, shares: sharing(s, f.order)}
	for _, def := range l.Maps {
		if b, ok := m.Map(def); ok && def.DataKind == loader.DataNone && settable(b.Spec().Type) && (f.varies[def.Name] || !sp.writers.maps[def.Name]) {
			sp.maps = append(sp.maps, def)
		}
		if def.DataKind == loader.DataNone || def.DataKind == loader.DataKconfig || def.DataKind == loader.DataArena {
			continue
		}
		for _, v := range def.Vars {
			b, err := m.ReadVariable(v.Name)
			if err != nil || strings.Contains(v.Name, ".") || sp.writers.vars[v.Name] && !f.varies[v.Name] || len(b) == 0 || len(b) > 64 {
				continue
			}
			if _, ok := s.fast.VariableNode(v.Name, b); ok {
				sp.vars = append(sp.vars, Variable{v.Name, b})
			}
		}
	}
	sp.fields, sp.texts = f.objectFields(s)
	for _, name := range f.order {
		sp.runs[name] = f.runSpace(s, s.runs[name])
	}
	return sp
}

// without are the programs that are not searched because nothing names them.
func (f *Fuzzer) without() []string {
	return slices.DeleteFunc(slices.Clone(f.opt.Without), func(name string) bool { return slices.Contains(f.opt.Programs, name) })
}

// settable reports whether user space fills maps of a type with plain values, or
// with maps that are empty.
func settable(t uapi.MapType) bool {
	switch t {
	case uapi.MapTypeHash, uapi.MapTypeArray, uapi.MapTypeLRUHash, uapi.MapTypeLPMTrie, uapi.MapTypePercpuArray, uapi.MapTypePercpuHash, uapi.MapTypeDevmap, uapi.MapTypeDevmapHash, uapi.MapTypeCpumap,
		uapi.MapTypeArrayOfMaps, uapi.MapTypeHashOfMaps:
		return true
	}
	return false
}

// targets reports whether the elements of a map are what packets are redirected to: a device or the
// length of a CPU's queue, and a program.
func targets(t uapi.MapType) bool {
	return t == uapi.MapTypeDevmap || t == uapi.MapTypeDevmapHash || t == uapi.MapTypeCpumap
}

// fill makes a value one that exists: a target is not 0, and there is no program behind it. Of a
// map of maps all values are the same.
func (f *Fuzzer) fill(t uapi.MapType, v []byte) {
	if t == uapi.MapTypeArrayOfMaps || t == uapi.MapTypeHashOfMaps {
		clear(v) // the map that is there is an empty one
	}
	if !targets(t) || len(v) < 4 {
		return
	}
	clear(v[4:])
	order := f.first.fast.Machine().Memory().ByteOrder()
	const most = 255
	if order.Uint32(v) == 0 || order.Uint32(v) > most {
		order.PutUint32(v, 1+order.Uint32(v)%most)
	}
}

// isPointer reports whether an argument of a hook is an address, by its type or, without types, by
// its value.
func isPointer(m *machine.Machine, a *hook.Arg) bool {
	if a.Spec != nil && a.Type != 0 {
		return a.Spec.SkipMods(a.Type).Kind == btf.KindPtr
	}
	_, known := m.NameAddr(a.Value)
	return a.Object != nil || known
}

// argument is a number that is input.
type argument struct {
	Number
	bits int
	// errno means that it is 0 or a negative error.
	errno bool
}

// text is a string that is input.
type text struct {
	Text
	most int // bytes without the NUL
}

// fit returns the value of the argument that is nearest to v in kind.
func (a *argument) fit(v uint64) uint64 {
	if a.errno {
		if v == 0 {
			return 0
		}
		return -(1 + (v-1)%133) // errors of system calls
	}
	if a.bits > 0 && a.bits < 64 {
		v &= 1<<a.bits - 1
	}
	return v
}

// find returns the argument of a name, or nil.
func find(list []argument, name string) *argument {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// objectFields are the numbers and the strings among the fields that the scenario sets.
func (f *Fuzzer) objectFields(s *side) (out []argument, texts []text) {
	for _, p := range f.file.Objects {
		o := s.fast.Object(p.Key.Text)
		if o == nil || p.Value.Kind != grammar.Mapping {
			continue
		}
		for _, field := range p.Value.Pairs {
			v, path := field.Value, strings.TrimPrefix(field.Key.Text, ".")
			if v.Kind == grammar.Scalar && v.Quoted && v.Tag == "" {
				if most := textRoom(o, path); most > 0 {
					texts = append(texts, text{Text{p.Key.Text + "." + path, v.Text}, most})
				}
				continue
			}
			if v.Kind != grammar.Scalar || v.Quoted || v.Tag != "" || len(v.Text) > 0 && v.Text[0] == '$' {
				continue
			}
			if v, err := o.Uint(path); err == nil {
				out = append(out, argument{Number: Number{p.Key.Text + "." + path, v}, bits: fieldBits(o, path)})
			}
		}
	}
	return out, texts
}

// textRoom is how long a string a field may have: an array of characters has its size, a pointer
// leads to as many as names of the kernel have.
func textRoom(o *object.Object, path string) int {
	f, _, err := o.Peek(path)
	if err != nil || f.Spec == nil {
		return 0
	}
	const longest = 255
	switch t := f.Spec.SkipMods(f.Type); {
	case t.Kind == btf.KindPtr:
		return longest
	case t.Kind == btf.KindArray && f.Size > 1:
		return int(min(f.Size-1, longest))
	}
	return 0
}

// runSpace looks at the context of a run.
func (f *Fuzzer) runSpace(s *side, run *scenario.Run) *runSpace {
	sp := &runSpace{}
	lp := s.program(run)
	takes := progtype.Of(lp.Type).Takes
	sp.helpers = answerable(s.fast.Machine().Calls(run.Prog))
	if deviceOf(run) != nil {
		f.deviceSpace(s, run, sp)
		return sp
	}
	start, err := s.fast.Start(run)
	if err != nil {
		return sp
	}
	if takes.Has(progtype.TakesPacket) {
		sp.least, sp.most = limits(lp)
	}
	c, err := s.fast.Machine().Inspect(run.Prog, start.Input)
	if err != nil {
		return sp
	}
	defer func() { c.Leave(); c.Free() }()
	sp.fields, sp.option, sp.sysctl = c.FieldNames(), c.Sockopt(), sysctlIn(c)
	if takes.Has(progtype.TakesPacket) {
		sp.packet = slices.Clone(c.FrameIn())
	}
	sp.user = userBuffers(s.fast.Machine().Kernel(), c)
	for _, name := range c.ArgNames() {
		v, pointer := uint64(0), false
		if a := c.Arg(name); a != nil {
			v, pointer = a.Value, isPointer(s.fast.Machine(), a)
		} else if was, size, ok := c.ArgValue(name); ok && size == s.fast.Machine().Memory().PointerSize() {
			pointer = s.fast.Machine().Kernel().ObjectAt(was) != nil
		}
		switch user := slices.ContainsFunc(sp.user, func(b Buffer) bool { return b.Name == name }); {
		case user: // what is there, and any other number
		case pointer:
			sp.pointers = append(sp.pointers, name)
			continue
		}
		errno := name == "ret" && progtype.Of(lp.Type).TargetOf(lp.Attach) == progtype.LSMHook
		if was, size, ok := c.ArgValue(name); ok {
			sp.args = append(sp.args, argument{Number{name, was}, 8 * size, errno})
		} else if a := c.Arg(name); a != nil || name == "ret" {
			bits := 64
			if a != nil && a.Spec != nil {
				if n, err := a.Spec.Sizeof(a.Type); err == nil {
					bits = 8 * int(n)
				}
			}
			sp.args, sp.slow = append(sp.args, argument{Number{name, v}, bits, errno}), append(sp.slow, name)
		}
	}
	if takes.Has(progtype.TakesBytes) && !takes.Has(progtype.TakesPacket) && len(c.Args) == 0 && len(run.Args) == 0 {
		sp.ctx = slices.Clone(c.Bytes())
		if start.Context != nil {
			sp.ctx = start.Context
		}
	}
	return sp
}

// fieldBits is the width of a field of an object.
func fieldBits(o *object.Object, path string) int {
	f, _, err := o.Peek(path)
	switch {
	case err != nil:
		return 64
	case f.BitSize != 0:
		return int(f.BitSize)
	}
	return int(8 * f.Size)
}

func limits(lp *loader.LinkedProgram) (least, most int) {
	least, most = 14, maxPacket
	for least <= 64 && machine.CheckPacket(lp.Program, least) != nil {
		least++
	}
	for most > least && machine.CheckPacket(lp.Program, most) != nil {
		most--
	}
	return least, most
}

// isInput reports whether user space alone writes a map or a variable, as far as is known, or the
// scenario says that its contents are input.
func (f *Fuzzer) isInput(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.varies[name] || !f.written[name] && !f.space.writers.maps[name] && !f.space.writers.vars[name]
}

// valueOf returns the bytes of an element as an input has it, or as it is before the events.
func (f *Fuzzer) valueOf(s *side, in *Input, sp spot) ([]byte, error) {
	for _, e := range in.Maps {
		if e.is(sp.name, sp.in, sp.key) {
			return slices.Clone(e.Value), nil
		}
	}
	b, ok := s.whole.Machine().MapByName(sp.name)
	if !ok {
		return nil, fmt.Errorf("no map %s", sp.name)
	}
	key, size := sp.key, b.Spec().ValueSize
	if sp.in != nil {
		if b.Spec().Inner == nil {
			return nil, fmt.Errorf("map %s has no maps", sp.name)
		}
		size = b.Spec().Inner.ValueSize
		s.whole.Machine().Restore(s.start)
		if b, ok = b.(maps.OuterMap).Inner(sp.in); !ok {
			return make([]byte, size), nil
		}
	}
	out := make([]byte, size)
	for _, e := range s.initial(b) {
		if bytes.Equal(e.Key, key) {
			if e.Value != nil {
				copy(out, e.Value)
			} else if len(e.PerCPU) > 0 {
				copy(out, e.PerCPU[0])
			}
		}
	}
	return out, nil
}

// initial are the elements of a map before the events.
func (s *side) initial(b maps.Map) []maps.Entry {
	s.whole.Machine().Restore(s.start)
	return b.Entries()
}

// isArray reports whether the keys of a map are numbers below its size.
func isArray(t uapi.MapType) bool {
	return t == uapi.MapTypeArray || t == uapi.MapTypePercpuArray || t == uapi.MapTypeDevmap || t == uapi.MapTypeCpumap || t == uapi.MapTypeArrayOfMaps
}
