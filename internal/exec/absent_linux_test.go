//go:build linux && (amd64 || arm64)

package exec

import (
	"os"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/btf/embedded"
)

func init() {
	tools["lacks"], tools["headers"] = lacksTool, func() error {
		_, err := os.Stat("/lib/modules/" + embedded.Release + "/build/include")
		return err
	}
}

// lacksTool attaches a probe to a function that is in a module.
func lacksTool() error {
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.Kprobe, License: "GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}})
	if err != nil {
		return err
	}
	_, err = link.Kprobe("ext4_file_open", p, nil)
	return err
}

// TestAToolThatFailsHearsWhatItLacks: where what it looked for would be.
func TestAToolThatFailsHearsWhatItLacks(t *testing.T) {
	modules := func(c *Config) {
		c.ModuleOf = func(fn string) string { return map[string]string{"ext4_file_open": "ext4"}[fn] }
	}
	r := start(t, "lacks", "", modules)
	assert.Equal(t, 1, r.code)
	assert.Contains(t, r.notes, "bpfrun exec: function ext4_file_open is in module ext4: --module-btf ext4\n")
	assert.NotContains(t, start(t, "lacks", "").notes, "module", "nobody knows")
	if _, err := os.Stat("/lib/modules/" + embedded.Release + "/build"); err == nil {
		t.Skip("the headers are installed")
	}
	r = start(t, "headers", "")
	assert.Equal(t, 1, r.code)
	assert.Contains(t, r.notes, "install linux-headers-"+embedded.Release)
}

func TestFunctionsInASentence(t *testing.T) {
	for want, names := range map[string][]string{"function a is": {"a"}, "functions a, b are": {"a", "b"}, "functions a, b, c and 2 more are": {"a", "b", "c", "d", "e"}} {
		assert.Equal(t, want, areIn(names))
	}
}
