package selftests

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// directory returns where build.sh put the selftests, or skips the test.
func directory(t *testing.T) string {
	dir := os.Getenv("BPFRUN_SELFTESTS")
	if dir == "" {
		t.Skip("set BPFRUN_SELFTESTS to a directory made by build.sh to run the kernel's selftests")
	}
	return dir
}

// table reads one of the files that the selftests' own sources printed.
func table[T any](t *testing.T, name string) []T {
	f, err := os.Open(filepath.Join(directory(t), name))
	require.NoError(t, err)
	defer f.Close()
	var out []T
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		var row T
		require.NoError(t, json.Unmarshal(s.Bytes(), &row))
		out = append(out, row)
	}
	require.NoError(t, s.Err())
	return out
}

// hexBytes are bytes as hex digits in JSON.
type hexBytes []byte

func (h *hexBytes) UnmarshalJSON(p []byte) error {
	var s string
	if err := json.Unmarshal(p, &s); err != nil {
		return err
	}
	var err error
	*h, err = hex.DecodeString(s)
	return err
}

func open(t *testing.T, name string, opts ...loader.Option) *loader.Object {
	o, err := loader.Open(filepath.Join(directory(t), name), opts...)
	require.NoError(t, err)
	return o
}

// release is the kernel whose types the build took.
const release = "6.12.107"

var vmlinuxOnce = sync.OnceValues(func() (*btf.Spec, error) {
	return btffile.Load(filepath.Join(os.Getenv("BPFRUN_SELFTESTS"), "vmlinux.btf"), nil)
})

func vmlinux(t *testing.T) *btf.Spec {
	directory(t)
	spec, err := vmlinuxOnce()
	require.NoError(t, err)
	return spec
}

// refusal explains why the kernel would not load the program: libbpf's reason, the kernel's, or a
// poisoned instruction that is reached. It is empty when nothing speaks against the program.
func refusal(t *testing.T, l *loader.Linked, program string) string {
	lp, ok := l.Program(program)
	require.True(t, ok, program)
	if lp.Err != nil && lp.Status == loader.StatusRefused {
		return lp.Err.Error()
	}
	if err := lp.Refusal(loader.Verified{}); err != nil {
		return err.Error()
	}
	for _, v := range lp.PoisonVerdicts() {
		if v.Verdict == loader.Break {
			return fmt.Sprintf("reaches poisoned instruction %d: %s", v.Insn, v.Reloc.Local.String())
		}
	}
	return ""
}

// newMachine composes a machine whose current task is the one the selftests run in.
func newMachine(t *testing.T, l *loader.Linked) *machine.Machine {
	m, err := machine.New(l, machine.Config{})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	task := m.Kernel().Current()
	if task == nil || !task.Has("pid") {
		return m // a target without the kernel's own types
	}
	for field, v := range map[string]any{"pid": 4242, "tgid": 4242, "comm": "test_progs"} {
		require.NoError(t, task.Set(field, v))
	}
	require.NoError(t, task.SetPtr("group_leader", task))
	return m
}

func pidTgid(m *machine.Machine) uint64 {
	pid, tgid := m.Kernel().PidTgid()
	return uint64(tgid)<<32 | uint64(pid)
}

func run(t *testing.T, m *machine.Machine, program string, in machine.Input) *machine.Result {
	res, err := m.Run(t.Context(), program, in)
	require.NoError(t, err)
	return res
}

// ran reports whether a program ran to its end. The types of most tests are no kernel's: that they
// list the tracepoint is not asked for.
func ran(res *machine.Result) bool {
	return res.Status == machine.StatusOK || res.Status == machine.StatusUnknownHook && res.Ran && res.Fault == nil
}

func little64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
