package loader

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
)

// analysedText says what is known about the instructions of a loaded object.
func analysedText(o *Object, l *Linked) string {
	var out strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	say("%v %v %v", o.NeedsKernelTypes(), o.RelocatedTypes(), o.HasDWARF())
	for _, f := range o.Functions {
		say("%d %v", o.Relocations(f), f.IsSubprogram())
	}
	var names []string
	for _, p := range l.Programs {
		names = append(names, p.Name)
		say("program %s %v %v %s", p.Name, p.Refusal(Verified{}), p.Refusal(Verified{Decided: true}), p.Digest())
		say(" %v %+v %v", p.Reachable(), p.Caller(), p.Plain())
		for pc := range p.Insns {
			a := p.AddressAt(pc)
			taken, fell := p.Ways(pc)
			say(" %d %v %v %s", pc, taken, fell, p.PoisonText(pc))
			say(" %v %v %v %v %v %v", a.Fixed, a.Bare, a.Moved, a.Mixed, a.Struct, a.Partial)
			for _, r := range a.Relocs {
				say("  %d %s", r.Insn, l.Explain(r))
			}
			if line, ok := p.LineAt(pc); ok {
				say("  %v", line)
			}
			if name := p.Symbols().RefName(pc); name != "" {
				say("  %s", name)
			}
		}
	}
	say("%q", l.KernelOrder(names))
	for _, h := range append(l.Ends(names), l.Pairs(names)...) {
		say("%+v", h)
	}
	return out.String()
}

// options are ways to load an object; those that name what it does not have are refused.
var options = map[string]func(o *Object) LoadOptions{
	"as it is": func(*Object) LoadOptions { return LoadOptions{} },
	"optional": func(*Object) LoadOptions { return LoadOptions{Optional: true, NoHints: true} },
	"linked":   func(*Object) LoadOptions { return LoadOptions{LinkOnly: true, AsDefined: true} },
	"copied":   func(*Object) LoadOptions { return LoadOptions{CopyCalled: true, KernelCORE: true} },
	"one": func(o *Object) LoadOptions {
		p := o.Programs[len(o.Programs)-1].Name
		return LoadOptions{Only: []string{p}, NoLoad: map[string]bool{o.Programs[0].Name: true}}
	},
	"none":         func(o *Object) LoadOptions { return LoadOptions{Only: []string{"none"}} },
	"all but none": func(o *Object) LoadOptions { return LoadOptions{NoLoad: map[string]bool{"none": true}} },
	"attached": func(o *Object) LoadOptions {
		return LoadOptions{Attach: map[string]string{o.Programs[0].Name: "vfs_read"}}
	},
	"attached to one": func(o *Object) LoadOptions {
		return LoadOptions{AttachProgs: map[string]string{o.Programs[0].Name: o.Programs[len(o.Programs)-1].Name}}
	},
	"sized": func(o *Object) LoadOptions {
		sizes := map[string]uint32{}
		for i, m := range o.Maps {
			sizes[m.Name] = uint32(i)
		}
		return LoadOptions{MapSizes: sizes}
	},
	"first map sized": func(o *Object) LoadOptions { return LoadOptions{MapSizes: map[string]uint32{o.Maps[0].Name: 4097}} },
	"no map sized":    func(*Object) LoadOptions { return LoadOptions{MapSizes: map[string]uint32{"none": 1}} },
	"an extern":       func(*Object) LoadOptions { return LoadOptions{Externs: map[string]uint64{"missing_constant": 7}} },
	"no inner map":    func(*Object) LoadOptions { return LoadOptions{InnerMaps: map[string]string{"none": "x"}} },
	"bytes":           func(o *Object) LoadOptions { return LoadOptions{GlobalBytes: bytesOfGlobals(o, 0)} },
	"a byte less":     func(o *Object) LoadOptions { return LoadOptions{GlobalBytes: bytesOfGlobals(o, -1)} },
	"a byte more":     func(o *Object) LoadOptions { return LoadOptions{GlobalBytes: bytesOfGlobals(o, 1)} },
	"values":          func(o *Object) LoadOptions { return LoadOptions{Globals: globals(o, "1")} },
	"large values":    func(o *Object) LoadOptions { return LoadOptions{Globals: globals(o, "4294967296")} },
	"text":            func(o *Object) LoadOptions { return LoadOptions{Globals: globals(o, "\"text\"")} },
	"no global": func(o *Object) LoadOptions {
		return LoadOptions{Globals: map[string]string{"none": "1", ".bss:none": "1", "": "2"}}
	},
}

// bytesOfGlobals sets the first variable of the object to bytes, as many as it has and more.
func bytesOfGlobals(o *Object, more int) map[string][]byte {
	for _, m := range o.Maps {
		for _, v := range m.Vars {
			return map[string][]byte{v.Name: bytes.Repeat([]byte{5}, max(int(v.Size)+more, 0))}
		}
	}
	return nil
}

// globals sets all variables of the object.
func globals(o *Object, to string) map[string]string {
	out := map[string]string{}
	for _, m := range o.Maps {
		for _, v := range m.Vars {
			out[v.Name] = to
		}
	}
	return out
}

// everyTarget returns kernels with all, few and no types, of many releases.
func everyTarget(t *testing.T) (out []*Target) {
	paths, err := filepath.Glob("../testdata/btf/min/*.btf")
	require.NoError(t, err)
	for _, path := range append(paths, "../testdata/btf/linux-5.10.262-amd64-cloud.btf.xz") {
		spec, err := testbtf.Load(path)
		require.NoError(t, err)
		out = append(out, NewTarget(strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".xz"), ".btf"), spec))
	}
	spec, err := embedded.Spec()
	require.NoError(t, err)
	for _, v := range []uint32{5<<16 | 4<<8, 5<<16 | 10<<8, 5<<16 | 15<<8, 5<<16 | 19<<8, 6<<16 | 3<<8, 6<<16 | 6<<8, 6<<16 | 9<<8, 6<<16 | 12<<8, 6<<16 | 15<<8, 7 << 16} {
		out = append(out, NewTarget("none", nil, WithVersion(v)), NewTarget("types", spec, WithVersion(v)))
	}
	return append(out, NewTarget("nothing", nil), NewTarget("config", spec, WithWholeKconfig(map[string]string{"CONFIG_HZ": "300", "CONFIG_BPF_LSM": "y"})),
		NewTarget("symbols", spec, WithKallsyms(map[string]uint64{"vfs_read": 0xffffffff81000000, "bpf_prog_active": 16})))
}

// TestObjectsLoadTheSame loads objects for many kernels and in many ways, and compares all that
// follows with a table.
func TestObjectsLoadTheSame(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	usual, targets := NewTarget(embedded.Name, spec), everyTarget(t)
	paths, err := filepath.Glob("../testdata/objects/*/*.o")
	require.NoError(t, err)
	var all rewrite.Outcomes
	for n, path := range paths {
		o, err := Open(path)
		if errors.Is(err, ErrNotObject) {
			continue
		}
		require.NoError(t, err)
		add := func(how string, target *Target, opts LoadOptions, analysed bool) {
			if !all.Asks(path + " " + how) {
				return
			}
			l, err := o.Load(target, opts)
			if err != nil {
				all.Add(path+" "+how, "not loaded: "+err.Error())
				return
			}
			said := "loaded"
			if l.Err != nil {
				said = "refused: " + l.Err.Error()
			}
			h := fnv.New64a()
			_, _ = h.Write([]byte(loadedText(o, l)))
			if analysed {
				_, _ = h.Write([]byte(analysedText(o, l)))
			}
			all.Add(path+" "+how, fmt.Sprintf("%s\t%x", said, h.Sum64()))
		}
		add("analysed", usual, LoadOptions{AnyByteOrder: true}, true)
		for i, target := range targets {
			if (n+i)%4 == 0 || strings.Contains(path, "sections.o") {
				add(fmt.Sprint("target ", i), target, LoadOptions{AnyByteOrder: true}, false)
			}
		}
		if len(o.Programs) > 0 && len(o.Maps) > 0 {
			for how, make := range options {
				add(how, usual, make(o), false)
			}
		}
	}
	all.Compare(t, filepath.Join("testdata", "loads.txt"))
}
