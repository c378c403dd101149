package matrix

import (
	"encoding/binary"
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// wire reads or writes values as bytes: one function for each type says what is in it, in both
// directions. A value that cannot be read back ends in an error in either direction.
type wire struct {
	reading bool
	out     []byte
	text    string // what is left to read; strings are parts of it
	err     error
}

var (
	errWire  = errors.New("matrix: damaged results")
	errAlien = errors.New("matrix: a result refers to what its object does not have")
)

func (w *wire) fail(err error) {
	if w.err == nil {
		w.err = err
	}
	w.text = ""
}

func (w *wire) uint(v *uint64) {
	if !w.reading {
		w.out = binary.AppendUvarint(w.out, *v)
		return
	}
	*v = 0
	for shift := 0; shift < 64; shift += 7 {
		if w.text == "" {
			break
		}
		b := w.text[0]
		w.text = w.text[1:]
		if *v |= uint64(b&0x7f) << shift; b < 0x80 {
			return
		}
	}
	*v = 0
	w.fail(errWire)
}

// num handles any integer.
func num[T ~int | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64](w *wire, v *T) {
	n := uint64(*v)
	if w.uint(&n); w.reading {
		*v = T(n)
		if uint64(*v) != n {
			w.fail(errWire)
		}
	}
}

func (w *wire) bool(v *bool) {
	n := uint8(0)
	if *v {
		n = 1
	}
	num(w, &n)
	*v = n != 0
}

// count handles a number of elements that follow: no more than there are bytes left.
func (w *wire) count(n int) int {
	num(w, &n)
	if w.reading && (n < 0 || n > len(w.text)) {
		w.fail(errWire)
		return 0
	}
	return n
}

func str[T ~string](w *wire, v *T) {
	n := w.count(len(*v))
	if w.reading {
		*v, w.text = T(w.text[:n]), w.text[n:]
		return
	}
	w.out = append(w.out, *v...)
}

// bytes handles bytes, which may be nil.
func (w *wire) bytes(v *[]byte) {
	some := *v != nil
	if w.bool(&some); !some {
		*v = nil
		return
	}
	s := string(*v)
	if str(w, &s); w.reading {
		*v = []byte(s)
	}
}

// listOf handles a list, which may be nil.
func listOf[T any](w *wire, v *[]T, each func(*T)) {
	some := *v != nil
	if w.bool(&some); !some {
		*v = nil
		return
	}
	n := w.count(len(*v))
	if w.reading {
		*v = make([]T, 0, min(n, 1<<16)) // elements may be larger than their bytes here
		for range n {
			var x T
			if each(&x); w.err != nil {
				return
			}
			*v = append(*v, x)
		}
		return
	}
	for i := range *v {
		each(&(*v)[i])
	}
}

// bits handles a list of truth values, eight to a byte.
func (w *wire) bits(v *[]bool) {
	some := *v != nil
	if w.bool(&some); !some {
		*v = nil
		return
	}
	n := len(*v)
	num(w, &n)
	packed := make([]byte, 0)
	if !w.reading {
		packed = make([]byte, (n+7)/8)
		for i, set := range *v {
			if set {
				packed[i/8] |= 1 << (i % 8)
			}
		}
	}
	if w.bytes(&packed); !w.reading {
		return
	}
	if n < 0 || (n+7)/8 != len(packed) {
		w.fail(errWire)
		return
	}
	*v = make([]bool, n)
	for i := range *v {
		(*v)[i] = packed[i/8]>>(i%8)&1 != 0
	}
}

// optional handles a value that there may be none of.
func optional[T any](w *wire, v **T, f func(*T)) {
	some := *v != nil
	if w.bool(&some); !some {
		*v = nil
		return
	}
	if w.reading {
		*v = new(T)
	}
	f(*v)
}

func (w *wire) verdict(v *verifier.Verdict) {
	num(w, &v.Outcome)
	num(w, &v.Errno)
	str(w, &v.Message)
	str(w, &v.Lacks)
	num(w, &v.Refusal)
	str(w, &v.Reason)
	str(w, &v.Missing)
	num(w, &v.Insn)
	optional(w, &v.Source, func(l *verifier.Line) {
		num(w, &l.Insn)
		str(w, &l.File)
		num(w, &l.Line)
		str(w, &l.Text)
	})
	num(w, &v.ProcessedInsns)
	num(w, &v.TotalStates)
	num(w, &v.PeakStates)
	num(w, &v.MaxStatesPerInsn)
	listOf(w, &v.StackDepth, func(n *int) { num(w, n) })
	listOf(w, &v.Reliable, func(n *int) { num(w, n) })
	num(w, &v.ExceptionCallback)
	w.bool(&v.Untyped)
	num(w, &v.CtxSize)
	w.bool(&v.Bound)
	w.bool(&v.Unlocked)
	w.bits(&v.Reached)
	listOf(w, &v.Path, func(b *verifier.Branch) {
		num(w, &b.Insn)
		w.bool(&b.Taken)
	})
	str(w, &v.Regs)
}

// cell handles all of a cell but its verdict, which cells share.
func (w *wire) cell(c *Cell) {
	r := &c.Relocations
	for _, n := range []*int{&r.OK, &r.Changed, &r.PoisonedDead, &r.PoisonedMay, &r.PoisonedReached, &r.Errors, &c.Baked, &c.Found} {
		num(w, n)
	}
	str(w, &c.Load)
	str(w, &c.Result)
	str(w, &c.Detail)
	for _, b := range []*bool{&c.Mismatch, &c.Refused, &c.Disabled, &c.Follows} {
		w.bool(b)
	}
	str(w, &c.differs)
}

// Types of an outcome, which are the object's.
const (
	noTypes = iota
	objectTypes
	debugTypes
)

func (w *wire) outcome(o *outcome, obj *loader.Object) {
	num(w, &o.ret)
	str(w, &o.verdict)
	w.bytes(&o.packet)
	listOf(w, &o.events, func(e *event) {
		str(w, &e.channel)
		num(w, &e.typ)
		w.bytes(&e.data)
	})
	listOf(w, &o.changes, func(c *change) {
		str(w, &c.id)
		str(w, &c.place)
		w.mapOf(&c.def, obj)
		w.bytes(&c.val)
		w.bool(&c.deleted)
	})
	listOf(w, &o.effects, func(s *string) { str(w, s) })
	w.bool(&o.untyped)
	w.types(&o.spec, obj)
	w.names(&o.names)
}

// types handles the types of an outcome.
func (w *wire) types(spec **btf.Spec, obj *loader.Object) {
	which := uint8(noTypes)
	switch s := *spec; {
	case w.reading, s == nil:
	case s == obj.BTF:
		which = objectTypes
	case s == obj.DebugTypes():
		which = debugTypes
	default:
		w.fail(errAlien)
	}
	num(w, &which)
	switch {
	case !w.reading:
	case which == noTypes:
		*spec = nil
	case which == objectTypes:
		*spec = obj.BTF
	case which == debugTypes:
		*spec = obj.DebugTypes()
	default:
		w.fail(errWire)
	}
}

// mapOf handles a map that a run changed: the object's of the same name, with what a comparison
// reads.
func (w *wire) mapOf(def **loader.Map, obj *loader.Object) {
	name := ""
	if *def != nil {
		name = (*def).Name
	}
	some := *def != nil
	w.bool(&some)
	str(w, &name)
	if !some {
		*def = nil
		return
	}
	i := slices.IndexFunc(obj.Maps, func(m *loader.Map) bool { return m.Name == name })
	if i < 0 {
		w.fail(errAlien)
		return
	}
	own := obj.Maps[i]
	if d := *def; !w.reading && (d.DataKind != own.DataKind || d.KeyType != own.KeyType || d.ValueType != own.ValueType || !reflect.DeepEqual(d.Vars, own.Vars)) {
		w.fail(errAlien)
		return
	}
	if w.reading {
		*def = own
	}
}

// names handles the names of replaced addresses, in the order of these.
func (w *wire) names(v *map[uint64]string) {
	ids := slices.Sorted(maps.Keys(*v))
	listOf(w, &ids, func(id *uint64) {
		name := (*v)[*id]
		num(w, id)
		if str(w, &name); w.reading {
			if *v == nil {
				*v = map[uint64]string{}
			}
			(*v)[*id] = name
		}
	})
	if w.reading && *v == nil {
		*v = map[uint64]string{}
	}
}

func (w *wire) facts(f *Facts) {
	str(w, &f.Release)
	str(w, &f.Version)
	str(w, &f.VersionKnown)
	str(w, &f.Arch)
	w.bool(&f.BigEndian)
	num(w, &f.PointerSize)
	num(w, &f.Types)
}
