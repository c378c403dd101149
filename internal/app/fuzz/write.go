package fuzz

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys/hid/device"
)

// draft is a scenario that is being written.
type draft struct {
	f    *Fuzzer
	root *grammar.Node
	dir  string // of the file
	runs []*grammar.Node
}

// newDraft begins a scenario with the state of an input.
func (f *Fuzzer) newDraft(dir string, in *Input) *draft {
	d := &draft{f: f, root: f.root.Clone(), dir: dir}
	for _, key := range []string{"runs", "sequence", "description", "kernels"} {
		d.root.Drop(key)
	}
	head := &grammar.Node{Kind: grammar.Mapping}
	head.Put("object", grammar.Quote(f.objectFrom(dir)))
	d.root.Drop("object")
	d.root.Pairs = append(head.Pairs, d.root.Pairs...)
	r := f.first.whole
	for _, g := range in.Globals {
		if n, ok := r.VariableNode(g.Name, g.Value); ok {
			d.root.Child("globals").Put(g.Name, n)
		}
	}
	for i, e := range in.Maps {
		if e.In != nil {
			d.inner(&in.Maps[i])
			continue
		}
		m, ok := r.Machine().Linked().Map(e.Map)
		if !ok || len(e.Key) != int(m.KeySize) {
			continue
		}
		if m.OfMaps() { // elements of that map may be there
			if key := r.KeyNode(e.Map, e.Key); !d.root.Child("maps").Child(e.Map).HasKey(key) {
				d.root.Child("maps").Child(e.Map).PutKey(key, r.ValueNode(e.Map, e.Value))
			}
			continue
		}
		d.root.Child("maps").Child(e.Map).PutKey(r.KeyNode(e.Map, e.Key), r.ValueNode(e.Map, e.Value))
	}
	for _, t := range in.Texts {
		d.field(t.Name, grammar.Quote(t.Value))
	}
	for _, l := range in.Links { // before the fields of the objects that they make
		d.field(l.Name, l.node())
	}
	for _, n := range in.Fields {
		d.field(n.Name, grammar.Word(fmt.Sprint(n.Value)))
	}
	return d
}

// field sets a field OBJECT.path.
func (d *draft) field(name string, value *grammar.Node) {
	object, path, _ := strings.Cut(name, ".")
	if o := d.root.Get("objects").Get(object); o != nil {
		if path == "type" || path == "like" {
			path = "." + path // a field, not the key with that name
		}
		o.Put(path, value)
	}
}

// objectFrom is the path of the object's file from a directory.
func (f *Fuzzer) objectFrom(dir string) string {
	path := f.opt.ObjectPath
	if path == "" {
		return f.obj.Name
	}
	base, err1 := filepath.Abs(dir)
	abs, err2 := filepath.Abs(path)
	if err1 != nil || err2 != nil {
		return path
	}
	rel, err := filepath.Rel(base, abs)
	if err != nil {
		return filepath.ToSlash(abs)
	}
	return filepath.ToSlash(rel)
}

// event adds the run of an event and returns it, to be given a name and expectations.
func (d *draft) event(e *Event) *grammar.Node {
	f := d.f
	from := f.first.runs[e.Run]
	n := &grammar.Node{Kind: grammar.Mapping}
	for _, item := range f.root.Get("runs").Items {
		if name := item.Get("name"); name != nil && name.Text == e.Run || name == nil && item.Get("prog") != nil && item.Get("prog").Text == e.Run {
			n = item.Clone()
			break
		}
	}
	for _, key := range []string{"expect", "name", "repeat", "each", "truncate"} {
		n.Drop(key)
	}
	if n.Get("prog") == nil {
		n.Put("prog", grammar.Word(from.Prog))
	}
	switch p := []byte(e.Packet); {
	case p != nil:
		n.Put("packet", packetNode(p))
	case from.Packet != nil && from.PacketNode != nil: // files are named from another directory
		n.Put("packet", packetNode(from.Packet))
	}
	switch {
	case e.Ctx != nil && deviceOf(from) != nil:
		h := n.Child("hid")
		if h.Get("events") == nil {
			h.Put("events", &grammar.Node{Kind: grammar.Sequence})
		}
		events := h.Get("events")
		events.Items = append(events.Items, eventNode(&device.Event{Kind: device.Input, Data: e.Ctx}))
	case e.Ctx != nil:
		n.Put("ctx", grammar.Quote(fmt.Sprintf("%x", []byte(e.Ctx))))
	}
	if e.CPU > 0 {
		n.Put("cpu", grammar.Word(fmt.Sprint((e.CPU-1)%f.first.whole.Machine().Kernel().CPUs())))
	}
	if e.After > 0 {
		n.Put("after", grammar.Word(e.After.String()))
	}
	numbers := d.call(n, e)
	elements := n.Get("elements")
	for _, a := range numbers {
		if elements == nil {
			n.Child("args").Put(a.Name, grammar.Word(signed(a.Value)))
			continue
		}
		for _, item := range elements.Items { // an iterator has its arguments there
			item.Put(a.Name, grammar.Word(signed(a.Value)))
		}
	}
	for _, l := range e.Links {
		n.Child("args").Put(l.Name, l.node())
	}
	for i := range e.User {
		n.Child("args").Put(e.User[i].Name, e.User[i].node())
	}
	for _, h := range e.Helpers {
		n.Child("helpers").Put(h.Helper, answerNode(h))
	}
	d.runs = append(d.runs, n)
	return n
}

// signed writes a number, a small negative one with its sign.
func signed(v uint64) string {
	if n := int64(v); n < 0 && n >= -4096 {
		return fmt.Sprint(n)
	}
	return fmt.Sprint(v)
}

func answerNode(h Answer) *grammar.Node {
	var list []*grammar.Node
	for _, v := range h.Returns {
		list = append(list, grammar.Word(signed(v)))
	}
	if h.At == 0 {
		if len(list) == 1 {
			return list[0]
		}
		return &grammar.Node{Kind: grammar.Sequence, Items: list}
	}
	n := &grammar.Node{Kind: grammar.Mapping}
	n.Put("fail_at", grammar.Word(fmt.Sprint(h.At)))
	n.Put("ret", list[0])
	return n
}

// packetNode writes a packet as hex digits. One that is a seed is written as the expression that it
// is.
func packetNode(p []byte) *grammar.Node {
	for _, e := range seedExprs {
		if q, err := packet.Parse(e); err == nil && slices.Equal(p, q) {
			return grammar.Quote(e)
		}
	}
	return grammar.Quote(fmt.Sprintf("%x", p))
}

// text returns the file. Several runs of one input are its sequence.
func (d *draft) text(comment string, sequence bool) []byte {
	list := &grammar.Node{Kind: grammar.Sequence}
	var names []*grammar.Node
	for _, n := range d.runs {
		list.Items = append(list.Items, n)
		if name := n.Get("name"); name != nil {
			names = append(names, grammar.Quote(name.Text))
		}
	}
	root := d.root.Clone()
	d.dropObjects(root)
	if k := root.Get("kernel"); d.packetsOnly() && root.Get("objects") == nil && k != nil {
		if k.Drop("values"); len(k.Pairs) == 0 {
			root.Drop("kernel")
		}
	}
	root.Put("runs", list)
	if sequence && len(names) > 1 {
		root.Put("sequence", &grammar.Node{Kind: grammar.Sequence, Items: names})
	}
	var b strings.Builder
	for line := range strings.SplitSeq(comment, "\n") {
		b.WriteString("# " + line + "\n")
	}
	b.Write(root.Print())
	return []byte(b.String())
}

// packetsOnly reports whether all runs are of programs that read packets, so that what fields of
// kernel objects read as does not matter.
func (d *draft) packetsOnly() bool {
	return d.f.opt.Text == nil && !slices.ContainsFunc(d.runs, func(n *grammar.Node) bool {
		lp, ok := d.f.first.linked().Program(n.Get("prog").Text)
		return !ok || !progtype.Of(lp.Type).Takes.Has(progtype.TakesPacket)
	})
}

// dropObjects leaves out the objects that nothing in the file refers to.
func (d *draft) dropObjects(root *grammar.Node) {
	objects := root.Get("objects")
	if objects == nil {
		return
	}
	used := map[string]bool{}
	var visit func(n *grammar.Node)
	visit = func(n *grammar.Node) {
		for _, text := range []string{n.Text} {
			name, ok := strings.CutPrefix(text, "$")
			if n.Kind != grammar.Scalar || !ok && objects.Get(text) == nil || used[name] {
				continue
			}
			if o := objects.Get(name); o != nil {
				used[name] = true
				visit(o)
			}
		}
		for _, item := range n.Items {
			visit(item)
		}
		for _, p := range n.Pairs {
			visit(p.Key)
			visit(p.Value)
		}
	}
	for _, n := range d.runs {
		visit(n)
	}
	for _, p := range root.Pairs {
		if p.Key.Text != "objects" && p.Key.Text != "runs" {
			visit(p.Value)
		}
	}
	objects.Pairs = slices.DeleteFunc(objects.Pairs, func(p scenario.Pair) bool { return !used[p.Key.Text] })
	if len(objects.Pairs) == 0 {
		root.Drop("objects")
	}
}

// names gives the runs of an input names that differ.
func (d *draft) name(n *grammar.Node, want string) {
	for i := 1; ; i++ {
		name := want
		if i > 1 {
			name = fmt.Sprintf("%s (%d)", want, i)
		}
		if !slices.ContainsFunc(d.runs, func(o *grammar.Node) bool { return o != n && o.Get("name") != nil && o.Get("name").Text == name }) {
			named := &grammar.Node{Kind: grammar.Mapping}
			named.Put("name", grammar.Quote(name))
			n.Pairs = append(named.Pairs, n.Pairs...)
			return
		}
	}
}
