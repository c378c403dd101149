package kernel

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// view is a kernel object as a program sees it: an address, and the type that the program takes it
// for. It knows nothing of simulated objects.
type view struct {
	t    *testing.T
	k    *Kernel
	addr uint64
	l    *object.Layout
}

// viewOf returns the view of an address as a type by name.
func viewOf(t *testing.T, k *Kernel, typ string, addr uint64) view {
	t.Helper()
	l := k.LayoutNamed(typ)
	require.NotNil(t, l, "the types have no %s", typ)
	require.NotZero(t, addr, "NULL instead of a %s", typ)
	return view{t, k, addr, l}
}

// find follows a path of members and pointers, the first of the alternatives separated by | that
// the types have.
func (v view) find(paths string) (view, object.Field, bool) {
	v.t.Helper()
	for path := range strings.SplitSeq(paths, "|") {
		if w, f, ok := v.follow(path); ok {
			return w, f, true
		}
	}
	return v, object.Field{}, false
}

func (v view) follow(path string) (view, object.Field, bool) {
	v.t.Helper()
	for {
		f, rest, err := v.l.Place(path)
		if err != nil {
			return v, f, false
		}
		if rest == "" {
			return v, f, true
		}
		to := object.Target(f.Spec, f.Type)
		l := v.k.Types().Of(f.Spec, to.ID)
		if l == nil || !v.k.hasPath(l, rest) {
			return v, f, false
		}
		p := v.load(f)
		require.NotZero(v.t, p, "%s.%s is NULL", v.l.Name, f.Path)
		v, path = view{v.t, v.k, p, l}, rest
		if strings.HasPrefix(path, "[") { // an element behind the pointer
			index, after, _ := strings.Cut(path[1:], "]")
			n := uint64(0)
			for _, c := range index {
				n = n*10 + uint64(c-'0')
			}
			v.addr += n * l.Size
			if path = strings.TrimPrefix(after, "."); path == "" {
				return v, object.Field{Spec: l.Spec, Type: l.Type.ID, Size: l.Size}, true
			}
		}
	}
}

// hasPath reports whether types have a path, without reading anything.
func (k *Kernel) hasPath(l *object.Layout, path string) bool {
	if strings.HasPrefix(path, "[") {
		return true
	}
	f, rest, err := l.Place(path)
	if err != nil || rest == "" {
		return err == nil
	}
	next := k.Types().Of(f.Spec, object.Target(f.Spec, f.Type).ID)
	return next != nil && k.hasPath(next, rest)
}

// load reads a number through memory, as a program's load does.
func (v view) load(f object.Field) uint64 {
	v.t.Helper()
	p := make([]byte, f.Size)
	fault := v.k.Mem().Read(v.addr+f.Off, p)
	require.Nil(v.t, fault, "%s.%s: %v", v.l.Name, f.Path, fault)
	if f.BitSize != 0 {
		return endian.Bits(v.k.Order(), p, f.BitOff-8*f.Off, f.BitSize)
	}
	return endian.Uint(v.k.Order(), p)
}

// has reports whether the types have one of the paths.
func (v view) has(paths string) bool {
	for path := range strings.SplitSeq(paths, "|") {
		if v.k.hasPath(v.l, path) {
			return true
		}
	}
	return false
}

// num reads a number or a pointer.
func (v view) num(paths string) uint64 {
	v.t.Helper()
	w, f, ok := v.find(paths)
	require.True(v.t, ok, "%s has no %s", v.l.Name, paths)
	return w.load(f)
}

// at returns the address of a member.
func (v view) at(paths string) uint64 {
	v.t.Helper()
	w, f, ok := v.find(paths)
	require.True(v.t, ok, "%s has no %s", v.l.Name, paths)
	return w.addr + f.Off
}

// in returns the view of a member that is a struct.
func (v view) in(paths string) view {
	v.t.Helper()
	w, f, ok := v.find(paths)
	require.True(v.t, ok, "%s has no %s", v.l.Name, paths)
	return view{v.t, v.k, w.addr + f.Off, v.k.Types().Of(f.Spec, f.Type)}
}

// ptr follows a pointer, which must not be NULL.
func (v view) ptr(paths string) view {
	v.t.Helper()
	w, f, ok := v.find(paths)
	require.True(v.t, ok, "%s has no %s", v.l.Name, paths)
	p := w.load(f)
	require.NotZero(v.t, p, "%s.%s is NULL", v.l.Name, paths)
	l := v.k.Types().Of(f.Spec, object.Target(f.Spec, f.Type).ID)
	require.NotNil(v.t, l, "%s.%s points to nothing of a size", v.l.Name, paths)
	return view{v.t, v.k, p, l}
}

// outer is container_of: the struct whose member the view is.
func (v view) outer(typ, member string) view {
	v.t.Helper()
	return containerOf(v.t, v.k, v.addr, typ, member)
}

func containerOf(t *testing.T, k *Kernel, addr uint64, typ, members string) view {
	t.Helper()
	o := viewOf(t, k, typ, addr)
	_, f, ok := o.find(members)
	require.True(t, ok, "%s has no %s", typ, members)
	o.addr -= f.Off
	return o
}

// text reads a string: of an array of characters, or behind a pointer to them.
func (v view) text(paths string) string {
	v.t.Helper()
	w, f, ok := v.find(paths)
	require.True(v.t, ok, "%s has no %s", v.l.Name, paths)
	at := w.addr + f.Off
	if t := object.Strip(f.Spec, f.Type); t.Kind == btf.KindPtr {
		at = w.load(f)
	}
	var out []byte
	for range 4096 {
		c, fault := v.k.Mem().Load(at+uint64(len(out)), 1)
		require.Nil(v.t, fault, "%s.%s", v.l.Name, paths)
		if c == 0 {
			break
		}
		out = append(out, byte(c))
	}
	return string(out)
}

// list walks a list of list_heads, forwards, and checks each pointer back. member is the list_head
// in the elements of a type.
func (v view) list(head, typ, member string) []view {
	v.t.Helper()
	return v.k.listAt(v.t, v.at(head), typ, member)
}

func (k *Kernel) listAt(t *testing.T, head uint64, typ, member string) []view {
	t.Helper()
	var out []view
	prev := head
	for at := viewOf(t, k, "list_head", head).num("next"); at != head; {
		node := viewOf(t, k, "list_head", at)
		assert.Equal(t, prev, node.num("prev"), "prev in the list of %s.%s", typ, member)
		out = append(out, containerOf(t, k, at, typ, member))
		require.Less(t, len(out), 100, "the list of %s.%s does not end", typ, member)
		prev, at = at, node.num("next")
	}
	assert.Equal(t, prev, viewOf(t, k, "list_head", head).num("prev"), "the last of %s.%s", typ, member)
	return out
}

// hlist walks a list that starts at an hlist_head, and checks each pointer back.
func (v view) hlist(head, typ, member string) []view {
	v.t.Helper()
	var out []view
	pprev := v.at(head)
	for at := v.num(head + ".first"); at != 0 && at&1 == 0; {
		node := viewOf(v.t, v.k, "hlist_node", at)
		assert.Equal(v.t, pprev, node.num("pprev"), "pprev in the list of %s.%s", typ, member)
		out = append(out, containerOf(v.t, v.k, at, typ, member))
		require.Less(v.t, len(out), 100, "the list of %s.%s does not end", typ, member)
		pprev, at = at, node.num("next")
	}
	return out
}

// addrs returns the addresses of views, to compare them.
func addrs(vs []view) []uint64 {
	out := make([]uint64, 0, len(vs))
	for _, v := range vs {
		out = append(out, v.addr)
	}
	return out
}
