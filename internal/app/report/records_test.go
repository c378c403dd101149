package report

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// TestRecordsWithoutTypesSayWhyOnce: an object without debug information gives bytes, and one hint
// for all of them.
func TestRecordsWithoutTypesSayWhyOnce(t *testing.T) {
	data, err := os.ReadFile("../../../testdata/objects/clang-14/records.o")
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	hide := func(section string) []byte { return bytes.ReplaceAll(data, []byte(section), []byte("-"+section[1:])) }
	for _, tt := range []struct {
		name   string
		object []byte
		want   string
	}{
		{"with DWARF", data, ""},
		{"stripped", hide(".debug_"), "note: records are shown as bytes: the object's BTF does not contain their struct, and its DWARF was stripped; compile with -g"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			obj, err := loader.OpenBytes("records.o", tt.object)
			require.NoError(t, err)
			linked, err := obj.Load(loader.NewTarget(embedded.Name, spec), loader.LoadOptions{})
			require.NoError(t, err)
			m, err := machine.New(linked, machine.Config{Seed: 1})
			require.NoError(t, err)
			d := NewRunDocument(linked, "embedded")
			for range 2 {
				res, err := m.Run(context.Background(), "on_openat", machine.Input{})
				require.NoError(t, err)
				require.Len(t, res.Events, 1)
				d.Add(m, res)
			}
			d.Finish(m)
			var out strings.Builder
			require.NoError(t, WriteTable(&out, d, TableOptions{}))
			if tt.want == "" {
				assert.NotContains(t, out.String(), "note:")
				return
			}
			assert.Contains(t, out.String(), tt.want)
			assert.Equal(t, 1, strings.Count(out.String(), "note:"))
		})
	}
}
