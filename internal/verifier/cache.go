package verifier

import (
	"context"
	"crypto/sha256"
	"fmt"
	"reflect"
	"sync"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/valuehash"
	"github.com/bpfrun/bpfrun/loader"
)

// Cache keeps verdicts, so that equal programs are verified once for a kernel, whatever object they
// were linked from and how often. It is safe for concurrent use. It keeps the types of kernels and
// objects in memory.
type Cache struct {
	mu     sync.Mutex
	known  map[[sha256.Size]byte]*cached
	tables map[any]int // the numbers that stand for types and tables of kfuncs
}

// NewCache returns an empty cache.
func NewCache() *Cache {
	return &Cache{known: map[[sha256.Size]byte]*cached{}, tables: map[any]int{}}
}

// key identifies what a verdict depends on: all fields of a kernel and a program, so that none that
// is added later can be forgotten.
func (c *Cache) key(k *Kernel, p *Program) [sha256.Size]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := valuehash.New(sha256.New())
	d.Special = func(v reflect.Value) bool {
		if t := v.Type(); t != reflect.TypeFor[*btf.Spec]() && t != reflect.TypeFor[*proto.Declared]() || v.IsNil() {
			return false
		}
		table := v.Interface() // immutable and large: its identity counts
		n, ok := c.tables[table]
		if !ok {
			n = len(c.tables)
			c.tables[table] = n
		}
		d.Number(uint64(n) + 1)
		return true
	}
	d.Add(k)
	d.Add(p)
	if err := d.Err(); err != nil {
		panic(fmt.Sprintf("verifier: a verdict depends on what has no content: %v", err))
	}
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

// Each returns the function that makes the Verify functions of machines, one for each linked
// object. ctx ends verifications: there are no verdicts then.
func (c *Cache) Each(ctx context.Context) func(*loader.Linked) func(*loader.LinkedProgram) loader.Verified {
	return func(l *loader.Linked) func(*loader.LinkedProgram) loader.Verified {
		checker := NewChecker(l, Options{})
		checker.cache = c
		return func(lp *loader.LinkedProgram) loader.Verified { return checker.Verify(ctx, lp) }
	}
}
