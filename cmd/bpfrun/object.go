package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"unicode"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/app/pass"
	"github.com/bpfrun/bpfrun/internal/kernels"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/spf13/pflag"
)

// objectFlags are the options of a loader between opening and loading an object.
type objectFlags struct {
	types         []string
	mapSizes      []string
	globals       []string
	externs       []string
	innerMaps     []string
	attach        []string
	attachProgs   []string
	noLoad        []string
	lightSkeleton bool
	loader        string
	optional      bool

	strict *bool // one of the machine's flags: refuse what only some loaders accept
}

func (f *objectFlags) add(fs *pflag.FlagSet) {
	listVar(fs, &f.types, "type", "", "program type where the section name does not determine it: `NAME=TYPE`, where NAME is a section or program")
	listVar(fs, &f.mapSizes, "map-size", "", "max_entries of a map: `NAME=N`")
	listVar(fs, &f.innerMaps, "inner-map", "", "inner map of a map of maps: `OUTER=SPEC`, where SPEC is "+loader.InnerMapForm)
	listVar(fs, &f.externs, "extern", "", "value of an undefined symbol that user space patches into the program: `NAME=VALUE`")
	listVar(fs, &f.globals, "global", "", "value of a global variable: `NAME=VALUE`")
	listVar(fs, &f.attach, "attach", "", "attach a program to another function: `PROGRAM=FUNCTION`")
	listVar(fs, &f.attachProgs, "attach-prog", "", "attach an extension (freplace), fentry or fexit program to a function of another program: `PROGRAM=TARGET[:FUNCTION]`; it runs when TARGET does")
	listVar(fs, &f.noLoad, "no-load", "", "do not load `PROGRAM`; repeatable")
	fs.BoolVar(&f.optional, "optional", false, "also run optional programs (sections that begin with ?)")
	fs.StringVar(&f.loader, "loader", "auto", "follow the rules of this user space loader where loaders differ (section names, default map sizes): libbpf, cilium, aya, or auto (accept what any of them accepts; not with --strict)")
	fs.BoolVar(&f.lightSkeleton, "light-skeleton", false, "resolve CO-RE relocations as the kernel does for light skeletons, not as libbpf")
}

// open opens an object with the program types given by --type.
func (f *objectFlags) open(path string) (*loader.Object, error) { return f.openWith(path) }

// openWith is open with more options.
func (f *objectFlags) openWith(path string, more ...loader.Option) (*loader.Object, error) {
	types, err := pairs("type", f.types)
	if err != nil {
		return nil, err
	}
	dialect, ok := loader.ParseDialect(f.loader)
	if !ok {
		return nil, usagef("--loader %s: want %s", f.loader, strings.Join(loader.DialectNames(), ", "))
	}
	opts := append([]loader.Option{loader.WithDialect(dialect)}, more...)
	for name, text := range types {
		t, ok := uapi.ParseProgType(text)
		if !ok {
			return nil, usagef("--type %s=%s: no such program type (bpfrun uses the kernel's names, such as kprobe, xdp, sched_cls)", name, text)
		}
		opts = append(opts, loader.WithType(name, t))
	}
	switch _, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, usagef("%s: no such file", path)
	case err != nil:
		return nil, usageError{err}
	}
	obj, err := loader.Open(path, opts...)
	switch {
	case errors.Is(err, loader.ErrOption):
		return nil, usageError{err}
	case err != nil:
		return nil, codeError{exitLoad, err}
	}
	return obj, nil
}

// asOpened are the flags that say how an object is opened: no other file can say it.
func (f *objectFlags) asOpened() (out []string) {
	for _, t := range f.types {
		out = append(out, "--type "+t)
	}
	if f.loader != "auto" {
		out = append(out, "--loader "+f.loader)
	}
	if f.lightSkeleton {
		out = append(out, "--light-skeleton")
	}
	return out
}

// loadOptions collects the options for loading an open object.
func (f *objectFlags) loadOptions() (loader.LoadOptions, error) {
	var o loader.LoadOptions
	sizes, err1 := pairs("map-size", f.mapSizes)
	globals, err2 := pairs("global", f.globals)
	attach, err3 := pairs("attach", f.attach)
	inner, err4 := pairs("inner-map", f.innerMaps)
	externs, err5 := pairs("extern", f.externs)
	progs, err6 := pairs("attach-prog", f.attachProgs)
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		return o, err
	}
	o.MapSizes = map[string]uint32{}
	for name, text := range sizes {
		n, err := strconv.ParseUint(text, 0, 32)
		if err != nil {
			return o, usagef("--map-size %s=%s: want a number below 2^32", name, text)
		}
		o.MapSizes[name] = uint32(n)
	}
	o.Externs = map[string]uint64{}
	for name, text := range externs {
		v, err := strconv.ParseUint(text, 0, 64)
		if n, signed := strconv.ParseInt(text, 0, 64); signed == nil {
			v, err = uint64(n), nil
		}
		if err != nil {
			return o, usagef("--extern %s=%s: want a number of 64 bits", name, text)
		}
		o.Externs[name] = v
	}
	o.Globals, o.Attach, o.AttachProgs, o.InnerMaps = globals, attach, progs, inner
	o.Optional = f.optional
	o.KernelCORE = f.lightSkeleton
	o.AsDefined = *f.strict && f.loader == loader.DialectAuto.String()
	o.NoLoad = map[string]bool{}
	for _, name := range f.noLoad {
		o.NoLoad[name] = true
	}
	return o, nil
}

// errStandsAlone: a file is not a module's BTF, as --module-btf and --base require.
var errStandsAlone = errors.New("this is complete BTF, not the split BTF of a module")

// target creates the target of a source, with the given modules, version, configuration and
// symbols.
func (k *kernelFlags) target(s btfSource) (*loader.Target, error) {
	spec, err := s.load(k.types())
	if err != nil {
		var u usageError
		if errors.As(err, &u) {
			return nil, err
		}
		return nil, codeError{exitLoad, fmt.Errorf("--btf %w", err)}
	}
	if isObject(s.Path) {
		k.note("--btf %s is a BPF object: using its types in place of a kernel's", s.Path)
	}
	if s.implied != "" && k.told.CompareAndSwap(false, true) {
		k.note("%s", s.implied)
	}
	var opts []loader.TargetOption
	for _, path := range k.moduleBTF {
		name := moduleName(path)
		mod, err := k.types().Load(path, spec)
		if errors.Is(err, fs.ErrNotExist) && isModuleName(path) {
			name = path
			if mod, _, err = s.Module(path, spec); errors.Is(err, kernels.ErrNoModule) || errors.Is(err, kernels.ErrNoModules) {
				return nil, usagef("--module-btf %s: no such file, and %w", path, err)
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, usagef("--module-btf %s: no such file", path)
		}
		if err == nil && mod.StandsAlone() {
			err = errStandsAlone
		}
		if err != nil {
			// A broken module must not stop a load: it is dropped with a note.
			k.warn("skipping module BTF %s: %v", path, err)
			continue
		}
		opts = append(opts, loader.WithModules(loader.Module{Name: name, BTF: mod, Kfuncs: k.kfuncs(path, mod)}))
	}
	if k.version != "" {
		_, v, ok := loader.ParseRelease(k.version)
		if !ok {
			return nil, usagef("--kernel-version %q: want MAJOR.MINOR or MAJOR.MINOR.PATCH", k.version)
		}
		opts = append(opts, loader.WithVersion(v))
	}
	if k.kconfig != "" {
		values, err := readKconfig(k.kconfig)
		if err != nil {
			return nil, err
		}
		opts = append(opts, loader.WithWholeKconfig(values))
	}
	if k.kallsyms != "" {
		syms, err := readKallsyms(k.kallsyms)
		if err != nil {
			return nil, err
		}
		opts = append(opts, loader.WithKallsyms(syms))
	}
	name := s.Name
	if s.Path == "host" {
		name = hostRelease()
	}
	t := loader.NewTarget(name, spec, append(opts, loader.WithKfuncs(k.kfuncs(s.Path, spec)))...)
	k.tellContradictions(t)
	return t, nil
}

// kfuncs returns those declared by a kernel's or module's own file, or nil if the file does not
// list any.
func (k *kernelFlags) kfuncs(path string, spec *btf.Spec) *proto.Declared {
	d, err := kernels.Kfuncs(path, spec)
	if err != nil {
		k.note("the kfuncs that the file declares are not read, those of its release count: %v", err)
	}
	return d
}

// tellContradictions prints a note naming the kfuncs whose flags in the kernel's own file differ
// from those of its release.
func (k *kernelFlags) tellContradictions(t *loader.Target) {
	const most = 5
	all := t.Kfuncs.Contradictions(uapi.ReleaseOf(t.Version))
	for i, c := range all {
		if i == most {
			k.note("%d more kfuncs have other flags than Linux %s: those of the file count", len(all)-most, t.VersionString())
			return
		}
		k.note("kfunc %s of Linux %s; the file's count", c, t.VersionString())
	}
}

// linker links objects for kernels.
type linker struct {
	kernels *kernelFlags
	objects *objectFlags
}

// linkOn links all programs of an object for one target, for inspection only.
func (l *linker) linkOn(obj *loader.Object, s btfSource) (*loader.Linked, error) {
	target, err := l.kernels.target(s)
	if err != nil {
		return nil, err
	}
	return l.linkAll(obj, target)
}

// linkAll links all programs of an object, including optional ones.
func (l *linker) linkAll(obj *loader.Object, target *loader.Target) (*loader.Linked, error) {
	opts, err := l.objects.loadOptions()
	if err != nil {
		return nil, err
	}
	opts.Optional = true
	return load(obj, target, opts)
}

// linkTo links an object for a loaded target, to run it. Optional programs are included only if
// they are selected.
func (l *linker) linkTo(obj *loader.Object, target *loader.Target, chosen ...string) (*loader.Linked, error) {
	opts, err := l.objects.loadOptions()
	if err != nil {
		return nil, err
	}
	opts.Also = chosen
	return load(obj, target, opts)
}

// load links an object. Errors in the options are usage errors.
func load(obj *loader.Object, target *loader.Target, opts loader.LoadOptions) (*loader.Linked, error) {
	linked, err := pass.Link(obj, target, opts)
	switch {
	case errors.Is(err, loader.ErrOption):
		return nil, usageError{err}
	case err != nil:
		return nil, codeError{exitLoad, err}
	}
	return linked, nil
}

// isModuleName reports whether an argument may be the name of a module, rather than a file of
// types.
func isModuleName(arg string) bool { return !strings.ContainsAny(arg, `/\.`) }

// moduleName returns the module's name in a file name such as linux-6.12.107-amd64.kvm.btf.xz or
// kvm.ko.xz.
func moduleName(path string) string {
	name := kernels.FileSource(path).Name
	name = strings.TrimSuffix(name, ".ko")
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		name = name[i+1:]
	}
	return name
}

// hostRelease returns the release of the running kernel.
func hostRelease() string {
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "host"
	}
	return "host " + strings.TrimSpace(string(b))
}

// maxTextFile limits the size in bytes of configuration and symbol files.
const maxTextFile = 64 << 20

func readLines(flag, path string, each func(line string)) error {
	f, err := os.Open(path)
	if err != nil {
		return usageError{fmt.Errorf("--%s: %w", flag, err)}
	}
	defer f.Close()
	in := bufio.NewReader(f)
	var r io.Reader = in
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return usageError{fmt.Errorf("--%s %s: %w", flag, path, err)}
		}
		r = z
	}
	s := bufio.NewScanner(io.LimitReader(r, maxTextFile))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		each(s.Text())
	}
	if err := s.Err(); err != nil {
		return usageError{fmt.Errorf("--%s %s: %w", flag, path, err)}
	}
	return nil
}

// readKconfig reads the configuration of a kernel.
func readKconfig(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usageError{fmt.Errorf("--kconfig: %w", err)}
	}
	defer f.Close()
	values, err := loader.ParseKconfig(f)
	if err != nil {
		return nil, usageError{fmt.Errorf("--kconfig %s: %w", path, err)}
	}
	if len(values) == 0 {
		return nil, usagef("--kconfig %s: the file sets no option (CONFIG_NAME=VALUE, as in /proc/config.gz)", path)
	}
	return values, nil
}

// readKallsyms reads "ADDRESS TYPE NAME [module]" lines. The first address of a name wins.
func readKallsyms(path string) (map[string]uint64, error) {
	syms := map[string]uint64{}
	err := readLines("kallsyms", path, func(line string) {
		f := strings.Fields(line)
		if len(f) < 3 || len(f[1]) != 1 || !unicode.IsLetter(rune(f[1][0])) {
			return
		}
		addr, err := strconv.ParseUint(f[0], 16, 64)
		if _, seen := syms[f[2]]; err == nil && !seen {
			syms[f[2]] = addr
		}
	})
	if err == nil && len(syms) == 0 {
		err = usagef("--kallsyms %s: the file has no symbol lines (ADDRESS TYPE NAME, as in /proc/kallsyms)", path)
	}
	return syms, err
}

// openError is the error of a file to read that could not be opened.
func openError(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return usagef("%s: no such file", path)
	}
	return usageError{err}
}
