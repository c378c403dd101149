package core

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	cbtf "github.com/cilium/ebpf/btf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/loader"
)

// ciliumAnswer is what cilium/ebpf makes of one relocated instruction: its words, "poison", or why
// it refuses the program.
type ciliumAnswer map[string]map[int]string // by function and instruction

// askCilium relocates every program of an object as ebpf.NewCollection does before it calls bpf(2).
func askCilium(object, types string) (ciliumAnswer, error) {
	f, err := os.Open(types)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	target, err := cbtf.LoadSpecFromReader(f)
	if err != nil {
		return nil, fmt.Errorf("kernel types: %w", err)
	}
	spec, err := ebpf.LoadCollectionSpec(object)
	if err != nil {
		return nil, err
	}
	out := ciliumAnswer{}
	for _, p := range spec.Programs {
		if err := out.program(p, target); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (a ciliumAnswer) program(p *ebpf.ProgramSpec, target *cbtf.Spec) error {
	type place struct {
		function string
		insn     int
		ins      *asm.Instruction
	}
	var relos []*cbtf.CORERelocation
	var places []place
	function, start := p.Name, asm.RawInstructionOffset(0)
	for it := p.Instructions.Iterate(); it.Next(); {
		if name := it.Ins.Symbol(); name != "" {
			function, start = name, it.Offset
		}
		if r := cbtf.CORERelocationMetadata(it.Ins); r != nil {
			relos = append(relos, r)
			places = append(places, place{function, int(it.Offset - start), it.Ins})
		}
	}
	put := func(at place, text string) {
		if a[at.function] == nil {
			a[at.function] = map[int]string{}
		}
		a[at.function][at.insn] = text
	}
	local := func(cbtf.Type) (cbtf.TypeID, error) { return 0, nil } // the object's own ids are renumbered at load
	fixups, err := cbtf.CORERelocate(relos, []*cbtf.Spec{target}, binary.LittleEndian, local)
	for i, at := range places {
		if err != nil {
			put(at, "program refused: "+err.Error())
			continue
		}
		fix := fixups[i]
		if strings.HasSuffix(fix.String(), "=poison") {
			put(at, "poison")
			continue
		}
		if err := fix.Apply(at.ins); err != nil {
			put(at, "program refused: "+err.Error())
			continue
		}
		var b bytes.Buffer
		if _, err := at.ins.Marshal(&b, binary.LittleEndian); err != nil {
			return err
		}
		put(at, fmt.Sprintf("%x", b.Bytes()))
	}
	return nil
}

func ourAnswer(f *loader.LinkedFunction, r *loader.Reloc) string {
	switch {
	case r.Err != nil:
		return "object refused"
	case r.Poisoned():
		return "poison"
	}
	n := f.Insns[r.FuncInsn].Len()
	return fmt.Sprintf("%x", decode.Marshal(f.Insns[r.FuncInsn:r.FuncInsn+n], binary.LittleEndian))
}

// ciliumRule is a rule by which cilium/ebpf answers differently, with the records of our probes
// that show it.
type ciliumRule struct {
	where         *regexp.Regexp // matches "TARGET FUNCTION KIND OURS THEIRS"
	subject       string
	libbpf, other string
	judged        string
}

var ciliumRules = []ciliumRule{
	{regexp.MustCompile(`^memsz\.ptr32 `), "pointers of a 32-bit kernel", "loads 4 bytes", "loads 8 bytes", "libbpf: the upper half is the next field"},
	{regexp.MustCompile(`^memsz\.wider \w+ byte_off poison|^exists\.all ex byte_off poison`), "a signed, enum, float or struct field of another size", "poison", "old width", "libbpf: no load extends the sign"},
	{regexp.MustCompile(`^memsz\.wider `), "an unsigned field of another size", "load or store of the new size", "old width", "libbpf: other bytes are read or overwritten"},
	{regexp.MustCompile(`^bitfields\.(plain|shuffled) plain `), "an int that became a bitfield, loaded directly", "poison", "offset of the unit", "libbpf: the neighbours' bits are read"},
	{regexp.MustCompile(`^bitfields\.crossing `), "a packed bitfield that crosses its unit", "wider load, or refused where none fits", "width of the type", "libbpf: bits are cut off"},
	{regexp.MustCompile(`^bitfields\.err_too_wide `), "a bitfield no load can hold", "object refused", "loads part of it", "libbpf"},
	{regexp.MustCompile(`^arrays\.err_small dims `), "an index beyond a smaller array", "poison", "offset behind it", "libbpf: a neighbour is read"},
	{regexp.MustCompile(`^arrays\.err_small flexible `), "a zero-length array that is not last in the target", "poison", "program refused", "libbpf: guarded code loads"},
	{regexp.MustCompile(`^enums\.moved value enumval_value `), "a negative enumerator in records of clang 14", "sign-extended", "program refused", "libbpf"},
	{regexp.MustCompile(`^err_ambiguous_exists\.`), "field_exists, two candidates with the field in other places", "object refused", "1", "cilium/ebpf says what is meant; libbpf's is the reference"},
	{regexp.MustCompile(`^flavors\.base lead `), "a name that starts with ___", "is not a flavor", "is one", "libbpf"},
	{regexp.MustCompile(`^prune_order\.`), "two fields, each in another candidate", "the first record decides", "per program", "either is a rule; code is written for libbpf's"},
	{regexp.MustCompile(`^root_kind\.`), "a type of that name and another kind", "no candidate", "a candidate", "libbpf: a struct is not a union"},
	{regexp.MustCompile(`^types\.\w+ (size|ids) (type_size|target_type_id) `), "size or id of a type that does not exist", "0", "poison", "libbpf: bpf_core_type_size documents 0"},
	{regexp.MustCompile(`^matches\.\w+ matches type_matches `), "type_matches of structs behind pointers", "by name and kind", "member by member", "libbpf"},
}

// TestAgainstCilium relocates every probe with cilium/ebpf, too. All differences must be known
// ones; the table of them is part of CONFORMANCE.md.
func TestAgainstCilium(t *testing.T) {
	same, differing := 0, make([]int, len(ciliumRules))
	for _, compiler := range []string{"clang-14", "clang-22"} {
		objects, err := filepath.Glob(data + "core/" + compiler + "/*.o")
		require.NoError(t, err)
		require.NotEmpty(t, objects)
		for _, object := range objects {
			probe := strings.TrimSuffix(filepath.Base(object), ".o")
			targets, err := filepath.Glob(data + "core/btf/" + probe + ".*.btf")
			require.NoError(t, err)
			for _, types := range targets {
				name := strings.TrimSuffix(filepath.Base(types), ".btf")
				for _, d := range compareCilium(t, object, types, &same) {
					rule := slices.IndexFunc(ciliumRules, func(r ciliumRule) bool { return r.where.MatchString(name + " " + d) })
					if assert.GreaterOrEqual(t, rule, 0, "%s, a difference nobody has explained: %s %s", compiler, name, d) {
						differing[rule]++
					}
				}
			}
		}
	}
	var table strings.Builder
	fmt.Fprintf(&table, "| subject | libbpf | cilium/ebpf | records | who is right |\n|---|---|---|---:|---|\n")
	for i, r := range ciliumRules {
		assert.NotZero(t, differing[i], "nothing shows %s any more", r.subject)
		fmt.Fprintf(&table, "| %s | %s | %s | %d | %s |\n", r.subject, r.libbpf, r.other, differing[i], r.judged)
	}
	fmt.Fprintf(&table, "| everything else | | the same | %d | |\n", same)
	doc, err := os.ReadFile("../../CONFORMANCE.md")
	require.NoError(t, err)
	if !strings.Contains(string(doc), table.String()) {
		t.Errorf("CONFORMANCE.md is stale: its table must be\n%s", table.String())
	}
}

// compareCilium returns the records with another answer: function, kind, answer, cilium's answer.
func compareCilium(t *testing.T, object, types string, same *int) []string {
	o, err := loader.Open(object)
	require.NoError(t, err)
	kernel, err := kernels(t, types)[0].Open()
	require.NoError(t, err)
	linked, err := o.Load(kernel, loader.LoadOptions{AnyByteOrder: true})
	require.NoError(t, err)
	theirs, err := askCilium(object, types)
	require.NoError(t, err)
	var out []string
	for _, f := range linked.Functions {
		for i := range f.Relocs {
			r := &f.Relocs[i]
			if r.Kind.String() == "local_type_id" { // ids of the object's own BTF, which cilium/ebpf numbers anew
				continue
			}
			a, b := ourAnswer(f, r), theirs[f.Name][r.FuncInsn]
			if a == b || r.Err != nil && strings.HasPrefix(b, "program refused") {
				*same++
				continue
			}
			out = append(out, fmt.Sprintf("%s %s %s %s", f.Name, r.Kind, a, b))
		}
	}
	return out
}
