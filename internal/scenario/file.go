package scenario

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/kernel/clock"
	"github.com/bpfrun/bpfrun/internal/kernel/model"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

// File is a parsed scenario file.
type File struct {
	Path        string
	Description string
	// Object is the path of the BPF object: the one that the file names, or else the one next to
	// the file.
	Object string
	// ObjectPos is the position where the file names it; Named is true if it does.
	ObjectPos grammar.Pos
	Named     bool
	// Kernels are the kernels to run on if the command names none.
	Kernels []KernelName
	Kernel  Setup
	// Unverified means that programs run without a verdict, also those that the kernel's verifier
	// refuses.
	Unverified bool
	// Objects, Maps and Globals are set up before the runs, in file order.
	Objects, Maps, Globals []grammar.Pair
	// Hooks are programs with the functions or tracepoints that they are attached to instead of
	// their own.
	Hooks []grammar.Pair
	// Attach are programs that are attached to functions of others, with their targets.
	Attach []grammar.Pair
	Runs   []*Run
	// Sequence lists the runs that share one machine.
	Sequence []*Run
	// Invariants are what holds after every run.
	Invariants []*Invariant
	// Ignored are the findings that are no mistakes.
	Ignored []Ignored
	// Varied are names of maps and variables that are input of a search although programs write
	// them.
	Varied []*grammar.Node

	text  [sha256.Size]byte // digest of a file that names no others; else 0
	names bool              // it may name files with bytes
	found grammar.Errors    // mistakes so far; the file can be checked but not run
	cut   *cutting          // what was left out because it is not valid YAML
	bad   map[string]bool   // objects whose definition is invalid
}

// KernelName names a kernel by file, directory, glob or release. A path that exists relative to the
// scenario file is relative to it.
type KernelName struct {
	grammar.Pos
	Name string
}

// Setup configures the simulated machine of a file.
type Setup struct {
	CPUs    int // 0 if not set
	Clock   clock.Config
	Random  []uint64
	Seed    *uint64
	Kconfig map[string]string
	Ksyms   []grammar.Pair
	Network *grammar.Node
	// Defaults gives fields of kernel objects that were not set their default values, as in runs
	// without a file.
	Defaults bool
	// Xattrs are extended attributes of files.
	Xattrs map[model.XattrKey]string
}

// Run is one run of a program.
type Run struct {
	grammar.Pos
	Name, Prog string
	ProgNode   *grammar.Node
	// Chain are the programs that run one after the other on one hook, the first of which is Prog;
	// ChainNode is nil for a run of one program.
	Chain     []string
	ChainNode *grammar.Node
	Current   *grammar.Node // nil for the default task
	CPU       int
	CPUNode   *grammar.Node
	Args      []grammar.Pair
	Helpers   []HelperAnswer
	Packet    []byte
	// Pcap is a capture whose packets the program runs on, instead of one packet.
	Pcap                 string
	PacketNode, PcapNode *grammar.Node
	// TruncateNode is set if the program also runs on truncated copies of the packet. Truncate
	// lists their lengths in bytes; nil means every length.
	TruncateNode *grammar.Node
	Truncate     []int
	Ctx          []byte
	// Context sets what a networking or cgroup program sees besides its packet.
	Context *grammar.Node
	// CtxFields sets members of the struct that the program declares as its context; it replaces
	// Ctx.
	CtxFields *grammar.Node
	// UnsetStack selects how reads of unset stack bytes are reported. UnsetNode is its node, nil
	// for the default.
	UnsetStack UnsetStack
	UnsetNode  *grammar.Node
	After      time.Duration
	Settle     time.Duration
	Repeat     int
	Expect     Expect
	// Since is the oldest kernel that the run is for, as KERNEL_VERSION; 0 means any. Arch is the
	// architecture; "" means any.
	Since uint32
	Arch  string
	// Simulated is the simulation of a subsystem that runs instead of one program, or that the
	// program runs in; nil for none.
	Simulated *Simulated
	// Race are programs that run at the same time instead, or nil.
	Race    *Race
	damaged bool // part of it could not be read

	// Cookie is the attach cookie (bpf_get_attach_cookie).
	Cookie     uint64
	CookieNode *grammar.Node
	// USDT says where the arguments of a USDT probe are; nil for constants.
	USDT *grammar.Node
	// Function is the function that a program runs for which traces many; nil for the default one.
	Function *grammar.Node
	// Functions are the functions that it runs for one after the other; nil for one.
	Functions *Functions
	// Elements are the arguments for each call of an iterator; Map is the map that it visits. Both
	// may be unset.
	Elements *grammar.Node
	Map      *grammar.Node
}

// ExpectsNothing reports whether the run has no expectations, so that it checks only that the
// program does not fault.
func (r *Run) ExpectsNothing() bool { return r.Race == nil && reflect.ValueOf(r.Expect).IsZero() }

// HelperAnswer sets what calls of a helper return.
type HelperAnswer struct {
	grammar.Pos
	Name    string
	FailAt  int
	Returns []uint64
}

// Expect lists the expectations of a run. Nil nodes expect nothing.
type Expect struct {
	Ret, Fault, Status, Trace, Packet, Ctx        *grammar.Node
	Output, Effects, Truncated, Others            *grammar.Node
	Chain, Receiver, Findings                     *grammar.Node
	Maps, Globals, Ringbuf, Perf, Kernel, Helpers []grammar.Pair
	Functions                                     []grammar.Pair
	// Simulated is what is expected of subsystems.
	Simulated []grammar.Pair
	Reads     []*grammar.Node
}

// readFile reads at most most+1 bytes of a file, since it may be an endless device.
func readFile(path string, most int64) (data []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, most+1))
}

// ParseFile reads a scenario file like [Parse]. Errors are [*Error], [Errors], or from the file
// system.
func ParseFile(path string) (*File, error) {
	data, err := readFile(path, grammar.MaxFile)
	if err != nil {
		return nil, err
	}
	if len(data) > grammar.MaxFile {
		return nil, &grammar.Error{Pos: grammar.Pos{File: path, Line: 1, Col: 1}, Text: fmt.Sprintf("the scenario file has more than %d bytes", grammar.MaxFile)}
	}
	f, err := Parse(path, data)
	if f != nil && !f.names {
		f.text = sha256.Sum256(data)
	}
	if err != nil && foreign(path, data) {
		return nil, &grammar.Error{Pos: grammar.Pos{File: path, Line: 1, Col: 1}, Text: "not a scenario file, which is YAML with the keys " + strings.Join(fileForm.Names(), ", ")}
	}
	return f, err
}

// foreign reports whether a file is something else than a scenario: it has another name than those
// of YAML files, and no key of a scenario.
func foreign(path string, data []byte) bool {
	if ext := filepath.Ext(path); ext == ".yaml" || ext == ".yml" {
		return false
	}
	root, _, _ := salvage(path, data)
	return root == nil || !slices.ContainsFunc(root.Pairs, func(p grammar.Pair) bool { return fileForm.Has(p.Key.Text) })
}

// Parse parses a scenario; path appears in positions and is the base of relative file names. The
// error is an [*Error], or [Errors] if there are several. It may come with a partial File, in which
// [Open] finds further mistakes.
func Parse(path string, data []byte) (*File, error) {
	root, cut, err := salvage(path, data)
	var m grammar.Mistakes
	m.Add(err)
	if root == nil {
		return nil, m.Final()
	}
	f := &File{Path: path, ObjectPos: root.Pos, cut: cut, names: namesFiles(root)}
	m.Add(f.decode(root))
	m.List = cut.own(m.List)
	if err := m.Final(); err != nil {
		f.found = m.List
		return f, err
	}
	return f, nil
}

func (f *File) decode(root *grammar.Node) error {
	if root.Kind != grammar.Mapping {
		return root.Fields(fileForm)
	}
	var m grammar.Mistakes
	for _, step := range []func(*grammar.Node) error{func(n *grammar.Node) error { return n.Fields(fileForm) }, f.decodeObject, f.decodeKernels, f.decodeKernel, f.decodeTables, f.decodeRuns, f.decodeRaces} {
		m.Add(step(root))
	}
	if runs := root.Get("runs"); m.Err() == nil || runs != nil && !runs.Lost && len(f.Runs) >= len(runs.Items) { // otherwise a run may be missing because of its mistakes
		m.Add(f.decodeSequence(root))
	}
	return m.Err()
}

func (f *File) decodeObject(root *grammar.Node) error {
	if d := root.Get("description"); d != nil {
		f.Description = d.Text
	}
	n := root.Get("object")
	if n == nil {
		f.Object = beside(f.Path)
		return nil
	}
	name, err := n.NonEmpty("object")
	if err != nil {
		return err
	}
	f.ObjectPos, f.Named = n.Pos, true
	f.Object = filepath.FromSlash(name)
	if !filepath.IsAbs(f.Object) {
		f.Object = filepath.Join(filepath.Dir(f.Path), f.Object)
	}
	return nil
}

func (f *File) decodeKernels(root *grammar.Node) error {
	n := root.Get("kernels")
	if n == nil {
		return nil
	}
	if n.Kind != grammar.Sequence {
		return n.Errorf("kernels: want a list of releases or files, got %s", n.Describe())
	}
	var wrong grammar.Mistakes
	for _, item := range n.Items {
		name, err := item.NonEmpty("kernels")
		if !wrong.Add(err) {
			continue
		}
		if near := filepath.Join(filepath.Dir(f.Path), filepath.FromSlash(name)); !filepath.IsAbs(name) {
			if found, err := filepath.Glob(near); err == nil && len(found) > 0 {
				name = near
			}
		}
		f.Kernels = append(f.Kernels, KernelName{item.Pos, name})
	}
	return wrong.Err()
}

// beside returns the default object of a scenario file NAME.yaml: NAME.bpf.o, or else NAME.o. If
// several files test one object, NAME may have a suffix after a dot ("exec.root.yaml").
func beside(path string) string {
	base := strings.TrimSuffix(path, filepath.Ext(path))
	for {
		for _, ext := range []string{".bpf.o", ".o"} {
			if _, err := os.Stat(base + ext); err == nil {
				return base + ext
			}
		}
		shorter := strings.TrimSuffix(base, filepath.Ext(base))
		if shorter == base || filepath.Base(shorter) == "." || filepath.Ext(base) == base {
			return strings.TrimSuffix(path, filepath.Ext(path)) + ".bpf.o"
		}
		base = shorter
	}
}

func (f *File) decodeKernel(root *grammar.Node) error {
	n := root.Get("kernel")
	if n == nil {
		return nil
	}
	var wrong grammar.Mistakes
	wrong.Add(n.Fields(kernelForm))
	if n.Kind != grammar.Mapping {
		return wrong.Err()
	}
	var err error
	if c := n.Get("cpus"); c != nil {
		f.Kernel.CPUs, err = c.Int("cpus", 1, 1024)
		wrong.Add(err)
	}
	if c := n.Get("clock"); c != nil {
		wrong.Add(f.decodeClock(c))
	}
	if r := n.Get("random"); r != nil {
		if r.Kind != grammar.Sequence {
			wrong.Add(r.Errorf("random: want a list of numbers, got %s", r.Describe()))
		}
		for _, item := range r.Items {
			v, err := item.Uint64("random")
			wrong.Add(err)
			f.Kernel.Random = append(f.Kernel.Random, v)
		}
	}
	if v := n.Get("values"); v != nil {
		if v.Text != "default" && v.Text != "zero" {
			wrong.Add(v.Unknown("kind of values", v.Text, []string{"default", "zero"}))
		}
		f.Kernel.Defaults = v.Text == "default"
	}
	if s := n.Get("seed"); s != nil {
		v, err := s.Uint64("seed")
		wrong.Add(err)
		f.Kernel.Seed = &v
	}
	kconfig, err := n.Get("kconfig").Members("kconfig")
	wrong.Add(err)
	for _, p := range kconfig {
		if p.Value.Kind != grammar.Scalar {
			wrong.Add(p.Value.Errorf("kconfig %s: want a value, got %s", p.Key.Text, p.Value.Describe()))
			continue
		}
		if f.Kernel.Kconfig == nil {
			f.Kernel.Kconfig = map[string]string{}
		}
		v := p.Value.Text
		if p.Value.Quoted && !strings.HasPrefix(v, `"`) {
			if _, isNumber := grammar.Number(v); !isNumber && len(v) != 1 {
				v = `"` + v + `"`
			}
		}
		f.Kernel.Kconfig[p.Key.Text] = v
	}
	f.Kernel.Network = n.Get("network")
	wrong.Add(f.decodeXattrs(n.Get("xattrs")))
	f.Kernel.Ksyms, err = n.Get("ksyms").Members("ksyms")
	wrong.Add(err)
	return wrong.Err()
}

// decodeXattrs reads attributes by path and name: {/bin/true: {user.origin: here}}.
func (f *File) decodeXattrs(n *grammar.Node) error {
	files, err := n.Members("xattrs")
	if err != nil {
		return err
	}
	var wrong grammar.Mistakes
	f.Kernel.Xattrs = map[model.XattrKey]string{}
	for _, file := range files {
		path := file.Key.Text
		if !strings.HasPrefix(path, "/") {
			wrong.Add(file.Key.Errorf("xattrs: %q is no absolute path", path))
		}
		attributes, err := file.Value.Members("xattrs of " + path)
		wrong.Add(err)
		for _, a := range attributes {
			if a.Value.Kind != grammar.Scalar {
				wrong.Add(a.Value.Errorf("xattrs: want a text, got %s", a.Value.Describe()))
				continue
			}
			f.Kernel.Xattrs[model.XattrKey{Path: path, Name: a.Key.Text}] = a.Value.Text
		}
	}
	return wrong.Err()
}

func (f *File) decodeClock(n *grammar.Node) error {
	var wrong grammar.Mistakes
	wrong.Add(n.Fields(clockForm))
	if n.Kind != grammar.Mapping {
		return wrong.Err()
	}
	c := &f.Kernel.Clock
	for _, m := range []struct {
		name string
		to   *uint64
	}{{"boot", &c.Boot}, {"mono", &c.Mono}, {"real", &c.Real}, {"step", &c.Step}} {
		v := n.Get(m.name)
		if v == nil {
			continue
		}
		d, err := v.Duration("clock." + m.name)
		if !wrong.Add(err) {
			continue
		}
		*m.to = uint64(d)
		if m.name == "step" && d == 0 {
			c.Frozen = true
		}
	}
	if v := n.Get("hz"); v != nil {
		hz, err := v.Int("clock.hz", 1, 1_000_000)
		wrong.Add(err)
		c.HZ = uint64(hz)
	}
	return wrong.Err()
}

// decodeVerify decodes whether programs are verified; they are if the file does not say.
func (f *File) decodeVerify(n *grammar.Node) error {
	if n == nil {
		return nil
	}
	verify, err := n.Bool("verify")
	f.Unverified = !verify
	return err
}

// decodeObjects decodes the mapping of kernel objects.
func (f *File) decodeObjects(n *grammar.Node) error {
	var err error
	if f.Objects, err = n.Members("objects"); err != nil {
		return err
	}
	var wrong grammar.Mistakes
	f.bad = map[string]bool{}
	for _, p := range f.Objects {
		if p.Value.Kind != grammar.Mapping && p.Value.Tag == "" && !isRef(p.Value) {
			wrong.Add(p.Value.Errorf("object %s: want {type: NAME, fields}, a builder such as !file {...}, or $name, got %s", p.Key.Text, p.Value.Describe()))
			f.bad[p.Key.Text] = true
		}
		if strings.ContainsAny(p.Key.Text, ".$->[] ") || p.Key.Text == "" {
			wrong.Add(p.Key.Errorf("object name %q: want a word", p.Key.Text))
			f.bad[p.Key.Text] = true
		}
	}
	return wrong.Err()
}

func (f *File) decodeTables(root *grammar.Node) error {
	return grammar.Try(
		func() error { return f.decodeVerify(root.Get("verify")) },
		func() error { return f.decodeObjects(root.Get("objects")) },
		func() (err error) { f.Maps, err = root.Get("maps").Members("maps"); return err },
		func() (err error) { f.Globals, err = root.Get("globals").Members("globals"); return err },
		func() (err error) { f.Hooks, err = root.Get("hooks").Members("hooks"); return err },
		func() (err error) { f.Attach, err = root.Get("attach").Members("attach"); return err },
		func() error { return f.decodeInvariants(root.Get("invariants")) },
		func() error { return f.decodeIgnored(root.Get("ignore")) },
		func() error { return f.decodeVaried(root.Get("vary")) },
	)
}

func (f *File) decodeRuns(root *grammar.Node) error {
	runs := root.Get("runs")
	if runs == nil {
		return nil
	}
	if runs.Kind != grammar.Sequence {
		return runs.Errorf("runs: want a list of runs, got %s", runs.Describe())
	}
	var wrong grammar.Mistakes
	since, err := root.Get("since").Release()
	wrong.Add(err)
	arch, err := root.Get("arch").Arch()
	wrong.Add(err)
	seen := map[string]grammar.Pos{}
	defaults := root.Get("defaults")
	if defaults != nil && !wrong.Add(defaults.Fields(defaultsForm)) {
		defaults = nil
	}
	items, err := expanded(runs.Items, defaults)
	wrong.Add(err)
	for _, n := range items {
		r, err := f.decodeRun(n)
		if !wrong.Add(err) {
			if r == nil || r.Name == "" {
				continue
			}
			r.damaged = true // go on checking the rest of it
		}
		r.Since = max(r.Since, since)
		if r.Arch == "" {
			r.Arch = arch
		}
		if first, dup := seen[r.Name]; dup {
			what := "run " + grammar.Brief(r.Name) + " is already at line " + itoa(first.Line) + ": choose another name"
			if r.Name == "" {
				what = "a run without a name is already at line " + itoa(first.Line) + ": give this one a name"
			}
			wrong.Add(&grammar.Error{Pos: r.Pos, Text: what})
			continue
		}
		seen[r.Name] = r.Pos
		f.Runs = append(f.Runs, r)
	}
	return wrong.Err()
}

func (f *File) decodeSequence(root *grammar.Node) error {
	n := root.Get("sequence")
	if n == nil {
		return nil
	}
	if n.Kind != grammar.Sequence {
		return n.Errorf("sequence: want a list of names of runs, got %s", n.Describe())
	}
	var names []string
	byName := map[string]*Run{}
	for _, r := range f.Runs {
		names = append(names, r.Name)
		byName[r.Name] = r
	}
	var wrong grammar.Mistakes
	for _, item := range n.Items {
		r := byName[item.Text]
		if r == nil || item.Kind != grammar.Scalar {
			wrong.Add(item.Unknown("run", item.Text, names))
			continue
		}
		f.Sequence = append(f.Sequence, r)
	}
	return wrong.Err()
}
