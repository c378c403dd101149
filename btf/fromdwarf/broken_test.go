package fromdwarf

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/dedup"
	"github.com/bpfrun/bpfrun/internal/testing/ceiling"
)

// Abbreviations of the units that these tests write: number, tag, children, then attributes with
// their forms.
const (
	dieUnit = iota + 1
	dieTypedef
	dieStruct
	dieMember
	dieArray
	dieCount
	diePointer
	dieConst
	dieOdd // has the form that a test asks for
)

func abbreviations(odd byte) []byte {
	return slices.Concat(
		[]byte{dieUnit, 0x11, 1, 0x13, 0x0b, 0, 0},
		[]byte{dieTypedef, 0x16, 0, 0x03, 0x08, 0x49, 0x13, 0, 0},
		[]byte{dieStruct, 0x13, 1, 0x03, 0x08, 0x0b, 0x0f, 0, 0},
		[]byte{dieMember, 0x0d, 0, 0x03, 0x08, 0x49, 0x13, 0x38, 0x0f, 0, 0},
		[]byte{dieArray, 0x01, 1, 0x49, 0x13, 0, 0},
		[]byte{dieCount, 0x21, 0, 0x37, 0x0f, 0, 0},
		[]byte{diePointer, 0x0f, 0, 0x49, 0x13, 0, 0},
		[]byte{dieConst, 0x26, 0, 0x49, 0x13, 0, 0},
		[]byte{dieOdd, 0x16, 0, 0x03, odd, 0, 0},
		[]byte{0},
	)
}

// unitOf is a DWARF 4 unit in C with the DIEs given; references count from its start, where the
// first DIE after the unit's own is at 13.
const firstDIE = 13

func unitOf(dies ...[]byte) []byte {
	body := slices.Concat(dies...)
	head := make([]byte, 11, 64)
	binary.LittleEndian.PutUint32(head, uint32(7+2+len(body)+1))
	binary.LittleEndian.PutUint16(head[4:], 4)
	head[10] = 8
	return slices.Concat(head, []byte{dieUnit, 0x0c}, body, []byte{0})
}

func ref(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }

func typedefTo(n uint32) []byte { return slices.Concat([]byte{dieTypedef, 't', 0}, ref(n)) }

// brokenFile is an object with DWARF of these sections alone.
func brokenFile(t *testing.T, info, abbrev []byte) *elf.File {
	t.Helper()
	b, err := withSection(file(t, "lto.exe"), ".debug_info", info) // which has no relocations
	require.NoError(t, err)
	b, err = withSection(b, ".debug_abbrev", abbrev)
	require.NoError(t, err)
	f, err := elf.NewFile(bytes.NewReader(b))
	require.NoError(t, err)
	return f
}

// generate is what btf gen does before it writes.
func generate(f *elf.File) error {
	res, err := Make(f, Options{Features: DefaultFeatures | GlobalVar})
	if err != nil {
		return err
	}
	if err := res.Types.Dedup(nil); err != nil {
		return err
	}
	raw, err := res.Types.Marshal(f.ByteOrder)
	if err != nil {
		return err
	}
	_, err = btf.Parse(raw, nil)
	return err
}

// Broken DWARF ends with a named error, in little memory.
func TestBrokenDWARF(t *testing.T) {
	good := unitOf(typedefTo(firstDIE), []byte{dieStruct, 's', 0, 8, 0})
	huge := bytes.Clone(good)
	binary.LittleEndian.PutUint32(huge, 0xffffff00)
	wide := append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, good[4:]...)
	reserved := bytes.Clone(good)
	binary.LittleEndian.PutUint32(reserved, 0xfffffff5)
	version := bytes.Clone(good)
	version[4] = 9
	many := make([]byte, 0, 1<<16)
	for range 1 << 14 {
		many = append(many, dieStruct, 'd', 0, 1) // each inside of the one before it
	}
	const next = firstDIE + 7 // the DIE after a typedef
	for _, c := range []struct {
		name         string
		info, abbrev []byte
		want         error
	}{
		{"empty abbreviations", good, []byte{0}, ErrMalformed},
		{"no abbreviations", good, nil, ErrMalformed},
		{"abbreviations cut off", good, abbreviations(8)[:20], ErrMalformed},
		{"unit cut off", good[:len(good)-5], abbreviations(8), ErrMalformed},
		{"header cut off", good[:7], abbreviations(8), ErrMalformed},
		{"unit longer than the section", huge, abbreviations(8), ErrMalformed},
		{"64-bit unit longer than the section", wide, abbreviations(8), ErrMalformed},
		{"reserved length", reserved, abbreviations(8), ErrMalformed},
		{"unknown version", version, abbreviations(8), ErrMalformed},
		{"unknown abbreviation", unitOf([]byte{0x7e}), abbreviations(8), ErrMalformed},
		{"unknown form", unitOf([]byte{dieOdd, 1, 2, 3, 4}), abbreviations(0x7e), ErrMalformed},
		{"form of a supplementary file", unitOf([]byte{dieOdd}, ref(4)), abbreviations(0x1d), ErrSupplementary},
		{"string not ended", slices.Concat(good[:firstDIE], []byte{dieTypedef, 'x', 'x'}), abbreviations(8), ErrMalformed},
		{"string outside of its section", unitOf([]byte{dieOdd}, ref(0x7fffffff)), abbreviations(0x0e), ErrMalformed},
		{"block longer than the unit", unitOf([]byte{dieOdd}, ref(0x7fffffff)), abbreviations(0x04), ErrMalformed},
		{"typedef of itself", unitOf(typedefTo(firstDIE)), abbreviations(8), dedup.ErrLoop},
		{"two typedefs of each other", unitOf(typedefTo(next), typedefTo(firstDIE)), abbreviations(8), dedup.ErrLoop},
		{"constant of itself", unitOf([]byte{dieConst}, ref(firstDIE)), abbreviations(8), dedup.ErrLoop},
		{"pointer to itself", unitOf([]byte{diePointer}, ref(firstDIE)), abbreviations(8), dedup.ErrLoop},
		{"array of itself", unitOf([]byte{dieArray}, ref(firstDIE), []byte{dieCount, 2, 0}), abbreviations(8), dedup.ErrLoop},
		{"structs nested too deep", unitOf(many), abbreviations(8), ErrMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := brokenFile(t, c.info, c.abbrev)
			ceiling.Check(t, 64<<20, func() { assert.ErrorIs(t, generate(f), c.want) })
		})
	}
}

// What leads nowhere, or is larger than anything, is no reason to stop: compilers write such DWARF,
// and BTF has void or a size for it.
func TestOddDWARF(t *testing.T) {
	for name, info := range map[string][]byte{
		"reference outside of the unit":    unitOf(typedefTo(0x7fffffff)),
		"reference into the middle of one": unitOf(typedefTo(firstDIE + 2)),
		"struct of 2^63 bytes":             unitOf([]byte{dieStruct, 's', 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0}),
	} {
		t.Run(name, func(t *testing.T) {
			f := brokenFile(t, info, abbreviations(8))
			ceiling.Check(t, 64<<20, func() { assert.NoError(t, generate(f)) })
		})
	}
}
