package play

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/assembly"
	"github.com/bpfrun/bpfrun/internal/debug/scopes"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// Limits of what messages may cost.
const (
	MaxMessage = 96 << 20 // bytes of a message: a kernel's types, in base64
	maxObject  = 16 << 20 // bytes of an object
	maxKernel  = 64 << 20 // bytes of a file with a kernel's types
	maxName    = 255      // bytes of a name, as file systems have them
	maxObjects = 8        // objects kept: the one used longest ago goes
	maxKernels = 12       // kernels given by messages
	maxLoaded  = 4        // kernels whose types are kept in memory
	maxInsns   = 20_000_000
	maxKept    = 64 << 20 // bytes that a machine keeps for results
)

// Config configures a Player. The zero value is usable.
type Config struct {
	// Kernels are the kernels known from the start, besides the embedded one.
	Kernels []Kernel
	// Engine selects what executes programs.
	Engine machine.Engine
	// Timeout is the longest that a message may take; 0 means that the caller stops what takes too
	// long.
	Timeout time.Duration
}

// Kernel is a kernel by name.
type Kernel struct {
	Name string
	// Source tells where its types are from.
	Source string
	Open   func() (*loader.Target, error)

	given bool // by a message
}

// Player answers messages. It is safe for concurrent use: one message is answered at a time.
type Player struct {
	cfg Config

	mu      sync.Mutex
	objects []*object // the one used last at the end
	kernels []Kernel
	targets []*loader.Target // opened kernels, the one used last at the end
	step    *stepper         // nil before the first
}

// object is an opened object.
type object struct {
	id string
	*loader.Object
	names scopes.Registers // variables in registers

	contents []machine.MapElement // that typed text puts into its maps
}

// New returns a Player that knows the embedded kernel and those of the configuration.
func New(cfg Config) *Player {
	first := Kernel{Name: embedded.Name, Source: "embedded", Open: func() (*loader.Target, error) {
		spec, err := embedded.Spec()
		if err != nil {
			return nil, err
		}
		return loader.NewTarget(embedded.Name, spec), nil
	}}
	return &Player{cfg: cfg, kernels: append([]Kernel{first}, cfg.Kernels...)}
}

// Close releases what the Player holds.
func (p *Player) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step.close()
	p.step = nil
}

// machine returns the configuration of machines for an object, that of the command with bounds.
func (p *Player) machine(o *object) machine.Config {
	return machine.Config{Seed: 1, CPUs: 2, Boot: time.Hour, MaxInsns: maxInsns, MaxKept: maxKept, Engine: p.cfg.Engine, Contents: o.contents}
}

// open opens an object, or finds the equal one that is open.
func (p *Player) open(name string, data []byte) (*object, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if len(data) > maxObject {
		return nil, &LimitError{What: "the object", Got: len(data), Most: maxObject}
	}
	sum := sha256.Sum256(append([]byte(name+"\x00"), data...))
	id := hex.EncodeToString(sum[:8])
	if o, err := p.object(id); err == nil {
		return o, nil
	}
	obj, err := loader.OpenBytes(name, data)
	if err != nil {
		return nil, err
	}
	if len(p.objects) >= maxObjects {
		p.objects = slices.Delete(p.objects, 0, 1)
	}
	elements, err := assembly.Contents(data)
	if err != nil {
		return nil, err
	}
	o := &object{id: id, Object: obj}
	for _, e := range elements {
		o.contents = append(o.contents, machine.MapElement(e))
	}
	p.objects = append(p.objects, o)
	return o, nil
}

// object returns an open object.
func (p *Player) object(id string) (*object, error) {
	i := slices.IndexFunc(p.objects, func(o *object) bool { return o.id == id })
	if i < 0 {
		return nil, &UnknownError{What: "object", Name: id, Hint: "open it first"}
	}
	o := p.objects[i]
	p.objects = append(slices.Delete(p.objects, i, i+1), o)
	return o, nil
}

// addKernel adds a kernel whose types are in data, in any form that --btf takes. It replaces one of
// the same name.
func (p *Player) addKernel(name string, data []byte) (Kernel, error) {
	if err := checkName(name); err != nil {
		return Kernel{}, err
	}
	if len(data) > maxKernel {
		return Kernel{}, &LimitError{What: "the file of types", Got: len(data), Most: maxKernel}
	}
	spec, err := btffile.LoadBytes(name, data, nil)
	if err != nil {
		return Kernel{}, err
	}
	k := Kernel{Name: name, Source: name, given: true, Open: func() (*loader.Target, error) {
		spec, err := btffile.LoadBytes(name, data, nil)
		if err != nil {
			return nil, err
		}
		return loader.NewTarget(name, spec), nil
	}}
	i := slices.IndexFunc(p.kernels, func(o Kernel) bool { return o.Name == name })
	switch given := p.given(); {
	case i >= 0 && !p.kernels[i].given:
		return Kernel{}, fmt.Errorf("there is a kernel %s already: rename the file", name)
	case i >= 0:
		p.kernels = slices.Delete(p.kernels, i, i+1)
		p.step.close()
		p.step = nil
	case given >= maxKernels:
		return Kernel{}, &LimitError{What: "kernels", Got: given + 1, Most: maxKernels}
	}
	p.kernels = append(p.kernels, k)
	p.targets = slices.DeleteFunc(p.targets, func(t *loader.Target) bool { return t.Name == name })
	p.keep(loader.NewTarget(name, spec))
	return k, nil
}

// given counts the kernels that messages gave.
func (p *Player) given() (n int) {
	for _, k := range p.kernels {
		if k.given {
			n++
		}
	}
	return n
}

// kernel returns a kernel by name; an empty name is the embedded one.
func (p *Player) kernel(name string) (Kernel, error) {
	if name == "" {
		return p.kernels[0], nil
	}
	i := slices.IndexFunc(p.kernels, func(k Kernel) bool { return k.Name == name })
	if i < 0 {
		return Kernel{}, &UnknownError{What: "kernel", Name: name, Hint: "choose one of the list or give its types"}
	}
	return p.kernels[i], nil
}

// target opens a kernel, or returns it if it is open.
func (p *Player) target(name string) (*loader.Target, Kernel, error) {
	k, err := p.kernel(name)
	if err != nil {
		return nil, k, err
	}
	if i := slices.IndexFunc(p.targets, func(t *loader.Target) bool { return t.Name == k.Name }); i >= 0 {
		t := p.targets[i]
		p.targets = append(slices.Delete(p.targets, i, i+1), t)
		return t, k, nil
	}
	t, err := k.Open()
	if err != nil {
		return nil, k, err
	}
	if t.Name != k.Name {
		t = t.Called(k.Name)
	}
	p.keep(t)
	return t, k, nil
}

// keep adds an open kernel.
func (p *Player) keep(t *loader.Target) {
	if len(p.targets) >= maxLoaded {
		p.targets = slices.Delete(p.targets, 0, 1)
	}
	p.targets = append(p.targets, t)
}

// limited returns the context of an answer.
func (p *Player) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if p.cfg.Timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, p.cfg.Timeout)
}

// checkName refuses names that cannot be shown in a line.
func checkName(name string) error {
	if name == "" || len(name) > maxName {
		return &LimitError{What: "a name", Got: len(name), Most: maxName}
	}
	return nil
}
