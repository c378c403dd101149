package loader

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/debuginfo"
	"github.com/bpfrun/bpfrun/corerelo"
)

// Section names with special meaning.
const (
	secText       = ".text"
	secMaps       = ".maps"
	secKconfig    = ".kconfig"
	secKsyms      = ".ksyms"
	secArena      = ".addr_space.1"
	secJumpTables = ".jumptables"
	secBTF        = ".BTF"
	secBTFExt     = ".BTF.ext"
	secLicense    = "license"
	secVersion    = "version"
	secDebugInfo  = ".debug_info"
)

// Open reads the object at path. The error is an *[Error] or one of the file system.
func Open(path string, opts ...Option) (*Object, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	switch {
	case st.IsDir():
		return nil, (&Error{Object: path, Insn: -1, Err: ErrNotObject, Detail: "a directory"}).hint("name the object files in the directory")
	case st.Size() > maxObject:
		return nil, &Error{Object: path, Insn: -1, Err: ErrTooLarge, Detail: "more than 1 GiB"}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var data bytes.Buffer
	data.Grow(int(st.Size()) + bytes.MinRead) // a file that grows meanwhile is still read completely
	if _, err := io.CopyN(&data, f, int64(len(elf.ELFMAG))); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if data.String() != elf.ELFMAG { // it may be an endless device, so only the beginning is read
		if _, err := data.ReadFrom(io.LimitReader(f, 16<<10)); err != nil {
			return nil, err
		}
	} else {
		if _, err := data.ReadFrom(io.LimitReader(f, maxObject)); err != nil {
			return nil, err
		}
	}
	o, err := OpenBytes(filepath.Base(path), data.Bytes(), opts...)
	if err != nil {
		return nil, err
	}
	o.Path = path
	return o, nil
}

// DebugTypes returns BTF extended by the named structs that only the object's DWARF has, such as
// those of ring buffer records. It returns Object.BTF itself if there are none, or if the DWARF
// cannot be read.
func (o *Object) DebugTypes() *btf.Spec {
	o.debugOnce.Do(func() {
		o.debug = o.BTF
		if o.BTF == nil {
			return
		}
		if spec, err := debuginfo.Structs(o.elf, o.BTF, o.relocatedNames()); err == nil && spec != nil {
			o.debug = spec
		}
	})
	return o.debug
}

// HasDWARF reports whether the object was compiled with -g and not stripped afterwards.
func (o *Object) HasDWARF() bool { return o.hasDWARF }

// relocatedNames returns the names of the kernel types whose fields CO-RE relocates.
func (o *Object) relocatedNames() map[string]bool {
	names := map[string]bool{}
	for _, id := range o.RelocatedTypes() {
		names[o.BTF.Name(id)] = true
	}
	return names
}

// RelocatedTypes returns the object's declarations of kernel types whose fields CO-RE relocates.
func (o *Object) RelocatedTypes() []btf.ID {
	if o.Ext == nil {
		return nil
	}
	var ids []btf.ID
	seen := map[btf.ID]bool{}
	for _, s := range o.Ext.CORE {
		for _, r := range s.Records {
			if corerelo.Kind(r.Kind).IsField() && !seen[r.TypeID] {
				seen[r.TypeID] = true
				ids = append(ids, r.TypeID)
			}
		}
	}
	return ids
}

// OpenBytes parses an object in memory. data must not be modified afterwards. The error is an
// *[Error].
func OpenBytes(name string, data []byte, opts ...Option) (*Object, error) {
	var cfg openConfig
	for _, opt := range opts {
		opt(&cfg)
	}
	o := &Object{Name: name, Path: name, sections: map[string]*codeSection{}, secByIndex: map[int]*codeSection{}, mapBySec: map[int][]*Map{}}
	if err := o.open(data, &cfg); err != nil {
		var e *Error
		if !errors.As(err, &e) {
			e = &Error{Insn: -1, Err: because(ErrMalformed, err)}
		}
		e.Object = name
		return nil, e
	}
	return o, nil
}

func (o *Object) open(data []byte, cfg *openConfig) error {
	f, err := readELF(data)
	if err != nil {
		return err
	}
	o.ByteOrder, o.elf, o.opened = f.order, data, *cfg
	o.hasDWARF = f.byName(secDebugInfo) != nil
	if err := o.readTypes(f); err != nil {
		return err
	}
	if s := f.byName(secLicense); s != nil {
		o.License, _, _ = strings.Cut(string(s.Data), "\x00")
	}
	if s := f.byName(secVersion); s != nil && len(s.Data) >= 4 {
		o.Version = o.ByteOrder.Uint32(s.Data)
	}
	if err := o.readCode(f); err != nil {
		return err
	}
	o.makePrograms(cfg)
	for _, step := range []func(*file) error{
		o.readBTFMaps, o.readLegacyMaps, o.readDataMaps, o.readExterns, o.readStructOps, o.readMapValues, o.readTailTags, o.readDataRelocs, o.readCodeRelocs,
	} {
		if err := step(f); err != nil {
			return err
		}
	}
	if len(o.Functions) == 0 && len(o.Maps) == 0 {
		o.warnf("no programs and no maps")
	}
	return checkOptions(o, cfg)
}

// readTypes parses .BTF and .BTF.ext, which may be missing.
func (o *Object) readTypes(f *file) error {
	s := f.byName(secBTF)
	if s == nil || len(s.Data) == 0 {
		return nil
	}
	var err error
	if o.BTF, err = btf.Parse(s.Data, nil); err != nil {
		return &Error{Insn: -1, Section: secBTF, Err: because(ErrBTF, err)}
	}
	o.declTags, o.tailTags = funcTags(o.BTF, exceptionPrefix), funcTags(o.BTF, tailPrefix)
	o.Arch = archOf(o.BTF)
	s = f.byName(secBTFExt)
	if s == nil || len(s.Data) == 0 {
		return nil
	}
	if o.Ext, err = btf.ParseExt(s.Data, o.BTF); err != nil {
		return &Error{Insn: -1, Section: secBTFExt, Err: because(ErrBTF, err)}
	}
	return nil
}

// exceptionPrefix is the prefix of the decl tag that names a program's exception callback.
const exceptionPrefix = "exception_callback:"

// funcTags collects, by FUNC, the rest of decl tags with a prefix.
func funcTags(s *btf.Spec, prefix string) map[btf.ID][]string {
	tags := map[btf.ID][]string{}
	for id := 1; id < s.NumTypes(); id++ {
		if s.Kind(btf.ID(id)) != btf.KindDeclTag || !strings.HasPrefix(s.Name(btf.ID(id)), prefix) {
			continue
		}
		if t, err := s.Type(btf.ID(id)); err == nil && t.ComponentIdx < 0 {
			tags[t.Ref] = append(tags[t.Ref], strings.TrimPrefix(t.Name, prefix))
		}
	}
	return tags
}

func checkOptions(o *Object, cfg *openConfig) error {
names:
	for name := range cfg.types {
		for _, p := range o.Programs {
			if p.Name == name || p.Section == name {
				continue names
			}
		}
		return failf(ErrOption, "no program or section %q to set a type for", name).hint("it has %s", listPrograms(o.Programs))
	}
	return nil
}

func listPrograms(ps []*Program) string {
	names := make([]string, len(ps))
	for i, p := range ps {
		names[i] = p.Name
	}
	return listNames(names)
}

// makePrograms determines which functions are programs: all non-static functions in sections other
// than .text, and a single function in .text.
func (o *Object) makePrograms(cfg *openConfig) {
	for _, fn := range o.Functions {
		switch {
		case fn.Section == secText && len(o.Functions) > 1:
			continue
		case !fn.Global && fn.Section != secText && o.staticHelper(fn):
			continue // libbpf refuses static programs; such a function can only be called, unless a tag marks it
		}
		p := &Program{
			Name: fn.Name, Section: fn.Section, Insns: fn.Insns, SectionOff: fn.SectionOff, FuncType: fn.Type, Function: fn,
		}
		fn.Program = p
		o.classify(p, cfg.types)
		if !p.Known {
			o.warnf("program %s: section name %q does not determine a program type", p.Name, p.Section)
		}
		if tags := o.declTags[fn.Type]; fn.Type != 0 && len(tags) > 0 {
			p.ExceptionCallback = tags[0]
		}
		o.Programs = append(o.Programs, p)
	}
}

// staticHelper reports whether a static function shares its section with a global one, or is in a
// section with an unknown name.
func (o *Object) staticHelper(fn *Function) bool {
	if fn.Type != 0 && len(o.tailTags[fn.Type]) > 0 {
		return false
	}
	for _, other := range fn.sec.funcs {
		if other != fn && other.Global {
			return true
		}
	}
	return false
}
