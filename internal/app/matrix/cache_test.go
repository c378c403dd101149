package matrix

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
	"github.com/bpfrun/bpfrun/loader"
)

// memory is a Store that counts.
type memory struct {
	mu      sync.Mutex
	entries map[string][]byte
	puts    int
}

func newMemory() *memory { return &memory{entries: map[string][]byte{}} }

func (m *memory) Get(key string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entries[key]
}

func (m *memory) Put(key string, entry []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries[key] = bytes.Clone(entry)
	m.puts++
}

// keyed gives kernels keys; with closed, they must not be opened.
func keyed(t *testing.T, ks []Kernel, closed bool) []Kernel {
	out := slices.Clone(ks)
	for i := range out {
		name := out[i].Name
		out[i].Key = func() string { return "the file of " + name }
		if closed {
			out[i].Open = func() (*loader.Target, error) {
				t.Errorf("%s is opened", name)
				return nil, errors.New("closed")
			}
		}
	}
	return out
}

// committed returns the paths of the objects in this repository, from its root.
func committed(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, dir := range []string{"testdata", "examples", "conformance", "internal/bench"} {
		require.NoError(t, filepath.WalkDir(filepath.Join("..", "..", "..", dir), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".o") {
				if o, err := loader.Open(path); err == nil && len(o.Programs) > 0 {
					out = append(out, strings.TrimPrefix(path, "../../../"))
				}
			}
			return err
		}))
	}
	require.Greater(t, len(out), 150)
	return out
}

// slow are objects that take seconds.
var slow = []string{"senders.o", "showtypes.o", "callbacks.o"}

// A matrix is the same without a cache, with an empty one, and with one that has all results: then
// no kernel is opened, no program runs, and nothing is stored.
func TestCachedMatrixIsTheSame(t *testing.T) {
	all := committed(t)
	if !testsize.Long() {
		all = slices.DeleteFunc(all, func(p string) bool { return slices.Contains(slow, filepath.Base(p)) })
	}
	sample := func(step int) (out []string) {
		for i := 0; i < len(all); i += step {
			out = append(out, all[i])
		}
		return out
	}
	for _, x := range []struct {
		name     string
		cfg      Config
		paths    []string
		compared []string // also without a cache
	}{
		{"verified", Config{Options: loader.LoadOptions{Optional: true}, Machine: machine.Config{MaxInsns: 100_000}}, sample(testsize.Sample(1, 8)), sample(testsize.Pick(1, 8, 32))},
		{"other", Config{Unverified: true, Base: 1, Machine: machine.Config{MaxInsns: 50_000, Seed: 7, CPUs: 4}, CPU: 1}, sample(testsize.Pick(1, testsize.Sample(4, 32), 32)), sample(testsize.Pick(1, testsize.Sample(16, 64), 64))},
	} {
		t.Run(x.name, func(t *testing.T) {
			ks := kernels(k510, k72, arm64)
			store := newMemory()
			cfg := x.cfg
			cfg.Cache = &Cache{Store: store, Build: "b"}
			run := func(paths []string, ks []Kernel, cfg Config) *Matrix {
				t.Helper()
				m, err := Run(t.Context(), open(t, paths...), ks, cfg)
				require.NoError(t, err)
				return m
			}
			first := run(x.paths, keyed(t, ks, false), cfg)
			puts := store.puts
			assert.Equal(t, len(x.paths)+len(ks), puts, "all results are kept")
			requireSame(t, first, run(x.paths, keyed(t, ks, true), cfg))
			requireSame(t, run(x.compared, ks, x.cfg), run(x.compared, ks, cfg)) // kernels without keys
			assert.Equal(t, puts, store.puts, "nothing is new")
		})
	}
}

// The same holds for packaged tools: BPFRUN_CORPUS names the corpus.
func TestCachedMatrixOfTheCorpusIsTheSame(t *testing.T) {
	dir := os.Getenv("BPFRUN_CORPUS")
	if dir == "" {
		t.Skip("BPFRUN_CORPUS is not set (make corpus)")
	}
	var objects []*loader.Object
	require.NoError(t, filepath.WalkDir(filepath.Join(dir, "objects"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".o") {
			if o, err := loader.Open(path); err == nil && len(o.Programs) > 0 {
				objects = append(objects, o)
			}
		}
		return err
	}))
	require.Greater(t, len(objects), 50)
	ks, store := kernels(k510, k72, arm64), newMemory()
	cfg := Config{Options: loader.LoadOptions{Optional: true}, Machine: machine.Config{MaxInsns: 1_000_000}}
	run := func(ks []Kernel, cache *Cache) *Matrix {
		t.Helper()
		cfg.Cache = cache
		m, err := Run(t.Context(), objects, ks, cfg)
		require.NoError(t, err)
		return m
	}
	without := run(ks, nil)
	requireSame(t, without, run(keyed(t, ks, false), &Cache{Store: store, Build: "b"}))
	requireSame(t, without, run(keyed(t, ks, true), &Cache{Store: store, Build: "b"}))
}

func requireSame(t *testing.T, want, got *Matrix) {
	t.Helper()
	require.Len(t, got.Rows, len(want.Rows))
	for i := range want.Rows {
		for k, c := range want.Rows[i].Cells {
			require.Equal(t, c, got.Rows[i].Cells[k], "%s %s on %s", want.Rows[i].Object, want.Rows[i].Program, want.Targets[k].Name)
		}
	}
	require.Equal(t, want, got)
}

// Each thing that a result depends on makes it another entry or another result, which is what a run
// without a cache has.
func TestWhatChangesResultsIsInTheirKeys(t *testing.T) {
	type input struct {
		paths   []string
		opts    []loader.Option
		release string
		types   string
		cfg     Config
		build   string
	}
	base := input{paths: []string{"examples/exec/exec.bpf.o", "examples/percpu/percpu.bpf.o", "testdata/objects/clang-14/follow.o"}, release: "7.2.13", types: k72, build: "b"}
	run := func(in input, store *memory) (*Matrix, int) {
		t.Helper()
		var objects []*loader.Object
		for _, p := range in.paths {
			o, err := loader.Open(filepath.Join("..", "..", "..", p), in.opts...)
			require.NoError(t, err)
			objects = append(objects, o)
		}
		ks := append(kernels(k510), columnsOf(t, in.types, map[string][]loader.TargetOption{in.release: nil})...)
		if store == nil {
			m, err := Run(t.Context(), objects, ks, in.cfg)
			require.NoError(t, err)
			return m, 0
		}
		before := store.puts
		in.cfg.Cache = &Cache{Store: store, Build: in.build}
		m, err := Run(t.Context(), objects, ks, in.cfg)
		require.NoError(t, err)
		return m, store.puts - before
	}
	store := newMemory()
	_, n := run(base, store)
	require.Equal(t, 3, n)
	_, n = run(base, store)
	require.Zero(t, n)
	for name, x := range map[string]struct {
		change func(in *input)
		puts   int // entries that are new or have more in them
	}{
		"build":          {func(in *input) { in.build = "c" }, 3},
		"seed":           {func(in *input) { in.cfg.Machine.Seed = 9 }, 3},
		"CPU":            {func(in *input) { in.cfg.CPU = 1 }, 3},
		"CPUs":           {func(in *input) { in.cfg.Machine.CPUs = 8 }, 3},
		"time":           {func(in *input) { in.cfg.Machine.Boot = time.Minute }, 3},
		"instructions":   {func(in *input) { in.cfg.Machine.MaxInsns = 5 }, 3},
		"strict":         {func(in *input) { in.cfg.Machine.Strict = true }, 3},
		"no verifier":    {func(in *input) { in.cfg.Unverified = true }, 3},
		"not loaded":     {func(in *input) { in.cfg.Options.NoLoad = map[string]bool{"on_exec": true} }, 3},
		"dialect":        {func(in *input) { in.opts = []loader.Option{loader.WithDialect(loader.DialectLibbpf)} }, 3},
		"release":        {func(in *input) { in.release = "5.15.1" }, 3},
		"types":          {func(in *input) { in.types = arm64 }, 3},
		"another object": {func(in *input) { in.paths[0] = "examples/xdp/xdp.bpf.o" }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			in := base
			in.paths = slices.Clone(in.paths)
			x.change(&in)
			own := &memory{entries: maps.Clone(store.entries)}
			want, _ := run(in, nil)
			got, n := run(in, own)
			assert.Equal(t, x.puts, n)
			requireSame(t, want, got)
			again, n := run(in, own)
			assert.Zero(t, n)
			requireSame(t, want, again)
			old, n := run(base, own)
			assert.Zero(t, n, "the other results are still there")
			want, _ = run(base, nil)
			requireSame(t, want, old)
		})
	}
}

// Every field of the configuration, also one that is added later, is in the key, or keeps results
// from being stored; or it is one of those named here, which change no result.
func TestConfigurationIsInTheKey(t *testing.T) {
	shown := []string{"Base", "Parallel", "Progress", "Cache", "Machine.OnDifference"}
	plain, ok := optionsDigest(&Config{})
	require.True(t, ok)
	seen := map[string]string{string(plain): "nothing"}
	refused := map[string]bool{}
	var fields func(prefix string, typ reflect.Type, index []int)
	fields = func(prefix string, typ reflect.Type, index []int) {
		for i := range typ.NumField() {
			f := typ.Field(i)
			at, name := append(slices.Clone(index), i), prefix+f.Name
			if f.Type.Kind() == reflect.Struct {
				fields(name+".", f.Type, at)
				continue
			}
			cfg := &Config{}
			v := reflect.ValueOf(cfg).Elem().FieldByIndex(at)
			if !v.CanSet() {
				t.Errorf("%s cannot be set", name)
				continue
			}
			if set(t, v); v.IsZero() {
				t.Errorf("%s: no value of a %v", name, f.Type)
				continue
			}
			sum, ok := optionsDigest(cfg)
			switch {
			case !ok:
				refused[name] = true
			case slices.Contains(shown, name):
				assert.Equal(t, plain, sum, name)
			default:
				assert.Empty(t, seen[string(sum)], "%s has the key of another", name)
				seen[string(sum)] = name
			}
		}
	}
	fields("", reflect.TypeFor[Config](), nil)
	assert.Equal(t, []string{"Machine.Cover", "Machine.Types", "Machine.Verify"}, slices.Sorted(maps.Keys(refused)))
	assert.Contains(t, slices.Collect(maps.Values(seen)), "Machine.Seed")
	assert.Contains(t, slices.Collect(maps.Values(seen)), "Options.Externs")
	_, ok = optionsDigest(&Config{Machine: machine.Config{Engine: machine.EngineBoth, OnDifference: func(string) {}}})
	assert.False(t, ok, "the differences between engines are wanted")
}

type sink struct{ machine.CoverSink }

// set makes a value differ from its zero value.
func set(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Func:
		v.Set(reflect.MakeFunc(v.Type(), func([]reflect.Value) []reflect.Value { return nil }))
	case reflect.Interface:
		if reflect.TypeFor[sink]().AssignableTo(v.Type()) {
			v.Set(reflect.ValueOf(sink{}))
		}
	case reflect.Pointer:
		if v.Type() == reflect.TypeFor[*object.Types]() {
			v.Set(reflect.ValueOf(object.NewTypes()))
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.Zero(v.Type().Key()), reflect.Zero(v.Type().Elem()))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	}
}

// Two runs at the same time that store results of the same objects on different kernels both keep
// theirs.
func TestRunsAtTheSameTimeKeepBothResults(t *testing.T) {
	objects := open(t, "examples/exec/exec.bpf.o")
	store := newMemory()
	cfg := Config{Cache: &Cache{Store: store}}
	var runs []*runner
	for _, k := range []string{k510, k72} {
		r := newRunner(t.Context(), objects, keyed(t, kernels(k), false), cfg)
		r.run()
		runs = append(runs, r)
	}
	for _, r := range runs {
		r.matrix()
		r.session.save()
	}
	_, err := Run(t.Context(), objects, keyed(t, kernels(k510, k72), true), cfg)
	require.NoError(t, err)
}

// A kernel whose file changes while it is read has no results that others would find.
func TestKernelThatChangesIsNotKept(t *testing.T) {
	objects := open(t, "testdata/objects/clang-14/follow.o")
	store := newMemory()
	ks := kernels(k510, k72)
	n := 0
	var mu sync.Mutex
	for i := range ks {
		ks[i].Key = func() string {
			mu.Lock()
			defer mu.Unlock()
			n++
			return fmt.Sprint(n)
		}
	}
	want, err := Run(t.Context(), objects, kernels(k510, k72), Config{})
	require.NoError(t, err)
	got, err := Run(t.Context(), objects, ks, Config{Cache: &Cache{Store: store}})
	require.NoError(t, err)
	requireSame(t, want, got)
	assert.Empty(t, store.entries)
}

// What was not computed to its end, or not at all, is not kept.
func TestFailuresAreNotKept(t *testing.T) {
	objects := open(t, "examples/xdp/xdp.bpf.o")
	store := newMemory()
	cfg := Config{Cache: &Cache{Store: store}}
	broken := []Kernel{{Name: "broken", Open: func() (*loader.Target, error) { return nil, errors.New("no BTF there") }, Key: func() string { return "broken" }}}
	m, err := Run(t.Context(), objects, broken, cfg)
	require.NoError(t, err)
	assert.Error(t, m.Targets[0].Err)
	assert.Empty(t, store.entries)
	ctx, cancel := context.WithCancel(t.Context())
	cfg.Progress = func(done, total int) { cancel() }
	_, err = Run(ctx, objects, kernels(k510, k72), cfg)
	require.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, store.entries)
}

// A damaged entry is as good as none, however it is damaged, and a made-up one ends neither the run
// nor the memory.
func TestDamagedResultsAreComputedAgain(t *testing.T) {
	objects := open(t, "examples/exec/exec.bpf.o", "testdata/objects/clang-14/follow.o")
	store := newMemory()
	cfg := Config{Cache: &Cache{Store: store}}
	want, err := Run(t.Context(), objects, keyed(t, kernels(k510, k72), false), cfg)
	require.NoError(t, err)
	whole := maps.Clone(store.entries)
	for name, damage := range map[string]func(b []byte) []byte{
		"cut":    func(b []byte) []byte { return b[:len(b)/2] },
		"longer": func(b []byte) []byte { return append(b, 1) },
		"zeroes": func(b []byte) []byte { return make([]byte, len(b)) },
		"ones":   func(b []byte) []byte { return bytes.Repeat([]byte{0xff}, len(b)) },
		"empty":  func([]byte) []byte { return []byte{} },
	} {
		for key, b := range whole {
			store.entries[key] = damage(bytes.Clone(b))
		}
		got, err := Run(t.Context(), objects, keyed(t, kernels(k510, k72), false), cfg)
		require.NoError(t, err)
		requireSame(t, want, got)
		assert.Equal(t, whole, store.entries, name)
	}
}

// An entry of another object does not fit.
func TestResultsOfAnotherObjectDoNotFit(t *testing.T) {
	objects := open(t, "examples/exec/exec.bpf.o", "testdata/objects/clang-14/follow.o")
	store := newMemory()
	s := newSession(&Cache{Store: store}, objects, &Config{})
	_, err := Run(t.Context(), objects, kernels(k510), Config{Cache: &Cache{Store: store}})
	require.NoError(t, err)
	_, err = decodeResults(store.Get(s.packs[objects[1]].key), objects[0])
	assert.Error(t, err)
}

func FuzzDecodeResults(f *testing.F) {
	o, err := loader.Open("../../../testdata/objects/clang-14/follow.o")
	require.NoError(f, err)
	store := newMemory()
	s := newSession(&Cache{Store: store}, []*loader.Object{o}, &Config{})
	_, err = Run(f.Context(), []*loader.Object{o}, kernels(k510, k72), Config{Cache: &Cache{Store: store}})
	require.NoError(f, err)
	f.Add(store.Get(s.packs[o].key))
	f.Fuzz(func(t *testing.T, data []byte) {
		results, err := decodeResults(data, o)
		if err != nil {
			return
		}
		again, err := decodeResults(encodeResults(results, o), o)
		require.NoError(t, err)
		assert.Equal(t, results, again)
	})
}
