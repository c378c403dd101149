package btf

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// usedText calls whatever walks types, for every id, and returns all that it says.
func usedText(s *Spec) string {
	var out strings.Builder
	say := func(args ...any) { fmt.Fprintln(&out, args...) }
	data := make([]byte, 100)
	for i := range data {
		data[i] = byte(i*37 + 1)
	}
	for id := range ID(min(s.NumTypes(), 300)) {
		t := s.MustType(id)
		say(id, s.TypeString(id), s.Signature(id), s.SkipID(id), s.IsIPv6(id), s.NetworkBits(id))
		size, err := s.Sizeof(id)
		say(size, err)
		for off := range uint32(12) {
			path, f, exact := s.FieldAt(id, off, 4)
			say(path, f.Type, f.BitOffset, f.BitSize, exact, len(s.BitfieldsAt(id, off, 2)))
		}
		for _, name := range s.MemberNames(id) {
			f, err := s.ResolvePath(id, name)
			say(name, f.Type, f.BitOffset, f.BitSize, err)
			v, err := s.DecodeField(f, data)
			say(v, err)
			say(s.EncodeField(f, 5, make([]byte, 100)))
		}
		_, err = s.ResolvePath(id, "a.b[1].c")
		say(err)
		say(s.Named(EssentialName(t.Name)), s.FormatString(id, data), s.FormatString(id, data[:3]))
		j, err := json.Marshal(s.FormatJSON(id, data))
		say(string(j), err)
		for _, text := range []string{"1", "-1", "{}", "[1, 2]", "\"text\"", "{a: 1}", "300", "99999999999999999999"} {
			to := make([]byte, 64)
			say(text, s.EncodeText(id, text, to), to)
		}
		v, err := s.DecodeValue(id, data, DecodeOptions{MaxElems: 3})
		say(v, err)
		l, err := WriteLayout(&out, s, id, LayoutOptions{Expand: id%2 == 0, CacheLine: 8})
		say(l, err)
	}
	say(DumpRaw(&out, s))
	say(DumpC(&out, s, nil))
	b := NewBuilder(nil)
	b.AddSpec(s)
	raw, err := b.Marshal(s.ByteOrder())
	say(raw, err)
	return out.String()
}

// TestDamagedTypesAreToldInTheSameWords changes each word of BTF, one after the other, and compares
// the error, or all that is then said of the types.
func TestDamagedTypesAreToldInTheSameWords(t *testing.T) {
	inputs := map[string][]byte{}
	for _, bo := range orders {
		s, _ := buildSample(t, bo)
		inputs[bo.String()] = s.Raw()
	}
	small, err := os.ReadFile("../testdata/btf/min/linux-6.1.176-armhf-armmp.min.btf")
	require.NoError(t, err)
	inputs["kernel"] = small
	var all rewrite.Outcomes
	for name, raw := range inputs {
		good, err := Parse(raw, nil)
		require.NoError(t, err)
		types, _ := good.Sections()
		end := min(int(types.Off+types.Len), len(raw)) // names are texts of any kind
		for at := 0; at+4 <= end; at += 4 {
			order := binary.ByteOrder(binary.LittleEndian)
			if name == binary.BigEndian.String() {
				order = binary.BigEndian
			}
			old := order.Uint32(raw[at:])
			for i, v := range [...]uint32{old + 1, old - 1, 0, old + 1<<24, old ^ 1<<31, 0xffffffff, old + 1<<16, old + 8} {
				if (at/4+i)%8 != 0 || v == old {
					continue
				}
				input := fmt.Sprintf("%s word %d is %#x", name, at/4, v)
				if !all.Asks(input) {
					continue
				}
				bad := edit(raw, func(b []byte) []byte { order.PutUint32(b[at:], v); return b })
				said := "parsed"
				s, err := Parse(bad, nil)
				if err != nil {
					said = err.Error()
				} else {
					h := fnv.New64a()
					_, _ = h.Write([]byte(usedText(s)))
					for _, d := range Diff(good, s) {
						fmt.Fprintf(h, "%+v", d)
					}
					said += fmt.Sprintf("\t%x", h.Sum64())
				}
				all.Add(input, said)
			}
		}
	}
	all.Compare(t, filepath.Join("testdata", "damage.txt"))
}
