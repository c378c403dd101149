//go:build linux && (amd64 || arm64)

package exec

import (
	"os"
	osexec "os/exec"
	"strings"
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
		c.ModulesOf = func([]string) map[string]string { return map[string]string{"ext4_file_open": "ext4"} }
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

// TestToolsThatLackTypesHearOfHeaders: whatever of the headers they miss.
func TestToolsThatLackTypesHearOfHeaders(t *testing.T) {
	if _, err := os.Stat("/lib/modules/" + embedded.Release + "/build"); err == nil {
		t.Skip("the headers are installed")
	}
	t.Setenv("PATH", "/usr/sbin:"+os.Getenv("PATH"))
	for name, command := range map[string][]string{
		"struct":             {"bpftrace", "-e", `kprobe:vfs_read { printf("%d", ((struct nosuch *)arg0)->x); }`},
		"member":             {"bpftrace", "-e", `struct a { struct nosuch b; }; kprobe:vfs_read { printf("%d", ((struct a *)arg0)->b.x); }`},
		"header":             {"bpftrace", "-e", "#include <linux/nosuch.h>\nBEGIN { exit(); }"},
		"constant":           {"bpftrace", "-e", `kprobe:vfs_read { printf("%d", NO_SUCH); }`},
		"bcc":                {"opensnoop-bpfcc"},
		"bcc, with status 0": {"funccount-bpfcc", "vfs_read"},
		"bcc header":         {"trace-bpfcc", "-I", "linux/fs.h", `vfs_read(struct file *f) "%d", f->f_flags`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := osexec.LookPath(command[0]); err != nil {
				t.Skipf("%v: Debian's packages bpftrace and bpfcc-tools have it", err)
			}
			r := start(t, "", "", func(c *Config) { c.Args, c.Root = command, true })
			assert.Equal(t, strings.HasSuffix(name, "status 0"), r.code == 0, r.out)
			assert.Contains(t, r.notes, "install linux-headers-"+embedded.Release, r.out)
		})
	}
	if _, err := osexec.LookPath("bpftrace"); err == nil {
		r := start(t, "", "", func(c *Config) { c.Args, c.Root = []string{"bpftrace", "-e", "BEGIN { exit(); }"}, true })
		assert.Zero(t, r.code, r.out)
		assert.NotContains(t, r.notes, "linux-headers", "nothing is missing")
	}
}

// TestHeadersOfTheHostAreNotThoseOfTheKernel: bcc would take them.
func TestHeadersOfTheHostAreNotThoseOfTheKernel(t *testing.T) {
	r := start(t, "", "", func(c *Config) { c.Args = []string{"/bin/cat", "/sys/kernel/kheaders.tar.xz"} })
	assert.Contains(t, r.out, "No such file or directory")
}

func TestFunctionsInASentence(t *testing.T) {
	for want, names := range map[string][]string{"function a is": {"a"}, "functions a, b are": {"a", "b"}, "functions a, b, c and 2 more are": {"a", "b", "c", "d", "e"}} {
		assert.Equal(t, want, areIn(names))
	}
}
