//go:build linux && amd64

// Package served shows tests that load with cilium/ebpf and run without root: nothing but TestMain
// is special.
package served

import (
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/bpfrun/bpfrun/bpftest"
)

func TestMain(m *testing.M) { bpftest.Main(m, bpftest.Kernel("embedded")) }

func TestExecIsAttached(t *testing.T) {
	coll, err := ebpf.LoadCollection("../../exec/exec.bpf.o")
	if err != nil {
		t.Fatal(err)
	}
	defer coll.Close()
	l, err := link.Tracepoint("sched", "sched_process_exec", coll.Programs["on_exec"], nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	info, err := coll.Programs["on_exec"].Info()
	if err != nil || info.Name != "on_exec" {
		t.Errorf("info %v, %v", info, err)
	}
}
