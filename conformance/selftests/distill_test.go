package selftests

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
)

// distillStep is something that prog_tests/btf_distill.c did with libbpf: BTF as it was and the
// text the selftest expects of its first types ("types"), a distillation, or a relocation with
// libbpf's answer.
type distillStep struct {
	Case, What string
	BTF        blob
	Base       blob
	NewBase    blob `json:"new_base"`
	Result     blob
	ResultBase blob `json:"result_base"`
	Err        int
	Types      []string
}

// blob is BTF in hex, "vmlinux" for the kernel's, or null.
type blob struct {
	data   []byte
	kernel bool
}

func (b *blob) UnmarshalJSON(p []byte) error {
	if string(p) == `"vmlinux"` {
		b.kernel = true
		return nil
	}
	return json.Unmarshal(p, (*hexBytes)(&b.data))
}

func (b *blob) parse(t *testing.T, base *btf.Spec) *btf.Spec {
	switch {
	case b.kernel:
		return vmlinux(t)
	case len(b.data) == 0:
		return nil
	}
	spec, err := btf.Parse(b.data, base)
	require.NoError(t, err)
	return spec
}

func rawText(t *testing.T, s *btf.Spec) string {
	var out strings.Builder
	require.NoError(t, btf.DumpRaw(&out, s))
	return out.String()
}

// TestBTFDistill relocates what libbpf distilled, and distills what the selftest made, as libbpf
// does.
func TestBTFDistill(t *testing.T) {
	steps := table[distillStep](t, "distill.jsonl")
	cases := map[string]bool{}
	relocations, distillations := 0, 0
	for _, s := range steps {
		cases[s.Case] = true
		t.Run(s.Case+" "+s.What, func(t *testing.T) {
			base := s.Base.parse(t, nil)
			spec := s.BTF.parse(t, base)
			switch s.What {
			case "types":
				text := rawText(t, spec)
				if base != nil {
					text = rawText(t, base) + text
				}
				// Of 64-bit enumerators bpftool writes the C suffix, the selftests do not.
				text = regexp.MustCompile(`(?m)(val=-?\d+)U?LL$`).ReplaceAllString(text, "$1")
				assert.Equal(t, strings.Join(s.Types, "\n"), strings.TrimSpace(text))
			case "distill":
				distillations++
				gotBase, got, err := btf.Distill(spec)
				require.NoError(t, err)
				want := s.ResultBase.parse(t, nil)
				assert.Equal(t, rawText(t, want), rawText(t, gotBase))
				assert.Equal(t, rawText(t, s.Result.parse(t, want)), rawText(t, got))
				assert.Equal(t, spec.ByteOrder(), got.ByteOrder())
			case "relocate":
				relocations++
				newBase := s.NewBase.parse(t, nil)
				got, err := btf.Relocate(spec, newBase)
				if s.Err != 0 {
					t.Log(err)
					require.ErrorIs(t, err, btf.ErrRelocate)
					return
				}
				require.NoError(t, err)
				assert.Equal(t, rawText(t, s.Result.parse(t, newBase)), rawText(t, got))
			}
		})
	}
	assert.Len(t, cases, 7)
	t.Logf("btf_distill: %d cases, %d distillations, %d relocations", len(cases), distillations, relocations)
}
