package corerelo

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/decode"
)

// corpusFile holds what libbpf 1.8 did with every CO-RE record of the objects of
// some Debian packages for a dozen kernels, in the form of `bpfrun conformance
// core`. Objects and kernels are not here: BPFRUN_CORPUS names a directory with
// objects/debian-bookworm and btf.
const corpusFile = "testdata/debian-bookworm.jsonl.gz"

// expectation is a line of corpusFile.
type expectation struct {
	Object  string  `json:"object"`
	BTF     string  `json:"btf"`
	Program string  `json:"program"`
	Insn    int     `json:"insn"`
	Kind    string  `json:"kind"`
	Old     *uint64 `json:"old"`
	New     *uint64 `json:"new"`
	Result  string  `json:"result"`
	MemSize string  `json:"mem_size,omitempty"`
}

func readExpectations(t testing.TB) map[string]map[string][]expectation {
	data, err := os.ReadFile(corpusFile)
	require.NoError(t, err)
	zr, err := gzip.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	byBTF := map[string]map[string][]expectation{}
	lines := bufio.NewScanner(zr)
	for lines.Scan() {
		var e expectation
		require.NoError(t, json.Unmarshal(lines.Bytes(), &e))
		if byBTF[e.BTF] == nil {
			byBTF[e.BTF] = map[string][]expectation{}
		}
		byBTF[e.BTF][e.Object] = append(byBTF[e.BTF][e.Object], e)
	}
	require.NoError(t, lines.Err())
	return byBTF
}

func corpusDir(t testing.TB) string {
	dir := os.Getenv("BPFRUN_CORPUS")
	if dir == "" {
		t.Skip("BPFRUN_CORPUS is not set")
	}
	return dir
}

// TestCorpusAgainstLibbpf relocates real objects for real kernels.
func TestCorpusAgainstLibbpf(t *testing.T) {
	dir := corpusDir(t)
	want := readExpectations(t)
	objects := map[string]*object{}
	for name, perObject := range want {
		t.Run(name, func(t *testing.T) {
			target, err := btffile.Load(filepath.Join(dir, "btf", name+".xz"), nil)
			if errors.Is(err, fs.ErrNotExist) {
				t.Skip("not in this corpus: ", err)
			}
			require.NoError(t, err)
			for path, lines := range perObject {
				if objects[path] == nil {
					objects[path] = openObject(t, filepath.Join(dir, "objects", "debian-bookworm", path))
				}
				assert.Equal(t, lines, objects[path].relocate(path, name, target), path)
			}
		})
	}
}

// object is as much of an ELF object as CO-RE needs.
type object struct {
	local   *btf.Spec
	records []placed
	code    map[string][]decode.Insn
}

// placed is a record with the function that holds its instruction.
type placed struct {
	Record
	section, function string
	insn              int
}

func openObject(t testing.TB, path string) *object {
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	section := func(name string) []byte {
		s := f.Section(name)
		require.NotNil(t, s, name)
		data, err := s.Data()
		require.NoError(t, err)
		return data
	}
	o := &object{code: map[string][]decode.Insn{}}
	o.local, err = btf.Parse(section(".BTF"), nil)
	require.NoError(t, err)
	ext, err := btf.ParseExt(section(".BTF.ext"), o.local)
	require.NoError(t, err)
	symbols, err := f.Symbols()
	require.NoError(t, err)
	for _, part := range ext.CORE {
		data := section(part.Name)
		o.code[part.Name] = decodeInsns(data)
		for _, rec := range part.Records {
			for _, sym := range symbols {
				if elf.ST_TYPE(sym.Info) != elf.STT_FUNC || f.Sections[sym.Section].Name != part.Name ||
					uint64(rec.InsnOff) < sym.Value || uint64(rec.InsnOff) >= sym.Value+sym.Size {
					continue
				}
				o.records = append(o.records, placed{
					Record:  Record{InsnOff: rec.InsnOff, TypeID: rec.TypeID, Access: rec.Access, Kind: Kind(rec.Kind)},
					section: part.Name, function: sym.Name, insn: int((uint64(rec.InsnOff) - sym.Value) / 8),
				})
				break
			}
		}
	}
	return o
}

func decodeInsns(b []byte) []decode.Insn {
	var out []decode.Insn
	for ; len(b) >= 8; b = b[8:] {
		out = append(out, decode.Insn{
			Code: b[0], Dst: b[1] & 15, Src: b[1] >> 4,
			Off: int16(byteOrder.Uint16(b[2:])), Imm: int32(byteOrder.Uint32(b[4:])),
		})
	}
	return out
}

func (o *object) relocate(path, target string, spec *btf.Spec) []expectation {
	r := NewResolver(o.local, Target{BTF: spec})
	code := map[string][]decode.Insn{}
	var out []expectation
	for _, rec := range o.records {
		if code[rec.section] == nil {
			code[rec.section] = append([]decode.Insn{}, o.code[rec.section]...)
		}
		e := expectation{Object: path, BTF: target, Program: rec.function, Insn: rec.insn, Kind: rec.Kind.String(), Result: "ok"}
		rel, err := r.Resolve(rec.Record)
		var p Patch
		if err == nil {
			p, err = rel.Apply(code[rec.section], int(rec.InsnOff/8))
		}
		switch {
		case err != nil:
			e.Result = "error"
		case p.Poisoned:
			e.Result = "poison"
		default:
			e.Old, e.New = &p.Old, &p.New
			if p.OldSize != p.NewSize {
				e.MemSize = fmt.Sprintf("%d>%d", p.OldSize, p.NewSize)
			}
		}
		out = append(out, e)
	}
	return out
}
