package fromdwarf

import (
	"debug/dwarf"
	"debug/elf"
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/dedup"
)

// Kinds of errors; test with errors.Is.
var (
	// ErrNoDWARF: the file has no .debug_info.
	ErrNoDWARF = errors.New("no DWARF")
	// ErrMalformed: DWARF that contradicts itself.
	ErrMalformed = errors.New("malformed DWARF")
)

// Options say what is made.
type Options struct {
	// Base, when not nil, is BTF that the result continues.
	Base *btf.Spec
	// GlobalVars writes global variables of all sections, not only per-CPU ones.
	GlobalVars bool
	// Progress, when not nil, is called now and then with what was read of .debug_info; an error of it ends the work.
	Progress func(done, total int64) error
}

// Result is BTF that is not deduplicated yet.
type Result struct {
	Types *dedup.Types
	// Units is the number of compilation units, Skipped that of units in languages BTF cannot describe.
	Units, Skipped int
	Functions      int
	Variables      int
}

// Languages that BTF has no types for (DWARF 5 section 3.1.1).
const (
	langCPlus    = 0x04
	langCPlus03  = 0x19
	langCPlus11  = 0x1a
	langRust     = 0x1c
	langCPlus14  = 0x21
	tagLLVMAnnot = dwarf.Tag(0x6000) // DW_TAG_LLVM_annotation
	maxUnitTypes = 1 << 24
)

func described(lang int64) bool {
	switch lang {
	case langCPlus, langCPlus03, langCPlus11, langCPlus14, langRust:
		return false
	}
	return true
}

// Make reads the DWARF of an ELF file.
func Make(f *elf.File, opt Options) (res *Result, err error) {
	defer func() {
		// debug/dwarf is robust but not proven so.
		if r := recover(); r != nil {
			res, err = nil, fmt.Errorf("%w: %v", ErrMalformed, r)
		}
	}()
	info := f.Section(".debug_info")
	if info == nil || info.Size == 0 {
		return nil, fmt.Errorf("%w: the file has no .debug_info; compile with -g, or take the debug package", ErrNoDWARF)
	}
	d, err := f.DWARF()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	types, err := dedup.New(opt.Base)
	if err != nil {
		return nil, err
	}
	m := &maker{opt: opt, types: types, syms: symbols(f), linked: f.Type != elf.ET_REL, r: d.Reader(), res: &Result{Types: types}, done: map[string]bool{}, big: f.ByteOrder.Uint16([]byte{0, 1}) == 1}
	if err := m.units(int64(info.Size)); err != nil {
		return nil, err
	}
	m.sections()
	return m.res, nil
}

// maker is the state of one run.
type maker struct {
	opt    Options
	types  *dedup.Types
	syms   symbolTable
	r      *dwarf.Reader
	res    *Result
	big    bool
	linked bool // addresses are those of the symbols
	// lastInt is the type int of the last unit that has one.
	lastInt uint32
	// done holds functions that were written: only the first of a name is.
	done map[string]bool
	vars []variable
	seen map[string]bool // of variables
}

// units reads one compilation unit after another.
func (m *maker) units(total int64) error {
	m.seen = map[string]bool{}
	for {
		e, err := m.r.Next()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		if e == nil {
			return nil
		}
		if m.opt.Progress != nil {
			if err := m.opt.Progress(int64(e.Offset), total); err != nil {
				return err
			}
		}
		switch e.Tag {
		case dwarf.TagCompileUnit, dwarf.TagPartialUnit, dwarf.TagTypeUnit:
		default:
			m.r.SkipChildren()
			continue
		}
		m.res.Units++
		lang, _ := e.Val(dwarf.AttrLanguage).(int64)
		if !described(lang) {
			m.res.Skipped++
			m.r.SkipChildren()
			continue
		}
		u := unit{maker: m, byOffset: map[dwarf.Offset]int{}, origins: map[dwarf.Offset]*node{}}
		if e.Children {
			if err := u.children(nil, 0); err != nil {
				return err
			}
		}
		if err := u.write(); err != nil {
			return err
		}
	}
}
