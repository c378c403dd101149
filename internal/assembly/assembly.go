// Package assembly makes object files of BPF assembly text: programs in the syntax of package
// decode, with directives for what instructions cannot say. Every instruction has its line of the
// text as source line, so that whatever shows source shows the text.
//
// It does not know what programs may do. Start at [Object].
package assembly

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/elfbuild"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Language describes the text, with an example that Object accepts.
const Language = `.map counts array 4 8 1        // NAME TYPE KEY VALUE ENTRIES, sizes in bytes
.elem counts 0 40              // MAP KEY VALUE: numbers, or hex:0a000001 for bytes
.prog count xdp                // NAME SECTION; the instructions follow
    *(u32 *)(r10 - 4) = 0
    r2 = r10
    r2 += -4
    r1 = map_fd(counts)
    call bpf_map_lookup_elem
    if r0 == 0 goto out
    r1 = 1
    lock *(u64 *)(r0 + 0) += r1
out:
    r0 = 2                     // XDP_PASS
    exit
`

// Limits of a text.
const (
	maxText  = 1 << 20
	maxMaps  = 64
	maxProgs = 256

	maxKfuncs   = 64
	maxElements = 4096
)

// Error is a mistake in a text.
type Error struct {
	Line int // from 1
	Text string
	Err  error
}

// Error names the line.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %v: %q", e.Line, e.Err, e.Text) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errors of texts, beside those of package decode.
var (
	ErrDirective = errors.New("want .map NAME TYPE KEY VALUE ENTRIES, .elem MAP KEY VALUE, .prog NAME SECTION or .license NAME")
	ErrTooLong   = fmt.Errorf("more than %d bytes, %d maps, %d elements, %d programs or %d kernel functions", maxText, maxMaps, maxElements, maxProgs, maxKfuncs)
	ErrNoProgram = errors.New("no instructions: write .prog NAME SECTION and instructions after it")
	ErrNoMap     = errors.New("no such map: define it with .map")
	ErrTwice     = errors.New("the name is defined twice")
	ErrHelper    = errors.New("no such helper, and no function of the kernel")
)

// mapDef is a map of the text.
type mapDef struct {
	name                        string
	typ, key, value, maxEntries uint32
}

// program is a program of the text.
type program struct {
	name, section string
	text          []string // as long as the whole text up to its end: lines of other programs are empty
	insns         []decode.Insn
	lines         []int // by slot, from 1
}

// source is a text that was read.
type source struct {
	lines    []string
	maps     []mapDef
	programs []*program
	license  string
	names    map[string]bool
	elements []Element

	kernel *btf.Spec // types of the kernel whose functions the text calls, nil for none
	kfuncs []string  // that it calls
	labels map[string]bool
}

// Object returns the object file, in little endian. file is the name of the text in source lines,
// types are those of a kernel whose functions the text may call by name (kfuncs), nil for none: the
// object declares them as that kernel does. The error is an *[Error], ErrNoProgram or ErrTooLong.
func Object(file, text string, types *btf.Spec) ([]byte, error) {
	if len(text) > maxText {
		return nil, ErrTooLong
	}
	s := &source{lines: strings.Split(text, "\n"), license: "GPL", names: map[string]bool{}, kernel: types, labels: map[string]bool{}}
	for _, m := range label().FindAllStringSubmatch(text, -1) {
		s.labels[m[1]] = true
	}
	for i, line := range s.lines {
		if err := s.line(i, line); err != nil {
			return nil, &Error{i + 1, strings.TrimSpace(line), err}
		}
	}
	if len(s.programs) == 0 {
		return nil, ErrNoProgram
	}
	for _, p := range s.programs {
		if err := s.assemble(p); err != nil {
			return nil, err
		}
	}
	return s.build(file)
}

// line reads a line of the text.
func (s *source) line(i int, line string) error {
	code, _, _ := strings.Cut(line, "//")
	words := strings.Fields(code)
	if len(words) == 0 {
		return nil
	}
	if !strings.HasPrefix(words[0], ".") || words[0] == ".insn" {
		return s.code(i, code)
	}
	switch {
	case words[0] == ".license" && len(words) >= 2:
		s.license = strings.Join(words[1:], " ")
	case words[0] == ".prog" && len(words) >= 3:
		return s.program(words[1], strings.Join(words[2:], " "))
	case words[0] == ".map" && len(words) == 6:
		return s.define(words[1:])
	case words[0] == ".elem" && len(words) == 4:
		return s.element(words[1], words[2], words[3])
	default:
		return ErrDirective
	}
	return nil
}

func (s *source) program(name, section string) error {
	if err := s.name(name); err != nil {
		return err
	}
	if len(s.programs) >= maxProgs {
		return ErrTooLong
	}
	s.programs = append(s.programs, &program{name: name, section: section})
	return nil
}

func (s *source) define(words []string) error {
	typ, ok := uapi.ParseMapType(words[1])
	if !ok {
		return fmt.Errorf("there is no map type %s", words[1])
	}
	m := mapDef{name: words[0], typ: uint32(typ)}
	for i, to := range []*uint32{&m.key, &m.value, &m.maxEntries} {
		n, err := strconv.ParseUint(words[2+i], 0, 32)
		if err != nil {
			return fmt.Errorf("%s is no size", words[2+i])
		}
		*to = uint32(n)
	}
	if len(s.maps) >= maxMaps {
		return ErrTooLong
	}
	s.maps = append(s.maps, m)
	return s.name(m.name)
}

var identifier = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// name takes a name.
func (s *source) name(name string) error {
	if !identifier().MatchString(name) {
		return fmt.Errorf("%s is no name", name)
	}
	if s.names[name] {
		return ErrTwice
	}
	s.names[name] = true
	return nil
}

var references = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\bmap_fd\(\s*([A-Za-z_][A-Za-z0-9_]*)\s*\)|\bcall\s+([A-Za-z_][A-Za-z0-9_]*)\s*(?:;|$)`)
})

// label finds the labels of a text.
var label = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)(?:^|;)\s*([A-Za-z_][A-Za-z0-9_]*):`) })

// code adds a line of instructions to the last program, with numbers in place of the names of maps
// and helpers. Without .prog the program is called prog, a socket filter.
func (s *source) code(i int, line string) error {
	if len(s.programs) == 0 {
		if err := s.program("prog", "socket"); err != nil {
			return err
		}
	}
	var failed error
	line = references().ReplaceAllStringFunc(line, func(ref string) string {
		m := references().FindStringSubmatch(ref)
		if name := m[2]; name != "" {
			called, err := s.callee(name)
			if err != nil {
				failed = err
			}
			return strings.Replace(ref, name, called, 1)
		}
		for n, d := range s.maps {
			if d.name == m[1] {
				return fmt.Sprintf("map_fd(%d)", n)
			}
		}
		failed = ErrNoMap
		return ref
	})
	p := s.programs[len(s.programs)-1]
	for len(p.text) < i {
		p.text = append(p.text, "")
	}
	p.text = append(p.text, line)
	return failed
}

// callee returns how decode writes what a call names: a label of the text, a helper, or a function
// of the kernel, which gets a number of its own until [sectionCode.add] makes a relocation of it.
func (s *source) callee(name string) (string, error) {
	if s.labels[name] {
		return name, nil
	}
	if id, ok := uapi.ParseFuncID(name); ok {
		return fmt.Sprintf("%s#%d", name, uint32(id)), nil
	}
	if s.kernel == nil {
		if strings.HasPrefix(name, "bpf_") {
			return name, ErrHelper
		}
		return name, nil // package decode says that there is no such label
	}
	if _, ok := s.kernel.FindID(btf.KindFunc, name); !ok {
		if strings.HasPrefix(name, "bpf_") {
			return name, ErrHelper
		}
		return name, nil
	}
	n := slices.Index(s.kfuncs, name)
	if n < 0 {
		if len(s.kfuncs) >= maxKfuncs || s.names[name] {
			return name, ErrTooLong
		}
		n = len(s.kfuncs)
		s.kfuncs = append(s.kfuncs, name)
	}
	return fmt.Sprintf("kfunc#%d", firstKfunc+n), nil
}

// firstKfunc is above the ids of types that a text names itself (call kfunc#N).
const firstKfunc = 1 << 30

// assemble assembles a program. Labels are its own.
func (s *source) assemble(p *program) error {
	insns, lines, err := decode.AssembleLines(strings.Join(p.text, "\n"))
	if err != nil {
		var at *decode.AsmError
		if errors.As(err, &at) {
			return &Error{at.Line, at.Text, errors.New(at.Detail)}
		}
		return err
	}
	if len(insns) == 0 {
		return &Error{len(p.text), ".prog " + p.name, ErrNoProgram}
	}
	p.insns, p.lines = insns, lines
	return nil
}

// Relocations.
const (
	relMap  = 1  // R_BPF_64_64
	relCall = 10 // R_BPF_64_32
)

// build writes the object. All symbols come before the sections that refer to them.
func (s *source) build(file string) ([]byte, error) {
	b := elfbuild.New(binary.LittleEndian)
	types, err := s.types()
	if err != nil {
		return nil, err
	}
	var symbols, functions []int
	for _, name := range s.kfuncs {
		functions = append(functions, b.Symbol(name, int(elf.SHN_UNDEF), 0, 0, elf.STT_NOTYPE, elf.STB_GLOBAL))
	}
	if len(s.maps) > 0 {
		section := b.Section(".maps", elf.SHT_PROGBITS, elf.SHF_ALLOC|elf.SHF_WRITE, make([]byte, mapSize*len(s.maps)))
		for i, m := range s.maps {
			symbols = append(symbols, b.Symbol(m.name, section, uint64(mapSize*i), mapSize, elf.STT_OBJECT, elf.STB_GLOBAL))
		}
	}
	sections := map[string]*sectionCode{}
	var order []*sectionCode
	for _, p := range s.programs {
		c := sections[p.section]
		if c == nil {
			c = &sectionCode{name: p.section}
			sections[p.section], order = c, append(order, c)
		}
		c.add(p, symbols, functions)
	}
	var ext lineInfo
	for _, c := range order {
		code := b.Code(c.name, c.insns)
		c.define(b, code)
		if len(c.rels) > 0 {
			b.Rel(code, c.rels...)
		}
		ext.add(s, file, c)
	}
	if len(s.elements) > 0 {
		b.Section(contentsSection, elf.SHT_PROGBITS, 0, encodeElements(s.elements))
	}
	b.Section("license", elf.SHT_PROGBITS, elf.SHF_ALLOC|elf.SHF_WRITE, append([]byte(s.license), 0))
	b.Section(".BTF.ext", elf.SHT_PROGBITS, 0, ext.bytes(uint32(typeStrings(types))))
	b.Section(".BTF", elf.SHT_PROGBITS, 0, ext.strings.appended(types))
	return b.Bytes(), nil
}

// sectionCode is a section of programs.
type sectionCode struct {
	name     string
	programs []*program
	insns    []decode.Insn
	lines    []int
	rels     []elfbuild.Rel
}

// add adds a program, with relocations for its maps and for the kernel's functions.
func (c *sectionCode) add(p *program, maps, functions []int) {
	c.programs = append(c.programs, p)
	start := len(c.insns)
	insns := slices.Clone(p.insns) // p keeps the calls by number, which are none of its own functions
	for pc := 0; pc < len(insns); pc += max(insns[pc].Len(), 1) {
		in := &insns[pc]
		if in.Info().Form == decode.FormCallKfunc && in.Imm >= firstKfunc && int(in.Imm-firstKfunc) < len(functions) {
			// As compilers write calls of functions that are declared alone.
			c.rels = append(c.rels, elfbuild.Rel{Off: uint64(start+pc) * decode.SlotSize, Sym: functions[in.Imm-firstKfunc], Type: relCall})
			in.Imm, in.Src = -1, decode.PseudoCall
			continue
		}
		if !in.IsLdImm64() || in.Src != decode.PseudoMapFD || in.Imm < 0 || int(in.Imm) >= len(maps) {
			continue
		}
		c.rels = append(c.rels, elfbuild.Rel{Off: uint64(start+pc) * decode.SlotSize, Sym: maps[in.Imm], Type: relMap})
		in.Imm, in.Src = 0, 0
	}
	c.insns = append(c.insns, insns...)
	c.lines = append(c.lines, p.lines...)
}

// define writes the symbols of a section's programs, and of the functions that they call.
func (c *sectionCode) define(b *elfbuild.Builder, section int) {
	at := 0
	for _, p := range c.programs {
		starts := append(decode.Subprograms(p.insns), len(p.insns))
		b.Func(p.name, section, at, starts[1])
		for i := 1; i+1 < len(starts); i++ {
			b.Symbol(fmt.Sprintf("%s_at_%d", p.name, starts[i]), section, uint64(at+starts[i])*decode.SlotSize, uint64(starts[i+1]-starts[i])*decode.SlotSize, elf.STT_FUNC, elf.STB_LOCAL)
		}
		at += len(p.insns)
	}
}
