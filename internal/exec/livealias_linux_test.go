//go:build linux && (amd64 || arm64)

package exec

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
)

func init() { tools["livealias"] = liveAliasTool }

// liveAliasTool counts calls at the other name of a function without arguments, on entry and
// return.
func liveAliasTool() error {
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		return err
	}
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.Kprobe, License: "GPL", Instructions: asm.Instructions{
		asm.StoreImm(asm.R10, -4, 0, asm.Word), asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, -4), asm.LoadMapPtr(asm.R1, m.FD()), asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "out"), asm.Mov.Imm(asm.R1, 1), asm.StoreXAdd(asm.R0, asm.R1, asm.DWord), asm.Mov.Imm(asm.R0, 0).WithSymbol("out"), asm.Return(),
	}})
	if err != nil {
		return err
	}
	count := func(attach func(string, *ebpf.Program, *link.KprobeOptions) (link.Link, error)) (n uint64, err error) {
		l, err := attach("__do_sys_getppid", p, nil)
		if err != nil {
			return 0, err
		}
		unix.Getppid()
		unix.Getppid()
		unix.Getpid()
		err = m.Lookup(uint32(0), &n)
		return n, errors.Join(err, l.Close(), m.Put(uint32(0), uint64(0)))
	}
	entry, err := count(link.Kprobe)
	exit, err2 := count(link.Kretprobe)
	fmt.Println(entry, exit)
	return errors.Join(err, err2)
}

// TestLiveCallsReachBothNamesOfTheirFunction: BTF of x86 has __do_sys_NAME alone for calls without
// arguments.
func TestLiveCallsReachBothNamesOfTheirFunction(t *testing.T) {
	spec, err := embedded.Spec()
	if _, ok := spec.Find(btf.KindFunc, "__do_sys_getppid"); err != nil || !ok {
		t.Skip("the kernel has no such function")
	}
	r := start(t, "livealias", "", func(c *Config) { c.Live = true })
	assert.Equal(t, "2 2\n", r.out, r.notes)
}
