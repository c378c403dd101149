package selftests

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// externCase is a case of prog_tests/core_extern.c: a configuration, and what the program finds in
// its externs.
type externCase struct {
	Name   string
	Config *string // nil: that of the kernel
	Fails  bool
	Data   hexBytes
	// Fields are offset and size of those values that come from elsewhere.
	Fields map[string][2]int
}

func TestCoreExtern(t *testing.T) {
	cases := table[externCase](t, "extern.jsonl")
	passed := 0
	for _, c := range cases {
		if t.Run(c.Name, c.check) {
			passed++
		}
	}
	t.Logf("core_extern: %d of %d", passed, len(cases))
	assert.Len(t, cases, 36)
}

func (c *externCase) check(t *testing.T) {
	var opts []loader.TargetOption
	if c.Config != nil {
		values, err := loader.ParseKconfig(strings.NewReader(*c.Config))
		if err != nil && c.Fails {
			t.Log(err)
			return
		}
		require.NoError(t, err)
		opts = append(opts, loader.WithWholeKconfig(values))
	}
	target := loader.NewTarget(release, vmlinux(t), opts...)
	l, err := open(t, "test_core_extern.bpf.o").Load(target, loader.LoadOptions{})
	require.NoError(t, err)
	if c.Fails {
		t.Log(l.Err)
		assert.Error(t, l.Err, "must not load")
		return
	}
	require.NoError(t, l.Err)
	m := newMachine(t, l)
	res := run(t, m, l.Programs[0].Name, machine.Input{})
	require.Equal(t, machine.StatusOK, res.Status, "%v", res.Fault)
	section, ok := m.MapByName(".data")
	require.True(t, ok)
	// The version of the kernel, and what the program writes where an option that does not exist is
	// asked for.
	copy(c.Data[c.Fields["kern_ver"][0]:], little64(uint64(target.Version)))
	copy(c.Data[c.Fields["missing_val"][0]:], little64(0xdeadc0de))
	assert.Equal(t, []byte(c.Data), section.Entries()[0].Value[:len(c.Data)])
}
