package maps

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// sameAs compares lines with a file of testdata, or writes it.
func sameAs(t *testing.T, name string, lines []string) {
	t.Helper()
	path, got := filepath.Join("testdata", name), strings.Join(lines, "\n")+"\n"
	if *rewrite.Flag {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, strings.Split(string(want), "\n"), strings.Split(got, "\n"))
}

// eachSpec is a specification of each type that is accepted, some with other flags.
func eachSpec() []Spec {
	specs := slices.DeleteFunc(snapshotSpecs(), func(s Spec) bool { return s.Name == "in" }) // a hash
	slices.SortFunc(specs, func(a, b Spec) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), strings.Compare(a.Name, b.Name))
	})
	return specs
}

// Sizes, numbers of elements and map_extra at both sides of the limits of all types.
var (
	edgeKeys    = []uint32{0, 1, 3, 4, 5, 8, 9, 16, 260, 261, 512, 513, 0xffff, 0x10000, 1<<32 - 1}
	edgeValues  = []uint32{0, 1, 3, 4, 5, 7, 8, 9, 12, 16, 24, 32, 127 * 8, 128 * 8, 127 * 32, 128 * 32, 32767, 32768, 32769, 65407, 65408, trieValMax - 16, trieValMax - 15, trieValMax, trieValMax + 1, 1<<22 - 53, 1<<22 - 52, 1<<22 - 51, 1 << 22, 1<<22 + 1, 1<<31 - 1, 1 << 31, 1<<32 - 1}
	edgeEntries = []uint32{0, 1, 2, 4095, 4096, 4097, 8192, 8193, 1 << 20, 1<<20 + 1, 1<<24 + 1, 1<<31 - 1, 1 << 31, 1<<31 + 1, 1<<32 - 1}
	edgeExtras  = []uint64{0, 1, 3, 6, 7, 15, 16, 4096, 0xffff, 0x10000, 1 << 32, 1 << 40, 1<<32 - 4096, 1<<32 - 4096*4}
)

// edges changes each number of a specification to each of these.
func edges(s Spec) (out []Spec) {
	with := func(set func(*Spec)) {
		c := s
		set(&c)
		out = append(out, c)
	}
	for _, n := range edgeKeys {
		with(func(s *Spec) { s.KeySize = n })
	}
	for _, n := range edgeValues {
		with(func(s *Spec) { s.ValueSize = n })
	}
	for _, n := range edgeEntries {
		with(func(s *Spec) { s.MaxEntries = n })
	}
	for _, n := range edgeExtras {
		with(func(s *Spec) { s.Extra = n })
	}
	return out
}

// heavy reports whether a map would take memory here from its first moment on.
func heavy(s *Spec) bool {
	switch s.Type {
	case uapi.MapTypeLRUHash, uapi.MapTypeLRUPercpuHash, uapi.MapTypeArray, uapi.MapTypePercpuArray, uapi.MapTypeArrayOfMaps, uapi.MapTypePerfEventArray, uapi.MapTypeInsnArray:
		return s.MaxEntries > 1<<16 || s.MaxEntries > 6 && s.ValueSize > 1<<16
	}
	return false
}

// creation is what becomes of a map with these attributes.
func creation(t *testing.T, s Spec) string {
	env := newEnv(t, 2)
	defer env.Mem.Close() // there are very many
	_, err := New(env, s)
	var refused *CreateError
	switch {
	case err == nil:
		return "OK"
	case errors.As(err, &refused):
		return refused.Errno.Name()
	case errors.Is(err, ErrLimit):
		return "limit"
	}
	return err.Error()
}

// TestWhichMapsAreCreated changes each attribute of an accepted map of each type to both sides of
// all limits; the file has the values from which on the answer is another one. TestKernelCreate compares such maps with those of a kernel.
func TestWhichMapsAreCreated(t *testing.T) {
	var lines []string
	for _, spec := range eachSpec() {
		note := func(what string, answers []string) {
			lines = append(lines, spec.Name+", "+what+": "+strings.Join(answers, " "))
		}
		try := func(what string, n int, set func(s *Spec, i int) string) {
			var answers []string
			before := ""
			for i := range n {
				s := spec
				label := set(&s, i)
				if heavy(&s) {
					continue
				}
				if a := creation(t, s); a != before {
					answers, before = append(answers, label+"="+a), a
				}
			}
			note(what, answers)
		}
		try("key_size", len(edgeKeys), func(s *Spec, i int) string { s.KeySize = edgeKeys[i]; return fmt.Sprint(s.KeySize) })
		try("value_size", len(edgeValues), func(s *Spec, i int) string { s.ValueSize = edgeValues[i]; return fmt.Sprint(s.ValueSize) })
		try("max_entries", len(edgeEntries), func(s *Spec, i int) string { s.MaxEntries = edgeEntries[i]; return fmt.Sprint(s.MaxEntries) })
		try("map_extra", len(edgeExtras), func(s *Spec, i int) string { s.Extra = edgeExtras[i]; return fmt.Sprint(s.Extra) })
		note("flags", flagAnswers(t, spec))
		if spec.Inner != nil {
			try("inner", 40, func(s *Spec, i int) string {
				in := *s.Inner
				in.Type = uapi.MapType(i)
				s.Inner = &in
				return fmt.Sprint(i)
			})
			s := spec
			s.Inner = nil
			note("no inner map", []string{creation(t, s)})
		}
	}
	sameAs(t, "creation.txt", lines)
}

// flagAnswers changes each flag, and each pair of flags that are both accepted alone.
func flagAnswers(t *testing.T, spec Spec) (answers []string) {
	const flags = 20
	var alone []int
	for bit := range flags {
		s := spec
		s.Flags ^= 1 << bit
		a := creation(t, s)
		answers = append(answers, fmt.Sprintf("%d=%s", bit, a))
		if a == "OK" {
			alone = append(alone, bit)
		}
	}
	for i, a := range alone {
		for _, b := range alone[i+1:] {
			s := spec
			s.Flags ^= 1<<a | 1<<b
			if got := creation(t, s); got != "OK" {
				answers = append(answers, fmt.Sprintf("%d+%d=%s", a, b, got))
			}
		}
	}
	return answers
}

// probes are the operations whose answers the kernel defines, for a key and a value.
var probes = []struct {
	name string
	do   func(m Map, key, value []byte, flags uint64) uapi.Errno
	any  bool // flags do not matter
	// whole means that callers pass no short keys; they pass none of storages either.
	whole bool
}{
	{"lookup", func(m Map, key, _ []byte, _ uint64) uapi.Errno { _, e := m.Lookup(0, key); return e }, true, false},
	{"lookup on the last CPU", func(m Map, key, _ []byte, _ uint64) uapi.Errno { _, e := m.Lookup(1, key); return e }, true, false},
	{"lookup on no CPU", func(m Map, key, _ []byte, _ uint64) uapi.Errno { _, e := m.Lookup(2, key); return e }, true, false},
	{"lookup of CPU -1", func(m Map, key, _ []byte, _ uint64) uapi.Errno { return lookupCPU(m, key, -1) }, true, false},
	{"lookup of CPU 1", func(m Map, key, _ []byte, _ uint64) uapi.Errno { return lookupCPU(m, key, 1) }, true, false},
	{"lookup of CPU 2", func(m Map, key, _ []byte, _ uint64) uapi.Errno { return lookupCPU(m, key, 2) }, true, false},
	{"update", func(m Map, key, value []byte, flags uint64) uapi.Errno { return m.Update(0, key, value, flags) }, false, false},
	{"update on no CPU", func(m Map, key, value []byte, flags uint64) uapi.Errno { return m.Update(2, key, value, flags) }, true, false},
	{"delete", func(m Map, key, _ []byte, _ uint64) uapi.Errno { return m.Delete(key) }, true, false},
	{"next key", func(m Map, key, _ []byte, _ uint64) uapi.Errno { _, e := m.NextKey(key); return e }, true, true},
	{"user lookup", func(m Map, key, value []byte, flags uint64) uapi.Errno {
		_, e := UserLookup(m, key, value, flags)
		return e
	}, false, false},
	{"user update", UserUpdate, false, false},
	{"user delete", func(m Map, key, _ []byte, _ uint64) uapi.Errno { return UserDelete(m, key) }, true, false},
	{"user next key", func(m Map, key, _ []byte, _ uint64) uapi.Errno { _, e := UserNextKey(m, key); return e }, true, true},
	{"user lookup and delete", func(m Map, key, _ []byte, flags uint64) uapi.Errno { _, e := UserLookupDelete(m, key, flags); return e }, false, false},
	{"put", put, false, false},
}

func lookupCPU(m Map, key []byte, cpu int) uapi.Errno {
	l, ok := m.(PercpuLookup)
	if !ok {
		return OK
	}
	_, e := l.LookupCPU(key, cpu)
	return e
}

// put stores what user space passes as a file descriptor.
func put(m Map, key, value []byte, flags uint64) uapi.Errno {
	index := uint32(0)
	if len(key) >= 4 {
		index = envOf(m).u32(key)
	}
	switch x := m.(type) {
	case OuterMap:
		if len(value) == UserValueSize(m) {
			in, _ := envOf(m).ByID(1)
			return x.SetInner(key, in, flags)
		}
		return x.SetInner(key, nil, flags)
	case interface {
		SetSock(key []byte, sock any, flags uint64) uapi.Errno
	}:
		return x.SetSock(key, "a socket", flags)
	case PerfArray:
		return x.SetEvent(index, int(flags))
	case ProgArray:
		return x.SetProg(index, "a program")
	case XSKMap:
		return x.SetSocket(index, 0)
	case RefArray:
		return x.SetRef(index, "an object")
	case Queue:
		return x.Push(value, flags)
	}
	return m.Update(AllCPUs, key, value, flags)
}

// edgesOf returns keys of a map by name: the first two, the last one, one that is too large for an
// array and a short one.
func edgesOf(m Map) (names []string, keys map[string][]byte) {
	s := m.Spec()
	key := func(i uint32) []byte {
		size := int(s.KeySize)
		if isStorage(m) {
			size = 8
		}
		k := make([]byte, size)
		if s.Type == uapi.MapTypeLPMTrie {
			k[0], k[4] = 32, byte(i)
		} else if size > 0 {
			copy(k, k32(i))
		}
		return k
	}
	last := max(s.MaxEntries, 1) - 1
	names = []string{"first", "second", "last", "beyond", "short"}
	short := key(0)
	return names, map[string][]byte{"first": key(0), "second": key(1), "last": key(last), "beyond": key(last + 1), "short": short[:max(len(short), 1)-1]}
}

// TestWhatOperationsAnswer calls each operation on maps of each type, empty and full, with keys,
// values and flags at both sides of their limits: without flags, with each, and without flags and a
// value that is too short. TestKernelOperations compares such answers with a
// kernel's.
func TestWhatOperationsAnswer(t *testing.T) {
	var lines []string
	for _, spec := range eachSpec() {
		for _, state := range []string{"empty", "full"} {
			env := newEnv(t, 2)
			env.PerfBytes = 4096
			newMap(t, env, Spec{Name: "in", Type: uapi.MapTypeHash, KeySize: 4, ValueSize: 8, MaxEntries: 4})
			if spec.Type == uapi.MapTypeLRUHash || spec.Type == uapi.MapTypeLRUPercpuHash {
				spec.MaxEntries = 1024
			}
			m := newMap(t, env, spec)
			names, keys := edgesOf(m)
			value := make([]byte, UserValueSize(m))
			if state == "full" {
				for i := range max(m.Spec().MaxEntries, 2) {
					key := slices.Clone(keys["first"])
					if len(key) > 0 {
						copy(key[min(4, len(key)-1)/4*4*boolOf(spec.Type == uapi.MapTypeLPMTrie):], k32(i))
					}
					put(m, key, value, 0)
				}
			}
			memory, saved := env.Mem.Snapshot(), env.Snapshot()
			for _, p := range probes {
				var keyed []string // the answers for each key
				for _, name := range names {
					if name == "short" && (p.whole || isStorage(m)) {
						continue
					}
					flags := []uint64{0, 1, 2, 3, uapi.Lock, uapi.Lock | uapi.NoExist, uapi.Lock | uapi.Exist, 8}
					if p.any {
						flags = flags[:1]
					}
					var answers []string
					try := func(value []byte, flags uint64) {
						env.Mem.Restore(memory)
						env.Restore(saved)
						answers = append(answers, answer(p.do(m, slices.Clone(keys[name]), value, flags)))
					}
					for _, f := range flags {
						try(slices.Clone(value), f)
					}
					if !p.any && len(value) > 0 {
						try(value[:len(value)-1], 0)
					}
					keyed = append(keyed, name+" "+short(answers))
				}
				lines = append(lines, spec.Name+" "+state+", "+p.name+": "+together(keyed))
			}
			env.Mem.Restore(memory)
			env.Restore(saved)
			lines = append(lines, spec.Name+" "+state+", direct value:"+directValues(m))
			env.Mem.Close() // there are very many
		}
	}
	sameAs(t, "answers.txt", lines)
}

// directValues has the answers at offsets around the value.
func directValues(m Map) (line string) {
	v, ok := m.(ValueBase)
	if !ok {
		return " none"
	}
	s := m.Spec()
	for _, off := range []uint32{0, 1, s.ValueSize - 1, s.ValueSize, (s.MaxEntries - 1) * 16, s.MaxEntries * 16, s.MaxEntries*4096 - 1, s.MaxEntries * 4096} {
		_, e := v.DirectValue(off)
		line += " " + answer(e)
	}
	return line
}

func answer(e uapi.Errno) string {
	if e == OK {
		return "OK"
	}
	return e.Name()
}

// short shows a list of equal answers as one.
func short(answers []string) string {
	if len(slices.Compact(slices.Clone(answers))) == 1 {
		return answers[0]
	}
	return strings.Join(answers, "/")
}

// together joins keys with the same answers.
func together(keyed []string) string {
	var out, names []string
	for i, k := range keyed {
		name, answers, _ := strings.Cut(k, " ")
		names = append(names, name)
		if i+1 == len(keyed) || !strings.HasSuffix(keyed[i+1], " "+answers) {
			out, names = append(out, strings.Join(names, "+")+" "+answers), nil
		}
	}
	return strings.Join(out, ", ")
}

func boolOf(b bool) int {
	if b {
		return 1
	}
	return 0
}
