package matrix

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/valuehash"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// Store keeps entries between runs. Each is stored under a key that says all that it depends on, so
// that none is ever out of date; Get returns nil for an entry that is missing or damaged. It is
// safe for concurrent use.
type Store interface {
	Get(key string) []byte
	Put(key string, entry []byte)
}

// Cache keeps what objects did on kernels between runs.
type Cache struct {
	Store Store
	// Build identifies the program that runs: results of another one may differ.
	Build string
}

// maxKept is the number of results that an object's entry has room for; those that a run did not
// use go first.
const maxKept = 1 << 13

// key names an entry.
func (c *Cache) key(kind string, parts ...[]byte) string {
	h := valuehash.New(sha256.New())
	h.Bytes([]byte(c.Build))
	h.Bytes([]byte(kind))
	for _, p := range parts {
		h.Bytes(p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// resultKey says which run of an object it was.
type resultKey struct {
	kernel identity
	again  string // the experiment, "" for the first run
}

// pack is what is known of an object, with the options of a run.
type pack struct {
	key     string
	object  *loader.Object
	mu      sync.Mutex
	results map[resultKey]*result
	used    map[resultKey]bool
	changed bool
}

// session is the use of a cache in one run. A nil one keeps nothing.
type session struct {
	*Cache
	packs map[*loader.Object]*pack
}

// newSession returns nil if there is no cache, or if results depend on what has no content to
// compare.
func newSession(c *Cache, objects []*loader.Object, cfg *Config) *session {
	if c == nil || c.Store == nil {
		return nil
	}
	options, ok := optionsDigest(cfg)
	if !ok {
		return nil
	}
	s := &session{Cache: c, packs: map[*loader.Object]*pack{}}
	for _, o := range objects {
		if s.packs[o] != nil {
			continue
		}
		h := sha256.New()
		o.Hash(h)
		s.packs[o] = &pack{key: c.key("object", h.Sum(nil), options), object: o}
	}
	return s
}

// optionsDigest covers all of the configuration that a result can depend on: all fields, but for
// those which only say how it is shown, compared and shared.
func optionsDigest(cfg *Config) ([]byte, bool) {
	c := *cfg
	c.Base, c.Parallel, c.Progress, c.Cache = 0, 0, nil, nil
	m := &c.Machine
	if m.Engine == machine.EngineBoth || m.Cover != nil || m.Types != nil || m.Verify != nil {
		return nil, false // others want to see the run itself
	}
	m.OnDifference = nil // only EngineBoth finds any
	h := valuehash.New(sha256.New())
	h.Add(c)
	return h.Sum(nil), h.Err() == nil
}

// known returns the result of an earlier run, or nil.
func (s *session) known(o *loader.Object, k resultKey) *result {
	if s == nil || k.kernel == (identity{}) {
		return nil
	}
	p := s.packs[o]
	p.mu.Lock()
	defer p.mu.Unlock()
	p.load(s.Store)
	if p.results[k] != nil {
		p.used[k] = true
	}
	return p.results[k]
}

// add keeps a result.
func (s *session) add(o *loader.Object, k resultKey, res *result) {
	if s == nil || k.kernel == (identity{}) {
		return
	}
	p := s.packs[o]
	p.mu.Lock()
	defer p.mu.Unlock()
	p.load(s.Store)
	p.results[k], p.used[k], p.changed = res, true, true
}

// save stores what is new.
func (s *session) save() {
	if s == nil {
		return
	}
	for _, p := range s.packs {
		p.save(s.Store)
	}
}

// load reads the entry once.
func (p *pack) load(store Store) {
	if p.results != nil {
		return
	}
	p.results, p.used = map[resultKey]*result{}, map[resultKey]bool{}
	if data := store.Get(p.key); data != nil {
		if results, err := decodeResults(data, p.object); err == nil {
			p.results = results
		}
	}
}

// save writes the entry, with what other processes stored meanwhile.
func (p *pack) save(store Store) {
	if !p.changed {
		return
	}
	all := map[resultKey]*result{}
	if data := store.Get(p.key); data != nil {
		if others, err := decodeResults(data, p.object); err == nil {
			all = others
		}
	}
	maps.Copy(all, p.results)
	for k := range all {
		if len(all) <= maxKept {
			break
		}
		if !p.used[k] {
			delete(all, k)
		}
	}
	if len(all) <= maxKept {
		store.Put(p.key, encodeResults(all, p.object))
	}
}

// table numbers values that several others refer to; 0 is none.
type table[T any] struct {
	index map[*T]int
	all   []*T
}

func (t *table[T]) number(v *T) int {
	if v == nil {
		return 0
	}
	if n := t.index[v]; n != 0 {
		return n
	}
	if t.index == nil {
		t.index = map[*T]int{}
	}
	t.all = append(t.all, v)
	t.index[v] = len(t.all)
	return len(t.all)
}

// ref handles a reference to one of the values that were read or written before it.
func ref[T any](w *wire, t *table[T], v **T) {
	n := 0
	if !w.reading {
		n = t.index[*v]
	}
	num(w, &n)
	switch {
	case !w.reading:
	case n < 0 || n > len(t.all):
		w.fail(errWire)
	case n == 0:
		*v = nil
	default:
		*v = t.all[n-1]
	}
}

// tables are the values of an entry's results.
type tables struct {
	verdicts table[verifier.Verdict]
	cells    table[Cell]
	outcomes table[outcome]
}

// handle reads or writes the values, each after those that it refers to.
func (t *tables) handle(w *wire, o *loader.Object) {
	values := func(v *verifier.Verdict) { w.verdict(v) }
	pointers(w, &t.verdicts, values)
	pointers(w, &t.cells, func(c *Cell) {
		w.cell(c)
		ref(w, &t.verdicts, &c.Verdict)
	})
	pointers(w, &t.outcomes, func(x *outcome) { w.outcome(x, o) })
}

func pointers[T any](w *wire, t *table[T], f func(*T)) {
	listOf(w, &t.all, func(v **T) {
		if w.reading {
			*v = new(T)
		}
		f(*v)
	})
}

// encodeResults leaves out results that cannot be read back.
func encodeResults(results map[resultKey]*result, o *loader.Object) []byte {
	keys := slices.SortedFunc(maps.Keys(results), func(a, b resultKey) int {
		return slices.Compare([]string{string(a.kernel[:]), a.again}, []string{string(b.kernel[:]), b.again})
	})
	var t tables
	fits := map[*outcome]bool{}
	keys = slices.DeleteFunc(keys, func(k resultKey) bool { return !encodable(results[k], o, fits) })
	for _, k := range keys {
		for i, c := range results[k].cells {
			t.verdicts.number(c.Verdict)
			t.cells.number(c)
			t.outcomes.number(results[k].outcomes[i])
		}
	}
	w := &wire{}
	t.handle(w, o)
	n := len(keys)
	num(w, &n)
	for _, k := range keys {
		w.result(&t, &k, results[k])
	}
	return w.out
}

// encodable reports whether all outcomes of a result can be read back; fits has the answers.
func encodable(r *result, o *loader.Object, fits map[*outcome]bool) bool {
	for _, x := range r.outcomes {
		if x == nil {
			continue
		}
		if _, known := fits[x]; !known {
			w := &wire{}
			w.outcome(x, o)
			fits[x] = w.err == nil
		}
		if !fits[x] {
			return false
		}
	}
	return true
}

func (w *wire) result(t *tables, k *resultKey, r *result) {
	id := string(k.kernel[:])
	str(w, &id)
	copy(k.kernel[:], id)
	str(w, &k.again)
	listOf(w, &r.cells, func(c **Cell) { ref(w, &t.cells, c) })
	listOf(w, &r.outcomes, func(x **outcome) { ref(w, &t.outcomes, x) })
}

// decodeResults reads an entry. The error means that it is damaged.
func decodeResults(data []byte, o *loader.Object) (map[resultKey]*result, error) {
	w := &wire{reading: true, text: string(data)}
	var t tables
	t.handle(w, o)
	n := 0
	num(w, &n)
	out := map[resultKey]*result{}
	for range n {
		if w.err != nil {
			break
		}
		k, r := resultKey{}, &result{}
		w.result(&t, &k, r)
		if len(r.cells) != len(o.Programs) || len(r.outcomes) != len(o.Programs) || slices.Contains(r.cells, nil) {
			w.fail(errWire)
			break
		}
		out[k] = r
	}
	if w.err == nil && w.text != "" {
		w.fail(errWire)
	}
	return out, w.err
}

// key names a run without some programs, "" the first run.
func (again *rerun) key() string {
	if again == nil {
		return ""
	}
	return fmt.Sprint(again.without, again.wanted)
}

// knownKernel returns what is known of a kernel that is not open; key is the kernel's.
func (s *session) knownKernel(key string) (*Facts, identity, bool) {
	if s == nil || key == "" {
		return nil, identity{}, false
	}
	data := s.Store.Get(s.key("kernel", []byte(key)))
	if data == nil {
		return nil, identity{}, false
	}
	w := &wire{reading: true, text: string(data)}
	f, id := w.kernel(&Facts{}, identity{})
	if w.err != nil || w.text != "" || id == (identity{}) {
		return nil, identity{}, false
	}
	return f, id, true
}

// addKernel keeps what a kernel is.
func (s *session) addKernel(key string, f *Facts, id identity) {
	if s == nil || key == "" || id == (identity{}) {
		return
	}
	w := &wire{}
	w.kernel(f, id)
	s.Store.Put(s.key("kernel", []byte(key)), w.out)
}

func (w *wire) kernel(f *Facts, id identity) (*Facts, identity) {
	w.facts(f)
	b := id[:]
	if w.bytes(&b); w.reading && len(b) != len(id) {
		w.fail(errWire)
		return f, identity{}
	}
	return f, identity(b)
}
