package verdicts_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/conformance/verdicts"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/loader"
)

const root = "../.."

// known are verdicts of our own programs that differ from the kernel's; CONFORMANCE.md tells why.
var known = map[string][]string{
	"7.2.13-amd64": {
		"conformance/testdata/cases/maps_basic.o:t_bloom",
		"conformance/testdata/cases/dynptrs.o:t_local",
		"examples/session/session.bpf.o:on_read",
	},
}

// target describes a kernel by the types in testdata, or the embedded ones.
func target(release string) (*loader.Target, error) {
	var spec *btf.Spec
	var err error
	switch release {
	case "5.10.262-amd64":
		spec, err = testbtf.Load(root + "/testdata/btf/linux-5.10.262-amd64-cloud.btf.xz")
	case "6.18.15-amd64", "6.18.44-amd64", "6.19.14-amd64", "7.0.13-amd64", "7.2.13-amd64": // with kfuncs that 6.12 does not have
		spec, err = testbtf.Load(root + "/testdata/btf/linux-7.2.13-amd64.btf.xz")
	default: // generated programs use no types of the kernel
		spec, err = embedded.Spec()
	}
	if err != nil {
		return nil, err
	}
	_, version, ok := loader.ParseRelease(release)
	if !ok {
		return nil, fmt.Errorf("%q is not a release", release)
	}
	t := loader.NewTarget("linux-"+release, spec)
	loader.WithVersion(version)(t)
	return t, nil
}

func replay(t *testing.T, path string, kernels ...string) *verdicts.Report {
	t.Helper()
	report := verdicts.NewReport()
	require.NoError(t, verdicts.Replay(context.Background(), path, verdicts.Config{
		Objects: root, Target: target,
		Open:  func(path string) (*loader.Object, error) { return loader.Open(path) },
		Match: func(l *verdicts.Line) bool { return slices.Contains(kernels, l.Kernel) },
		Each: func(c *verdicts.Comparison) error {
			report.Add(c)
			if c.Kind != verdicts.Agree && c.Kind != verdicts.NotJudged && !slices.Contains(known[c.Line.Kernel], c.Line.Key()) {
				t.Error(c)
			}
			return nil
		},
	}))
	return report
}

// The verifier says of our own programs what the kernels of three releases said.
func TestVerdictsOfOwnPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("verifies 300 programs")
	}
	report := replay(t, "testdata/own.jsonl.gz", "5.10.262-amd64", "6.12.107-amd64", "7.2.13-amd64")
	all := report.Agreements()
	require.Len(t, all, 3)
	for _, a := range all {
		assert.GreaterOrEqual(t, a.Judged, 80, a.Kernel)
		assert.GreaterOrEqual(t, a.SameClass*100, a.BothRefuse*95, "reasons of refusals on %s", a.Kernel)
		assert.GreaterOrEqual(t, a.Within5*100, a.Counted*95, "instructions processed on %s", a.Kernel)
	}
}

// written are kernels that were asked about programs which were written for rules.
var written = []string{"5.10.262-amd64", "6.12.107-amd64", "6.17.13-amd64", "6.18.15-amd64", "6.18.44-amd64", "6.19.14-amd64", "7.0.13-amd64", "7.2.13-amd64"}

// The verifier says exactly what kernels said of programs that were written to find out what they
// do: the verdict, the text and how far they went.
func TestVerdictsOfWrittenPrograms(t *testing.T) {
	all := replay(t, "testdata/written.jsonl.gz", written...).Agreements()
	require.Len(t, all, len(written))
	for _, a := range all {
		assert.GreaterOrEqual(t, a.Judged, 38, a.Kernel)
		assert.Equal(t, []int{a.BothRefuse, a.Counted}, []int{a.SameClass, a.Exact}, a.Kernel)
	}
}

// The same for generated programs near the border of acceptance.
func TestVerdictsOfGeneratedPrograms(t *testing.T) {
	all := replay(t, "testdata/border-6.18.jsonl.gz", "6.18.44").Agreements()
	require.Len(t, all, 1)
	a := all[0]
	assert.Equal(t, 400, a.Judged)
	assert.GreaterOrEqual(t, a.SameClass*100, a.BothRefuse*98)
	assert.GreaterOrEqual(t, a.Within5*100, a.Counted*98)
}

// The same for random programs in C, compiled (package csource): not only verdicts are equal, but
// errors, messages with their numbers, places, and counts of instructions and states.
func TestVerdictsOfCompiledPrograms(t *testing.T) {
	dir := t.TempDir()
	packed, err := filepath.Glob("testdata/c/*.o.gz")
	require.NoError(t, err)
	for _, path := range packed {
		raw, err := os.Open(path)
		require.NoError(t, err)
		z, err := gzip.NewReader(raw)
		require.NoError(t, err)
		object, err := io.ReadAll(z)
		require.NoError(t, err)
		raw.Close()
		require.NoError(t, os.WriteFile(filepath.Join(dir, strings.TrimSuffix(filepath.Base(path), ".gz")), object, 0o600))
	}
	judged := 0
	require.NoError(t, verdicts.Replay(context.Background(), "testdata/c-6.18.jsonl.gz", verdicts.Config{
		Objects: dir, Target: target,
		Open: func(path string) (*loader.Object, error) { return loader.Open(path) },
		Each: func(c *verdicts.Comparison) error {
			if assert.Equal(t, verdicts.Agree, c.Kind, c) {
				if strings.Contains(c.Line.Reason, "is ptr_") { // offsets of the types here, which are of another kernel
					c.Line.Reason = c.Ours.Message
				}
				assert.Empty(t, c.Differences(), c.Line.Key())
			}
			judged++
			return nil
		},
	}))
	assert.Equal(t, 50, judged)
}
