package scenario

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

func (j *judge) ringbuf(e *Expect) error {
	return j.events(e.Ringbuf, "ringbuf", func(m maps.Map) bool { _, ok := m.(maps.RingBuffer); return ok })
}

func (j *judge) perf(e *Expect) error {
	return j.events(e.Perf, "perf", func(m maps.Map) bool { _, ok := m.(maps.PerfArray); return ok })
}

// events compares the records of buffers: all of them in order, or their number.
func (j *judge) events(pairs []grammar.Pair, kind string, fits func(maps.Map) bool) error {
	return eachPair(pairs, func(p grammar.Pair) error {
		t, err := j.r.table(p.Key)
		if err != nil {
			return err
		}
		if !fits(t.b) {
			return p.Key.Errorf("%s: map %s is of type %v", kind, p.Key.Text, t.def.Type)
		}
		var got []machine.Event
		for _, e := range j.res.Events {
			if e.Map == p.Key.Text {
				got = append(got, e)
			}
		}
		n := p.Value
		switch {
		case n.Kind == grammar.Null:
			return nil
		case n.Kind == grammar.Scalar && n.Tag == "":
			want, err := n.Int(p.Key.Text, 0, 1<<32)
			if err != nil {
				return err
			}
			j.Expect(n.Pos, "records in "+p.Key.Text, len(got) == want, itoa(want), itoa(len(got)))
			return nil
		case n.Kind == grammar.Mapping || n.Kind == grammar.Scalar: // a single record may be written without a list
			n = &grammar.Node{Pos: n.Pos, Kind: grammar.Sequence, Items: []*grammar.Node{n}}
		case n.Kind != grammar.Sequence:
			return n.Errorf("%s %s: want a list of records or their number, got %s", kind, p.Key.Text, n.Describe())
		}
		return j.records(t, p.Key.Text, n, got)
	})
}

func (j *judge) records(t *table, name string, n *grammar.Node, got []machine.Event) error {
	if !j.Checking && len(got) != len(n.Items) {
		text := itoa(len(got))
		for i := range min(len(got), 3) {
			text += "; " + j.recordText(&got[i])
		}
		j.Expect(n.Pos, "records in "+name, false, itoa(len(n.Items)), text)
	}
	var wrong grammar.Mistakes
	for i, item := range n.Items {
		what := fmt.Sprintf("%s[%d]", name, i)
		switch {
		case j.Checking:
			_, err := j.record(t, item, nil, what)
			wrong.Add(err)
		case i < len(got):
			ms, err := j.record(t, item, &got[i], what)
			if err != nil {
				return err
			}
			j.mismatches(item, what, ms)
		}
	}
	return wrong.Err()
}

func (j *judge) recordText(e *machine.Event) string {
	if spec := j.r.m.EventTypes().Spec(); spec != nil && e.Type != 0 {
		return spec.FormatString(e.Type, e.Data)
	}
	return fmt.Sprintf("%x", e.Data)
}

// record compares one record. If e is nil, it only checks n for mistakes.
func (j *judge) record(t *table, n *grammar.Node, e *machine.Event, what string) ([]mismatch, error) {
	switch {
	case n.Tag == "!any":
		return nil, nil
	case n.Kind != grammar.Mapping:
		want, err := t.sample(n)
		if err != nil || e == nil {
			return nil, err
		}
		got := e.Data
		if n.Tag == "" { // a string, up to the first NUL
			text, _, _ := strings.Cut(string(got), "\x00")
			got = []byte(text)
		}
		if string(want) == string(got) {
			return nil, nil
		}
		return []mismatch{{n.Pos, what, showBytes(n, want), showBytes(n, got)}}, nil
	}
	id, rest, spec := btf.ID(0), n, j.r.m.EventTypes().Spec()
	var err error
	switch {
	case n.Get("as") != nil:
		if id, rest, err = recordType(spec, n); err != nil {
			return nil, err
		}
	case e == nil:
		return nil, nil // the type follows from the size of the record, which is not known yet
	case e.Type != 0:
		id = e.Type
	default:
		_, _, err := recordType(spec, n)
		return nil, err
	}
	size, err := spec.Sizeof(id)
	if err != nil {
		return nil, n.Wrap("", err)
	}
	data := make([]byte, size)
	if e != nil {
		if len(e.Data) < len(data) {
			return []mismatch{{n.Pos, what, fmt.Sprintf("%s of %d bytes", spec.TypeString(id), size), fmt.Sprintf("%d bytes", len(e.Data))}}, nil
		}
		data = e.Data
	}
	ms, err := j.r.b.compare(spec, btf.Field{Type: id}, rest, data, what)
	if e == nil {
		ms = nil
	}
	return ms, err
}

func showBytes(n *grammar.Node, b []byte) string {
	if n.Tag == "" {
		return fmt.Sprintf("%q", b)
	}
	return fmt.Sprintf("%x", b)
}

// reads checks that kernel fields were read. "task_struct.real_parent.tgid" requires a read of
// every step up to a pointer: task_struct.real_parent and task_struct.tgid.
func (j *judge) reads(e *Expect) error {
	var wrong grammar.Mistakes
	for _, n := range e.Reads {
		steps, err := readSteps(j.r.m.Kernel().BTF(), n)
		if !wrong.Add(err) || j.Checking {
			continue
		}
		missing := ""
		for _, s := range steps {
			if !j.wasRead(s) {
				missing = s.typ + "." + s.path
				break
			}
		}
		j.Expect(n.Pos, "reads "+n.Text, missing == "", "a read of "+missing, "none")
	}
	return wrong.Err()
}

type readStep struct{ typ, path string }

func (j *judge) wasRead(s readStep) bool {
	for i := range j.res.Reads {
		a := &j.res.Reads[i]
		if a.Type == s.typ && within(a.Path, s.path) {
			return true
		}
	}
	return false
}

// within reports whether a read of one path also reads another: they are equal, or one contains the
// other.
func within(read, asked string) bool {
	inner := func(a, b string) bool {
		return strings.HasPrefix(a, b) && (len(a) == len(b) || a[len(b)] == '.' || a[len(b)] == '[')
	}
	return inner(read, asked) || inner(asked, read) && read != ""
}

// readSteps resolves TYPE.path, across pointers, to the fields that must be read.
func readSteps(spec *btf.Spec, n *grammar.Node) ([]readStep, error) {
	typ, path, _ := strings.Cut(strings.ReplaceAll(strings.TrimPrefix(n.Text, "struct "), "->", "."), ".")
	if spec == nil {
		return nil, n.Errorf("reads: the kernel has no types")
	}
	t, ok := spec.Find(btf.KindStruct, typ)
	if !ok {
		if t, ok = spec.Find(btf.KindUnion, typ); !ok {
			return nil, n.Unknown("type", typ, typeNames(spec, typ))
		}
	}
	id := t.ID
	var steps []readStep
	at := ""
	for part := range strings.SplitSeq(path, ".") {
		full := joinPath(at, part)
		f, err := spec.ResolvePath(id, full)
		if err != nil {
			// The preceding step may be a pointer.
			g, gerr := spec.ResolvePath(id, at)
			p := spec.SkipMods(g.Type)
			if at == "" || gerr != nil || p.Kind != btf.KindPtr {
				return nil, n.Wrap("reads "+n.Text, err)
			}
			steps = append(steps, readStep{typ, at})
			pointee := spec.SkipMods(p.Ref)
			id, typ, at = pointee.ID, pointee.Name, part
			if _, err := spec.ResolvePath(id, at); err != nil {
				return nil, n.Wrap("reads "+n.Text, err)
			}
			continue
		}
		at = f.Path
	}
	return append(steps, readStep{typ, at}), nil
}
