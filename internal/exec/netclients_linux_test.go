//go:build linux && amd64

package exec

import (
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Clients of netlink that others wrote, in testdata/netclients: two libraries of Go, which are a
// module of its own, and libnl. What each printed of a real kernel is recorded there.

// goClient builds a client, with the modules that it needs.
func goClient(t *testing.T, name string) string {
	t.Helper()
	const dir = "testdata/netclients"
	run := func(args ...string) (string, error) {
		cmd := osexec.Command("go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-trimpath -buildvcs=false", "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("mod", "download"); err != nil {
		t.Skipf("the client's modules are not at hand: %v %s", err, out)
	}
	file := filepath.Join(t.TempDir(), name)
	out, err := run("build", "-o", file, "./"+name)
	require.NoError(t, err, out)
	return file
}

// libnlClient compiles the client that uses libnl.
func libnlClient(t *testing.T) string {
	t.Helper()
	flags, err := osexec.Command("pkg-config", "--cflags", "--libs", "libnl-route-3.0").Output()
	if err != nil {
		t.Skipf("no libnl to compile with (Debian's packages pkg-config and libnl-route-3-dev have it): %v", err)
	}
	if _, err := osexec.LookPath("cc"); err != nil {
		t.Skip(err)
	}
	file := filepath.Join(t.TempDir(), "libnl")
	args := append([]string{"-Wall", "-Werror", "-o", file, "testdata/netclients/libnl/libnl.c"}, strings.Fields(string(flags))...)
	out, err := osexec.Command("cc", args...).CombinedOutput()
	require.NoError(t, err, string(out))
	return file
}

// TestClientsOfNetlinkGetTheAnswersOfAKernel compares with what the same client printed natively, as
// root: of Linux 6.12.107 in a virtual machine with the modules dummy, veth, sch_ingress and
// cls_bpf, or of 6.18.44. That of vishvananda is older than the order of its neighbors, the fields
// that it leaves out, and one broadcast address, which were changed by hand.
func TestClientsOfNetlinkGetTheAnswersOfAKernel(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles the clients")
	}
	for _, tt := range []struct{ name, golden, arg string }{
		{"vishvananda", "vishvananda-6.12.107", ""}, {"mdlayher", "mdlayher-6.18.44", ""}, {"mdlayher", "mdlayher-6.18.44", "strict"}, {"libnl", "libnl-6.18.44", ""},
	} {
		t.Run(strings.TrimSpace(tt.name+" "+tt.arg), func(t *testing.T) {
			want, err := os.ReadFile("testdata/netclients/" + tt.golden + ".txt")
			require.NoError(t, err)
			var client string
			if tt.name == "libnl" {
				client = libnlClient(t)
			} else {
				client = goClient(t, tt.name)
			}
			r := start(t, "", "", func(c *Config) {
				c.Root, c.Args = true, []string{client}
				if tt.arg != "" {
					c.Args = append(c.Args, tt.arg)
				}
			})
			assert.Zero(t, r.code, r.notes)
			assert.Equal(t, string(want), r.out, r.notes)
		})
	}
}
