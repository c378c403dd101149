package bpftest

import (
	"errors"
	"fmt"
	"os"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/exec"
	"github.com/bpfrun/bpfrun/internal/kernels"
)

// servedVariable is set in the environment of tests that run under [Main].
const servedVariable = "BPFTEST_SERVED"

// ErrUnsupported means that [Main] cannot run tests on this system.
var ErrUnsupported = exec.ErrUnsupported

// Main runs the tests of a package, unchanged, against the bpf(2) of a simulated kernel: tests that
// use ebpf.NewCollection, link.Kprobe or ringbuf.NewReader of github.com/cilium/ebpf need no change
// and no root. Call it from TestMain instead of m.Run:
//
//	func TestMain(m *testing.M) { bpftest.Main(m, bpftest.Kernel("6.12")) }
//
// Main restarts the test binary under the supervisor of bpfrun exec, which needs Linux 5.14 or
// later on amd64 or arm64, and exits with its status. On other systems the tests fail. bpfrun exec
// --btf 6.12 -- does the same for binaries that cannot be changed. Objects created with [New] work
// in such tests, too.
func Main(m interface{ Run() int }, opts ...Option) {
	exec.Child(os.Args[1:]) // does not return in the restarted process
	if os.Getenv(servedVariable) != "" {
		os.Exit(m.Run())
	}
	code, err := serve(opts)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bpftest.Main:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// serve runs the test binary under supervision and returns its exit status.
func serve(opts []Option) (int, error) {
	k, err := Open(nil, opts...)
	if err != nil {
		return 1, err
	}
	self, err := os.Executable()
	if err != nil {
		return 1, err
	}
	if err := os.Setenv(servedVariable, "1"); err != nil {
		return 1, err
	}
	simulated := k.o.machine
	simulated.Types, simulated.Uncovered, simulated.Unwatched = k.kt, true, true
	cfg := exec.Config{
		System: bpfsys.Config{Target: k.tgt, Machine: simulated},
		Args:   append([]string{self}, os.Args[1:]...), Keep: true, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Notes: os.Stderr,
	}
	cfg.Release, cfg.Version = kernels.Uname(k.tgt, k.path)
	code, err := exec.Run(cfg)
	if errors.Is(err, exec.ErrUnsupported) {
		return 1, err
	}
	return code, err
}
