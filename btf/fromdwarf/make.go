package fromdwarf

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"runtime"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/dedup"
)

// Errors; test with [errors.Is].
var (
	// ErrNoDWARF: the file has no .debug_info.
	ErrNoDWARF = errors.New("no DWARF")
	// ErrMalformed: the DWARF is inconsistent.
	ErrMalformed = errors.New("malformed DWARF")
	// ErrTooLarge: a type exceeds a limit of BTF.
	ErrTooLarge = errors.New("too large for BTF")
	// ErrMachine: relocations of the object file's machine are not known.
	ErrMachine = errors.New("unknown machine")
)

// Options control the conversion.
type Options struct {
	// Base, when not nil, is BTF that the result continues.
	Base *btf.Spec
	// Features selects what is described beyond C types and functions.
	Features Features
	// Kfuncs are the flags of kfuncs by name (ids.Section.Kfuncs), for KfuncTags and Attributes.
	Kfuncs map[string]uint32
	// Progress, when not nil, is called from time to time with the bytes of .debug_info read so far
	// and in all; if it returns an error, Make stops and returns it.
	Progress func(done, total int64) error
}

// Result is the BTF, not yet deduplicated.
type Result struct {
	Types *dedup.Types
	// Units counts compilation units, Skipped those in languages that BTF cannot describe.
	Units, Skipped int
	Functions      int
	Kfuncs         int // functions tagged as kfuncs
	Variables      int
	// LeftOut counts, with the features that need locations, the functions that were left out for a
	// reason.
	LeftOut [Reasons]int
}

// Languages that BTF has no types for (DWARF 5 section 3.1.1).
const (
	langCPlus   = 0x04
	langCPlus03 = 0x19
	langCPlus11 = 0x1a
	langRust    = 0x1c
	langCPlus14 = 0x21

	maxUnitTypes = 1 << 28
)

func described(lang int64) bool {
	switch lang {
	case langCPlus, langCPlus03, langCPlus11, langCPlus14, langRust:
		return false
	}
	return true
}

// Make converts the DWARF of an ELF file to BTF. It decodes units with GOMAXPROCS goroutines; the
// result does not depend on their number.
func Make(f *elf.File, opt Options) (res *Result, err error) {
	// A panic in debug/elf or the decoder must not end the process.
	defer guard(&err)
	in, err := openInput(f, opt.Features)
	if err != nil {
		return nil, err
	}
	types, err := dedup.New(opt.Base)
	if err != nil {
		return nil, err
	}
	spans, err := in.spans()
	if err != nil {
		return nil, err
	}
	m := &maker{
		opt: opt, feat: opt.Features, types: types, syms: symbols(f, opt.Features), linked: f.Type != elf.ET_REL, in: in, res: &Result{Types: types}, done: map[string]bool{},
		seen: map[variableKey]bool{}, offsets: [2]pages{},
	}
	if err := m.units(spans); err != nil {
		return nil, err
	}
	if in.located {
		m.functions()
	}
	m.sections()
	if m.bad != nil {
		return nil, m.bad
	}
	return m.res, nil
}

// vlen returns how many entries of a type are written. More than BTF can count fail the whole
// conversion.
func (m *maker) vlen(kind btf.Kind, entries int) int {
	if entries > btf.MaxVlen {
		m.bad = fmt.Errorf("%w: a %s with %d entries, BTF has at most %d", ErrTooLarge, kind, entries, btf.MaxVlen)
		return btf.MaxVlen
	}
	return entries
}

func guard(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: %v", ErrMalformed, r)
	}
}

// maker is the state of one run.
type maker struct {
	opt    Options
	feat   Features
	types  *dedup.Types
	syms   symbolTable
	in     *input
	res    *Result
	linked bool // addresses are comparable with those of the symbols
	// lastInt is the type int of the last unit that has one.
	lastInt uint32
	// done holds the functions written so far: only the first of a name is written.
	done map[string]bool
	// kept are the functions of all units, with functionFeatures.
	kept []candidate
	vars []variable
	seen map[variableKey]bool
	// offsets maps offsets in .debug_str and .debug_line_str to offsets in the BTF's strings.
	offsets [2]pages
	bad     error // the first error found while types are written: a limit of BTF, or a missing string
}

// units decodes the units of a file in parallel and writes them in order.
func (m *maker) units(spans []span) error {
	workers := min(runtime.GOMAXPROCS(0), len(spans))
	ahead := workers + 2
	free := make(chan *unit, ahead)
	for range ahead {
		free <- &unit{}
	}
	type job struct {
		*unit
		span
	}
	todo, inOrder, stop := make(chan job), make(chan job, ahead), make(chan struct{})
	defer close(stop)
	go func() {
		defer close(inOrder)
		defer close(todo)
		for _, s := range spans {
			var u *unit
			select {
			case u = <-free:
			case <-stop:
				return
			}
			u.ready = make(chan struct{})
			inOrder <- job{u, s}
			select {
			case todo <- job{u, s}:
			case <-stop:
				return
			}
		}
	}()
	for range workers {
		go func() {
			d := decoder{in: m.in, tables: map[abbrevKey]*abbrevs{}}
			for j := range todo {
				j.unit.err = d.try(j.unit, j.span)
				close(j.unit.ready)
			}
		}()
	}
	for j := range inOrder {
		<-j.unit.ready
		if err := m.unit(j.unit); err != nil {
			return err
		}
		if m.opt.Progress != nil {
			if err := m.opt.Progress(int64(j.span.start+j.span.size), int64(m.in.size)); err != nil {
				return err
			}
		}
		free <- j.unit
	}
	return nil
}

// try is read with panics turned into errors.
func (d *decoder) try(u *unit, s span) (err error) {
	defer guard(&err)
	return d.read(u, s)
}

// unit writes a decoded unit.
func (m *maker) unit(u *unit) error {
	if u.err != nil {
		return u.err
	}
	m.res.Units += u.count
	m.res.Skipped += u.skipped
	w := writer{maker: m, unit: u}
	if err := w.write(); err != nil {
		return err
	}
	return m.bad
}

// pages maps offsets to offsets and allocates only the pages in use.
type pages [][]uint32

const pageSize = 4096

func (p *pages) at(off uint64) *uint32 {
	n := off / pageSize
	for uint64(len(*p)) <= n {
		*p = append(*p, nil)
	}
	if (*p)[n] == nil {
		(*p)[n] = make([]uint32, pageSize)
	}
	return &(*p)[n][off%pageSize]
}

// str returns the BTF offset of a string of the unit.
func (w *writer) str(t text) uint32 {
	if t == 0 {
		return 0
	}
	sec := t >> textShift
	if sec == textInline>>textShift {
		return w.types.StrBytes(w.bytes(t))
	}
	section := w.in.str
	if sec == textLineStr>>textShift {
		section = w.in.lineStr
	}
	if uint64(t&textOffset) >= uint64(len(section)) {
		return w.types.StrBytes(w.bytes(t))
	}
	off := w.offsets[sec-1].at(uint64(t & textOffset))
	if *off == 0 {
		*off = w.types.StrBytes(w.bytes(t))
	}
	return *off
}

// bytes returns a string of the unit. A missing string sets m.bad.
func (w *writer) bytes(t text) []byte {
	b, err := w.in.text(w.unit, t)
	if err != nil {
		w.bad = err
	}
	return b
}

// text returns a string of a unit, nil for none.
func (in *input) text(u *unit, t text) ([]byte, error) {
	var section []byte
	switch t &^ textOffset {
	case 0:
		return nil, nil
	case textStr:
		section = in.str
	case textLineStr:
		section = in.lineStr
	case textInline:
		section = u.b
	}
	off := uint64(t & textOffset)
	if off < uint64(len(section)) {
		if n := bytes.IndexByte(section[off:], 0); n >= 0 {
			return section[off : off+uint64(n)], nil
		}
	}
	return nil, fmt.Errorf("%w: no string at %#x of %d bytes", ErrMalformed, off, len(section))
}
