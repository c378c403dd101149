package matrix

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// TestDifferencesHaveCauses: on the packaged libbpf-tools, each cell "differs" has its cause in the
// table of CONFORMANCE.md, and each row of the table is still true on those of its kernels that are
// there. BPFRUN_CORPUS names the corpus.
func TestDifferencesHaveCauses(t *testing.T) {
	dir := os.Getenv("BPFRUN_CORPUS")
	if dir == "" {
		t.Skip("BPFRUN_CORPUS is not set (make corpus)")
	}
	paths, err := filepath.Glob(filepath.Join(dir, "objects", "*", "libbpf-tools", "*.o"))
	require.NoError(t, err)
	if len(paths) == 0 {
		t.Skip("BPFRUN_CORPUS has no libbpf-tools")
	}
	files, err := filepath.Glob(filepath.Join(dir, "btf", "*.btf*"))
	require.NoError(t, err)
	base := slices.IndexFunc(files, func(f string) bool { return strings.Contains(f, "linux-5.10.") })
	if base < 0 {
		t.Skip("BPFRUN_CORPUS has no Linux 5.10")
	}
	columns := []Kernel{{Name: embedded.Name, Source: "embedded", Open: func() (*loader.Target, error) {
		spec, err := embedded.Spec()
		if err != nil {
			return nil, err
		}
		return loader.NewTarget(embedded.Name, spec), nil
	}}}
	for _, f := range files {
		name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(f), ".xz"), ".btf")
		columns = append(columns, Kernel{Name: name, Source: f, Open: func() (*loader.Target, error) {
			spec, err := btffile.Load(f, nil)
			if err != nil {
				return nil, err
			}
			return loader.NewTarget(name, spec), nil
		}})
	}
	var objects []*loader.Object
	for _, p := range paths {
		o, err := loader.Open(p)
		require.NoError(t, err)
		objects = append(objects, o)
	}
	m, err := Run(context.Background(), objects, columns, Config{Base: base + 1, Machine: machine.Config{Seed: 1}})
	require.NoError(t, err)

	short := make([]string, len(m.Targets))
	present := map[string]bool{}
	for i, k := range m.Targets {
		require.NoError(t, k.Err, k.Name)
		v := strings.SplitN(k.Facts.Version, ".", 3)
		short[i] = v[0] + "." + v[1] + " " + k.Facts.Arch
		present[short[i]] = true
	}
	got, cells := map[string]string{}, 0
	for _, r := range m.Rows {
		for i, c := range r.Cells {
			if c.Word() == string(RunDiffers) {
				got[r.Object+" "+r.Program+" "+short[i]] = c.Detail
				cells++
			}
		}
	}
	want := causes(t)
	for cell, detail := range got {
		assert.Contains(t, want, cell, "no cause in CONFORMANCE.md: %s", detail)
	}
	for cell, kernel := range want {
		if present[kernel] {
			assert.Contains(t, got, cell, "CONFORMANCE.md has a cause, but nothing differs")
		}
	}
	t.Logf("%d objects, %d kernels: %d cells differ", len(objects), len(columns), cells)
}

// causes reads the table: kernels by "object program kernel".
func causes(t *testing.T) map[string]string {
	text, err := os.ReadFile("../../../CONFORMANCE.md")
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(text), "## What differs between kernels\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	out := map[string]string{}
	for line := range strings.Lines(section) {
		f := strings.Split(line, "|")
		if len(f) != 6 || !strings.HasSuffix(strings.TrimSpace(f[1]), ".o") {
			continue
		}
		require.NotEmpty(t, strings.TrimSpace(f[4]), line)
		for k := range strings.SplitSeq(f[3], ",") {
			k = strings.TrimSpace(k)
			out[strings.TrimSpace(f[1])+" "+strings.TrimSpace(f[2])+" "+k] = k
		}
	}
	require.NotEmpty(t, out)
	return out
}
