package core

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// The words of its context in which testdata/src/kconfig.bpf.c leaves what it found, by the form of
// the extern.
const (
	cfgVersion = iota
	cfgCookie
	cfgWrapper
	cfgFuture
	cfgBool     // CONFIG_SMP
	cfgTristate // CONFIG_BPF_JIT
	cfgChar     // CONFIG_MODULES
	cfgU8       // CONFIG_LOG_BUF_SHIFT
	cfgU16      // CONFIG_NODES_SHIFT
	cfgInt      // CONFIG_HZ
	cfgU64      // CONFIG_NR_CPUS
	cfgS64      // CONFIG_ILLEGAL_POINTER_VALUE
	cfgString   // CONFIG_LOCALVERSION, its first character
	cfgMissing
	cfgWords
)

// TestKconfigForms runs a program on configurations: which text each form of extern takes, what the
// program then sees, and what makes the load fail. The rules are libbpf's.
func TestKconfigForms(t *testing.T) {
	const name = "CONFIG_"
	for _, c := range []struct {
		config string
		word   int
		want   uint64
		fails  bool
	}{
		{"SMP=y", cfgBool, 1, false}, {"SMP=n", cfgBool, 0, false}, {"SMP=m", 0, 0, true}, {"SMP=1", 0, 0, true}, {"SMP=\"y\"", 0, 0, true},
		{"BPF_JIT=n", cfgTristate, 0, false}, {"BPF_JIT=y", cfgTristate, 1, false}, {"BPF_JIT=m", cfgTristate, 2, false},
		{"BPF_JIT=2", 0, 0, true}, {"BPF_JIT=Y", 0, 0, true},
		{"MODULES=m", cfgChar, 'm', false}, {"MODULES=y", cfgChar, 'y', false}, {"MODULES=65", cfgChar, 65, false},
		{"MODULES=q", 0, 0, true}, {"MODULES=", 0, 0, true}, {"MODULES=\"m\"", 0, 0, true}, {"MODULES=127", cfgChar, 127, false}, {"MODULES=128", 0, 0, true},
		{"LOG_BUF_SHIFT=0x11", cfgU8, 17, false}, {"LOG_BUF_SHIFT=021", cfgU8, 17, false}, {"LOG_BUF_SHIFT=255", cfgU8, 255, false}, {"LOG_BUF_SHIFT=256", 0, 0, true},
		{"NODES_SHIFT=65535", cfgU16, 65535, false}, {"NODES_SHIFT=0", cfgU16, 0, false}, {"NODES_SHIFT=65536", 0, 0, true}, {"NODES_SHIFT=-1", 0, 0, true},
		{"HZ=1000", cfgInt, 1000, false}, {"HZ=-7", cfgInt, 1<<64 - 7, false}, {"HZ=+7", cfgInt, 7, false}, {"HZ=2147483647", cfgInt, 1<<31 - 1, false},
		{"HZ=-2147483648", cfgInt, 1<<64 - 1<<31, false}, {"HZ=2147483648", 0, 0, true}, {"HZ=-2147483649", 0, 0, true},
		{"HZ=12x", 0, 0, true}, {"HZ=0x", 0, 0, true}, {"HZ=1_000", 0, 0, true}, {"HZ=0b1", 0, 0, true}, {"HZ=y", 0, 0, true}, {"HZ=\"1\"", 0, 0, true}, {"HZ", 0, 0, true},
		{"NR_CPUS=0xffffffffffffffff", cfgU64, 1<<64 - 1, false}, {"NR_CPUS=18446744073709551615", cfgU64, 1<<64 - 1, false},
		{"NR_CPUS=18446744073709551616", 0, 0, true}, {"NR_CPUS=-1", cfgU64, 1<<64 - 1, false}, {"NR_CPUS=+18446744073709551615", cfgU64, 1<<64 - 1, false},
		{"ILLEGAL_POINTER_VALUE=0xdead000000000000", cfgS64, 0xdead000000000000, false},
		{"LOCALVERSION=\"-rc1\"", cfgString, '-', false}, {"LOCALVERSION=\"\"", cfgString, 0, false}, {"LOCALVERSION=\"x", 0, 0, true},
		{"LOCALVERSION=rc1", 0, 0, true}, {"LOCALVERSION=7", 0, 0, true},
		{"NO_SUCH_OPTION=y", cfgMissing, 1, false}, {"OTHER=y", cfgMissing, 0, false},
		{"HZ=100\nCONFIG_HZ=300", cfgInt, 100, false}, {"OTHER=y\n# CONFIG_HZ is not set\nHZ=5", cfgInt, 0, false},
		{"SMP=y", cfgInt, 0, false}, // an option that the whole configuration lacks is not set, whatever most kernels have
	} {
		t.Run(name+c.config, func(t *testing.T) {
			words, err := runKconfig(t, []byte(name+c.config+"\n"))
			if c.fails {
				assert.Error(t, err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, words[c.word], "word %d", c.word)
		})
	}
	t.Run("gzip", func(t *testing.T) {
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		_, err := w.Write([]byte("CONFIG_HZ=123\n"))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		words, err := runKconfig(t, z.Bytes())
		require.NoError(t, err)
		assert.EqualValues(t, 123, words[cfgInt])
		_, err = runKconfig(t, z.Bytes()[:12])
		assert.Error(t, err, "cut short")
	})
	t.Run("virtual", func(t *testing.T) {
		words, err := runKconfig(t, []byte("CONFIG_HZ=1\n"))
		require.NoError(t, err)
		assert.EqualValues(t, 6<<16|12<<8|107, words[cfgVersion])
		assert.EqualValues(t, 1, words[cfgCookie])
		assert.EqualValues(t, 1, words[cfgWrapper])
		assert.Zero(t, words[cfgFuture], "weak, and nothing supplies it")
	})
}

// runKconfig runs the program with a configuration and returns the words it wrote; the error is
// that of the load.
func runKconfig(t *testing.T, config []byte) ([]uint64, error) {
	values, err := loader.ParseKconfig(bytes.NewReader(config))
	if err != nil {
		return nil, err
	}
	o, err := loader.Open(data + "objects/clang-14/kconfig.o")
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	l, err := o.Load(loader.NewTarget("6.12.107", spec, loader.WithWholeKconfig(values)), loader.LoadOptions{})
	require.NoError(t, err)
	if l.Err != nil {
		return nil, l.Err
	}
	m, err := machine.New(l, machine.Config{})
	require.NoError(t, err)
	defer m.Close()
	res, err := m.Run(t.Context(), "kconfig", machine.Input{Context: make([]byte, 8*cfgWords)})
	require.NoError(t, err)
	require.Equal(t, machine.StatusOK, res.Status, "%v", res.Fault)
	var words []uint64
	for p := res.CtxOut; len(p) >= 8; p = p[8:] {
		words = append(words, binary.LittleEndian.Uint64(p))
	}
	require.Len(t, words, cfgWords)
	return words, nil
}
