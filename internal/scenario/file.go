package scenario

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// File is a parsed scenario file.
type File struct {
	Path        string
	Description string
	// Object is the path of the BPF object: the one that the file names, or else the one next to
	// the file.
	Object string
	// ObjectPos is the position where the file names it; Named is true if it does.
	ObjectPos Pos
	Named     bool
	// Kernels are the kernels to run on if the command names none.
	Kernels []KernelName
	Kernel  Setup
	// Unverified means that programs run without a verdict, also those that the kernel's verifier
	// refuses.
	Unverified bool
	// Objects, Maps and Globals are set up before the runs, in file order.
	Objects, Maps, Globals []Pair
	// Attach are programs that are attached to functions of others, with their targets.
	Attach []Pair
	Runs   []*Run
	// Sequence lists the runs that share one machine.
	Sequence []*Run
	// Invariants are what holds after every run.
	Invariants []*Invariant
	// Ignored are the findings that are no mistakes.
	Ignored []Ignored
	// Varied are names of maps and variables that are input of a search although programs write
	// them.
	Varied []*Node

	text  [sha256.Size]byte // digest of a file that names no others; else 0
	names bool              // it may name files with bytes
	found Errors            // mistakes so far; the file can be checked but not run
	cut   *cutting          // what was left out because it is not valid YAML
	bad   map[string]bool   // objects whose definition is invalid
}

// KernelName names a kernel by file, directory, glob or release. A path that exists relative to the
// scenario file is relative to it.
type KernelName struct {
	Pos
	Name string
}

// Setup configures the simulated machine of a file.
type Setup struct {
	CPUs    int // 0 if not set
	Clock   kernel.ClockConfig
	Random  []uint64
	Seed    *uint64
	Kconfig map[string]string
	Ksyms   []Pair
	Network *Node
	// Defaults gives fields of kernel objects that were not set their default values, as in runs
	// without a file.
	Defaults bool
	// Xattrs are extended attributes of files.
	Xattrs map[kernel.XattrKey]string
}

// Run is one run of a program.
type Run struct {
	Pos
	Name, Prog string
	ProgNode   *Node
	// Chain are the programs that run one after the other on one hook, the first of which is Prog;
	// ChainNode is nil for a run of one program.
	Chain     []string
	ChainNode *Node
	Current   *Node // nil for the default task
	CPU       int
	CPUNode   *Node
	Args      []Pair
	Helpers   []HelperAnswer
	Packet    []byte
	// Pcap is a capture whose packets the program runs on, instead of one packet.
	Pcap                 string
	PacketNode, PcapNode *Node
	// TruncateNode is set if the program also runs on truncated copies of the packet. Truncate
	// lists their lengths in bytes; nil means every length.
	TruncateNode *Node
	Truncate     []int
	Ctx          []byte
	// Context sets what a networking or cgroup program sees besides its packet.
	Context *Node
	// CtxFields sets members of the struct that the program declares as its context; it replaces
	// Ctx.
	CtxFields *Node
	// UnsetStack selects how reads of unset stack bytes are reported. UnsetNode is its node, nil
	// for the default.
	UnsetStack UnsetStack
	UnsetNode  *Node
	After      time.Duration
	Settle     time.Duration
	Repeat     int
	Expect     Expect
	// Since is the oldest kernel that the run is for, as KERNEL_VERSION; 0 means any. Arch is the
	// architecture; "" means any.
	Since uint32
	Arch  string
	// Sched is the schedule that runs instead of one program, or nil.
	Sched *Sched
	// Qdisc is the traffic that a queueing discipline gets instead, or nil.
	Qdisc *Qdisc
	// Sockets are bytes that move through sockmaps instead, or nil.
	Sockets *Sockets
	// Race are programs that run at the same time instead, or nil.
	Race    *Race
	damaged bool // part of it could not be read

	// Cookie is the attach cookie (bpf_get_attach_cookie).
	Cookie     uint64
	CookieNode *Node
	// USDT says where the arguments of a USDT probe are; nil for constants.
	USDT *Node
	// Function is the function that a program runs for which traces many; nil for the default one.
	Function *Node
	// Functions are the functions that it runs for one after the other; nil for one.
	Functions *Functions
	// Elements are the arguments for each call of an iterator; Map is the map that it visits. Both
	// may be unset.
	Elements *Node
	Map      *Node
	// HID is the HID device that the program runs on; nil for none.
	HID *HIDSpec
}

// ExpectsNothing reports whether the run has no expectations, so that it checks only that the
// program does not fault.
func (r *Run) ExpectsNothing() bool { return r.Race == nil && reflect.ValueOf(r.Expect).IsZero() }

// HelperAnswer sets what calls of a helper return.
type HelperAnswer struct {
	Pos
	Name    string
	FailAt  int
	Returns []uint64
}

// Expect lists the expectations of a run. Nil nodes expect nothing.
type Expect struct {
	Ret, Fault, Status, Trace, Packet, Ctx         *Node
	Output, Effects, Truncated, Others, Sched, HID *Node
	Chain, Qdisc, Sends, Receiver, Findings        *Node
	Maps, Globals, Ringbuf, Perf, Kernel, Helpers  []Pair
	Sockets, Functions                             []Pair
	Reads                                          []*Node
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
	data, err := readFile(path, maxFile)
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, &Error{Pos: Pos{path, 1, 1}, Text: fmt.Sprintf("the scenario file has more than %d bytes", maxFile)}
	}
	f, err := Parse(path, data)
	if f != nil && !f.names {
		f.text = sha256.Sum256(data)
	}
	if err != nil && foreign(path, data) {
		return nil, &Error{Pos: Pos{path, 1, 1}, Text: "not a scenario file, which is YAML with the keys " + strings.Join(fileForm.names(), ", ")}
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
	return root == nil || !slices.ContainsFunc(root.Pairs, func(p Pair) bool { return fileForm.has(p.Key.Text) })
}

// Parse parses a scenario; path appears in positions and is the base of relative file names. The
// error is an [*Error], or [Errors] if there are several. It may come with a partial File, in which
// [Open] finds further mistakes.
func Parse(path string, data []byte) (*File, error) {
	root, cut, err := salvage(path, data)
	var m mistakes
	m.add(err)
	if root == nil {
		return nil, m.final()
	}
	f := &File{Path: path, ObjectPos: root.Pos, cut: cut, names: root.namesFiles()}
	m.add(f.decode(root))
	m.list = cut.own(m.list)
	if err := m.final(); err != nil {
		f.found = m.list
		return f, err
	}
	return f, nil
}

// fields checks that a node is a mapping with the members of a form.
func (n *Node) fields(f *form) error {
	if n.Kind != Mapping {
		return n.errorf("%s: want a mapping with %s, got %s", f.name, strings.Join(f.names(), ", "), n.describe())
	}
	var wrong mistakes
	for _, p := range n.Pairs {
		if !f.has(p.Key.Text) {
			wrong.add(p.Key.unknown("key of "+f.name, p.Key.Text, f.names()))
		}
	}
	for _, m := range f.members {
		if m.required && n.Get(m.name) == nil && (f != fileForm || n.Get("race") == nil) && wrong.err() == nil && !n.lost { // otherwise the misspelled key may be the required one
			e := n.errorf("%s needs %q", f.name, m.name)
			e.missing = m.name
			wrong.add(e)
		}
	}
	return wrong.err()
}

func (f *File) decode(root *Node) error {
	if root.Kind != Mapping {
		return root.fields(fileForm)
	}
	var m mistakes
	for _, step := range []func(*Node) error{func(n *Node) error { return n.fields(fileForm) }, f.decodeObject, f.decodeKernels, f.decodeKernel, f.decodeTables, f.decodeRuns, f.decodeRaces} {
		m.add(step(root))
	}
	if runs := root.Get("runs"); m.err() == nil || runs != nil && !runs.lost && len(f.Runs) >= len(runs.Items) { // otherwise a run may be missing because of its mistakes
		m.add(f.decodeSequence(root))
	}
	return m.err()
}

func (f *File) decodeObject(root *Node) error {
	if d := root.Get("description"); d != nil {
		f.Description = d.Text
	}
	n := root.Get("object")
	if n == nil {
		f.Object = beside(f.Path)
		return nil
	}
	name, err := n.text("object")
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

func (f *File) decodeKernels(root *Node) error {
	n := root.Get("kernels")
	if n == nil {
		return nil
	}
	if n.Kind != Sequence {
		return n.errorf("kernels: want a list of releases or files, got %s", n.describe())
	}
	var wrong mistakes
	for _, item := range n.Items {
		name, err := item.text("kernels")
		if !wrong.add(err) {
			continue
		}
		if near := filepath.Join(filepath.Dir(f.Path), filepath.FromSlash(name)); !filepath.IsAbs(name) {
			if found, err := filepath.Glob(near); err == nil && len(found) > 0 {
				name = near
			}
		}
		f.Kernels = append(f.Kernels, KernelName{item.Pos, name})
	}
	return wrong.err()
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

func (f *File) decodeKernel(root *Node) error {
	n := root.Get("kernel")
	if n == nil {
		return nil
	}
	var wrong mistakes
	wrong.add(n.fields(kernelForm))
	if n.Kind != Mapping {
		return wrong.err()
	}
	var err error
	if c := n.Get("cpus"); c != nil {
		f.Kernel.CPUs, err = c.int("cpus", 1, 1024)
		wrong.add(err)
	}
	if c := n.Get("clock"); c != nil {
		wrong.add(f.decodeClock(c))
	}
	if r := n.Get("random"); r != nil {
		if r.Kind != Sequence {
			wrong.add(r.errorf("random: want a list of numbers, got %s", r.describe()))
		}
		for _, item := range r.Items {
			v, err := item.uint64("random")
			wrong.add(err)
			f.Kernel.Random = append(f.Kernel.Random, v)
		}
	}
	if v := n.Get("values"); v != nil {
		if v.Text != "default" && v.Text != "zero" {
			wrong.add(v.unknown("kind of values", v.Text, []string{"default", "zero"}))
		}
		f.Kernel.Defaults = v.Text == "default"
	}
	if s := n.Get("seed"); s != nil {
		v, err := s.uint64("seed")
		wrong.add(err)
		f.Kernel.Seed = &v
	}
	kconfig, err := n.Get("kconfig").pairs("kconfig")
	wrong.add(err)
	for _, p := range kconfig {
		if p.Value.Kind != Scalar {
			wrong.add(p.Value.errorf("kconfig %s: want a value, got %s", p.Key.Text, p.Value.describe()))
			continue
		}
		if f.Kernel.Kconfig == nil {
			f.Kernel.Kconfig = map[string]string{}
		}
		v := p.Value.Text
		if p.Value.Quoted && !strings.HasPrefix(v, `"`) {
			if _, isNumber := number(v); !isNumber && len(v) != 1 {
				v = `"` + v + `"`
			}
		}
		f.Kernel.Kconfig[p.Key.Text] = v
	}
	f.Kernel.Network = n.Get("network")
	wrong.add(f.decodeXattrs(n.Get("xattrs")))
	f.Kernel.Ksyms, err = n.Get("ksyms").pairs("ksyms")
	wrong.add(err)
	return wrong.err()
}

// decodeXattrs reads attributes by path and name: {/bin/true: {user.origin: here}}.
func (f *File) decodeXattrs(n *Node) error {
	files, err := n.pairs("xattrs")
	if err != nil {
		return err
	}
	var wrong mistakes
	f.Kernel.Xattrs = map[kernel.XattrKey]string{}
	for _, file := range files {
		path := file.Key.Text
		if !strings.HasPrefix(path, "/") {
			wrong.add(file.Key.errorf("xattrs: %q is no absolute path", path))
		}
		attributes, err := file.Value.pairs("xattrs of " + path)
		wrong.add(err)
		for _, a := range attributes {
			if a.Value.Kind != Scalar {
				wrong.add(a.Value.errorf("xattrs: want a text, got %s", a.Value.describe()))
				continue
			}
			f.Kernel.Xattrs[kernel.XattrKey{Path: path, Name: a.Key.Text}] = a.Value.Text
		}
	}
	return wrong.err()
}

func (f *File) decodeClock(n *Node) error {
	var wrong mistakes
	wrong.add(n.fields(clockForm))
	if n.Kind != Mapping {
		return wrong.err()
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
		d, err := v.duration("clock." + m.name)
		if !wrong.add(err) {
			continue
		}
		*m.to = uint64(d)
		if m.name == "step" && d == 0 {
			c.Frozen = true
		}
	}
	if v := n.Get("hz"); v != nil {
		hz, err := v.int("clock.hz", 1, 1_000_000)
		wrong.add(err)
		c.HZ = uint64(hz)
	}
	return wrong.err()
}

// decodeVerify decodes whether programs are verified; they are if the file does not say.
func (f *File) decodeVerify(n *Node) error {
	if n == nil {
		return nil
	}
	verify, err := n.bool("verify")
	f.Unverified = !verify
	return err
}

// decodeObjects decodes the mapping of kernel objects.
func (f *File) decodeObjects(n *Node) error {
	var err error
	if f.Objects, err = n.pairs("objects"); err != nil {
		return err
	}
	var wrong mistakes
	f.bad = map[string]bool{}
	for _, p := range f.Objects {
		if p.Value.Kind != Mapping && p.Value.Tag == "" && !isRef(p.Value) {
			wrong.add(p.Value.errorf("object %s: want {type: NAME, fields}, a builder such as !file {...}, or $name, got %s", p.Key.Text, p.Value.describe()))
			f.bad[p.Key.Text] = true
		}
		if strings.ContainsAny(p.Key.Text, ".$->[] ") || p.Key.Text == "" {
			wrong.add(p.Key.errorf("object name %q: want a word", p.Key.Text))
			f.bad[p.Key.Text] = true
		}
	}
	return wrong.err()
}

func (f *File) decodeTables(root *Node) error {
	return try(
		func() error { return f.decodeVerify(root.Get("verify")) },
		func() error { return f.decodeObjects(root.Get("objects")) },
		func() (err error) { f.Maps, err = root.Get("maps").pairs("maps"); return err },
		func() (err error) { f.Globals, err = root.Get("globals").pairs("globals"); return err },
		func() (err error) { f.Attach, err = root.Get("attach").pairs("attach"); return err },
		func() error { return f.decodeInvariants(root.Get("invariants")) },
		func() error { return f.decodeIgnored(root.Get("ignore")) },
		func() error { return f.decodeVaried(root.Get("vary")) },
	)
}

func (f *File) decodeRuns(root *Node) error {
	runs := root.Get("runs")
	if runs == nil {
		return nil
	}
	if runs.Kind != Sequence {
		return runs.errorf("runs: want a list of runs, got %s", runs.describe())
	}
	var wrong mistakes
	since, err := root.Get("since").release()
	wrong.add(err)
	arch, err := root.Get("arch").arch()
	wrong.add(err)
	seen := map[string]Pos{}
	defaults := root.Get("defaults")
	if defaults != nil && !wrong.add(defaults.fields(defaultsForm)) {
		defaults = nil
	}
	items, err := expanded(runs.Items, defaults)
	wrong.add(err)
	for _, n := range items {
		r, err := f.decodeRun(n)
		if !wrong.add(err) {
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
			wrong.add(&Error{Pos: r.Pos, Text: "run " + brief(r.Name) + " is already at line " + itoa(first.Line) + ": choose another name"})
			continue
		}
		seen[r.Name] = r.Pos
		f.Runs = append(f.Runs, r)
	}
	return wrong.err()
}

func (f *File) decodeSequence(root *Node) error {
	n := root.Get("sequence")
	if n == nil {
		return nil
	}
	if n.Kind != Sequence {
		return n.errorf("sequence: want a list of names of runs, got %s", n.describe())
	}
	var names []string
	byName := map[string]*Run{}
	for _, r := range f.Runs {
		names = append(names, r.Name)
		byName[r.Name] = r
	}
	var wrong mistakes
	for _, item := range n.Items {
		r := byName[item.Text]
		if r == nil || item.Kind != Scalar {
			wrong.add(item.unknown("run", item.Text, names))
			continue
		}
		f.Sequence = append(f.Sequence, r)
	}
	return wrong.err()
}

// pairs returns the members of a mapping, or nothing for a nil node.
func (n *Node) pairs(what string) ([]Pair, error) {
	if n == nil || n.Kind == Null {
		return nil, nil
	}
	if n.Kind != Mapping {
		return nil, n.errorf("%s: want a mapping, got %s", what, n.describe())
	}
	return n.Pairs, nil
}

func (n *Node) text(what string) (string, error) {
	if n.Kind != Scalar || n.Text == "" {
		return "", n.errorf("%s: want a string, got %s", what, n.describe())
	}
	return n.Text, nil
}

func (n *Node) big(what string) (*big.Int, error) {
	if n.Kind == Scalar {
		if v, ok := number(n.Text); ok {
			return v, nil
		}
		if v, ok := n.macro(); ok {
			return v, nil
		}
	}
	return nil, n.errorf("%s: want a number, got %s", what, n.describe())
}

func (n *Node) int(what string, lowest, highest int64) (int, error) {
	v, err := n.big(what)
	if err != nil {
		return 0, err
	}
	if !v.IsInt64() || v.Int64() < lowest || v.Int64() > highest {
		return 0, n.errorf("%s: %v is outside the range %d to %d", what, v, lowest, highest)
	}
	return int(v.Int64()), nil
}

// uint64 decodes a signed or unsigned 64-bit number.
func (n *Node) uint64(what string) (uint64, error) {
	v, err := n.big(what)
	if err != nil {
		return 0, err
	}
	switch {
	case v.IsUint64():
		return v.Uint64(), nil
	case v.IsInt64():
		return uint64(v.Int64()), nil
	}
	return 0, n.errorf("%s: %v does not fit into 64 bits", what, v)
}

// duration decodes "1h" or "5us"; a bare number is in nanoseconds.
func (n *Node) duration(what string) (time.Duration, error) {
	if n.Kind == Scalar {
		if v, ok := number(n.Text); ok && v.Sign() >= 0 && v.IsInt64() {
			return time.Duration(v.Int64()), nil
		}
		if d, err := time.ParseDuration(n.Text); err == nil && d >= 0 && d < math.MaxInt64 {
			return d, nil
		}
	}
	return 0, n.errorf("%s: want a duration such as 1h, 90s, 5us, got %s", what, n.describe())
}

// release decodes a kernel release. It returns 0 for a nil node.
func (n *Node) release() (uint32, error) {
	if n == nil {
		return 0, nil
	}
	if n.Kind == Scalar {
		if _, v, ok := loader.ParseRelease(n.Text); ok {
			return v, nil
		}
	}
	return 0, n.errorf("since: want a kernel version such as 5.17, got %s", n.describe())
}

// arch decodes the name of an architecture. It returns "" for a nil node.
func (n *Node) arch() (string, error) {
	if n == nil {
		return "", nil
	}
	names := []string{"x86", "arm64", "arm", "riscv", "s390"}
	if n.Kind != Scalar || !slices.Contains(names, n.Text) {
		return "", n.unknown("architecture", n.Text, names)
	}
	return n.Text, nil
}

// errno decodes an error number: 14, EFAULT, -EFAULT.
func (n *Node) errno(what string) (uapi.Errno, error) {
	if n.Kind == Scalar {
		text := strings.TrimPrefix(n.Text, "-")
		if e, ok := uapi.ParseErrno(text); ok {
			return e, nil
		}
		if v, ok := number(text); ok && v.IsInt64() && v.Int64() > 0 && v.Int64() < 4096 {
			return uapi.Errno(v.Int64()), nil
		}
	}
	return 0, n.errorf("%s: want an error such as EFAULT, got %s", what, n.describe())
}
