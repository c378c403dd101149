package verifier

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/loader"
)

// Cache keeps verdicts, so that equal programs are verified once for a kernel, whatever object they were linked from and how often. It is safe
// for concurrent use. It keeps the types of kernels and objects in memory.
type Cache struct {
	mu     sync.Mutex
	known  map[[sha256.Size]byte]*cached
	tables map[any]int // the numbers that stand for types and tables of kfuncs
}

// NewCache returns an empty cache.
func NewCache() *Cache {
	return &Cache{known: map[[sha256.Size]byte]*cached{}, tables: map[any]int{}}
}

// key identifies what a verdict depends on: all fields of a kernel and a program, so that none that is added later can be forgotten.
func (c *Cache) key(k *Kernel, p *Program) [sha256.Size]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := digest{Hash: sha256.New(), tables: c.tables, seen: map[uintptr]int{}}
	d.add(reflect.ValueOf(k))
	d.add(reflect.ValueOf(p))
	return [sha256.Size]byte(d.Sum(nil))
}

// verify is [Verify] with the verdicts that the cache, which may be nil, has.
func (c *Cache) verify(ctx context.Context, k *Kernel, p *Program, o Options) (*Verdict, error) {
	if c == nil {
		return Verify(ctx, k, p, o)
	}
	key := c.key(k, p)
	c.mu.Lock()
	e := c.known[key]
	if e == nil {
		e = &cached{}
		c.known[key] = e
	}
	c.mu.Unlock()
	e.Lock() // others wait for the verdict
	defer e.Unlock()
	if e.verdict == nil {
		v, err := Verify(ctx, k, p, o)
		if err != nil {
			return nil, err
		}
		e.verdict = v
	}
	return e.verdict, nil
}

// cached is a verdict, nil before the verification.
type cached struct {
	sync.Mutex
	verdict *Verdict
}

// Each returns the function that makes the Verify functions of machines, one for each linked object. ctx ends verifications: there are no
// verdicts then.
func (c *Cache) Each(ctx context.Context) func(*loader.Linked) func(*loader.LinkedProgram) loader.Verified {
	return func(l *loader.Linked) func(*loader.LinkedProgram) loader.Verified {
		checker := NewChecker(l, Options{})
		checker.cache = c
		return func(lp *loader.LinkedProgram) loader.Verified { return checker.Verify(ctx, lp) }
	}
}

// digest hashes values. Pointers are followed, except for those to types and tables of kfuncs, which are immutable and large: their identity
// counts.
type digest struct {
	hash.Hash
	tables map[any]int
	seen   map[uintptr]int
}

func (d *digest) number(n uint64) { d.Write(binary.LittleEndian.AppendUint64(nil, n)) }

func (d *digest) add(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		d.pointer(v)
	case reflect.Struct:
		for i := range v.NumField() {
			d.add(v.Field(i))
		}
	case reflect.Slice:
		d.number(uint64(v.Len()))
		if v.Type().Elem().Kind() == reflect.Uint8 {
			d.Write(v.Bytes())
			return
		}
		for i := range v.Len() {
			d.add(v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			d.add(v.Index(i))
		}
	case reflect.Map:
		d.number(uint64(v.Len()))
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int {
			if a.Kind() == reflect.String {
				return strings.Compare(a.String(), b.String())
			}
			return int(a.Int() - b.Int())
		})
		for _, k := range keys {
			d.add(k)
			d.add(v.MapIndex(k))
		}
	case reflect.String:
		d.number(uint64(v.Len()))
		d.Write([]byte(v.String()))
	case reflect.Bool:
		n := uint64(0)
		if v.Bool() {
			n = 1
		}
		d.number(n)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		d.number(uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		d.number(v.Uint())
	default:
		panic(fmt.Sprintf("verifier: a verdict depends on a %v", v.Type()))
	}
}

// pointer adds what a pointer leads to: once, because maps refer to one another.
func (d *digest) pointer(v reflect.Value) {
	if v.IsNil() {
		d.number(0)
		return
	}
	switch table := v.Interface().(type) {
	case *btf.Spec, *proto.Declared:
		n, ok := d.tables[table]
		if !ok {
			n = len(d.tables)
			d.tables[table] = n
		}
		d.number(uint64(n) + 1)
		return
	}
	n, ok := d.seen[v.Pointer()]
	if !ok {
		n = len(d.seen)
		d.seen[v.Pointer()] = n
	}
	d.number(uint64(n) + 1)
	if !ok {
		d.add(v.Elem())
	}
}
