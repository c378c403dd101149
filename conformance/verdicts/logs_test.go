package verdicts_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/conformance/verdicts"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/loader"
)

// Logs of levels 1 and 2 are those that Linux 6.18.44 and 7.2.13 wrote for the same programs
// (conformance record verdicts --log), line by line.
func TestLogsAreThoseOfTheKernel(t *testing.T) {
	for _, test := range []struct {
		file  string
		types func() (*btf.Spec, error)
		least int
	}{
		{"testdata/logs-6.18.jsonl.gz", embedded.Spec, 20},
		{"testdata/logs-generated-6.18.jsonl.gz", embedded.Spec, 317},
		{"testdata/logs-7.2.jsonl.gz", func() (*btf.Spec, error) { return testbtf.Load(root + "/testdata/btf/linux-7.2.13-amd64.btf.xz") }, 50},
	} {
		spec, err := test.types()
		require.NoError(t, err)
		compareLogs(t, test.file, spec, test.least)
	}
}

func compareLogs(t *testing.T, file string, spec *btf.Spec, least int) {
	t.Helper()
	r := verdicts.NewReplayer(verdicts.Config{
		Objects: "../..", Open: func(path string) (*loader.Object, error) { return loader.Open(path) },
		Target: func(release string) (*loader.Target, error) {
			_, version, _ := loader.ParseRelease(release)
			target := loader.NewTarget(release, spec, loader.WithVersion(version))
			target.Release = release
			return target, nil
		},
	})
	n := 0
	require.NoError(t, verdicts.ReadFile(file, func(l *verdicts.Line) error {
		logs, err := r.CompareLogs(context.Background(), l)
		require.NoError(t, err, l.Key())
		for _, c := range logs {
			assert.True(t, c.Same(), "%s: %d of %d lines; the kernel: %q, here: %q", l.Key(), c.Equal, c.Kernel, c.First, c.Instead)
		}
		n++
		return nil
	}))
	assert.GreaterOrEqual(t, n, least, file)
}

func TestCompareLogs(t *testing.T) {
	for _, test := range []struct {
		name, kernel, ours string
		want               verdicts.LogLines
	}{
		{"equal", "0: (95) exit\n", "0: (95) exit\n", verdicts.LogLines{Kernel: 1, Ours: 1, Equal: 1}},
		{"addresses and source lines do not count", "4: (18) r1 = 0xffff888104457000       ; R1=ctx()\n", "; x = 1; @ a.c:1\n4: (18) r1 = 0x0         ; R1=ctx()\n", verdicts.LogLines{Kernel: 1, Ours: 1, Equal: 1}},
		{"numbers that are no addresses do", "0: (18) r1 = 0x12\n", "0: (18) r1 = 0x13\n", verdicts.LogLines{Kernel: 1, Ours: 1, First: "0: (18) r1 = 0x12", Instead: "0: (18) r1 = 0x13"}},
		{"a line more", "a\nb\nc", "a\nc", verdicts.LogLines{Kernel: 3, Ours: 2, Equal: 2, First: "b", Instead: "c"}},
		{"a line less", "a", "a\nb", verdicts.LogLines{Kernel: 1, Ours: 2, Equal: 1, Instead: "b"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.want, *verdicts.CompareLogs(test.kernel, test.ours))
		})
	}
}
