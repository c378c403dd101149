//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"os"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"github.com/stretchr/testify/assert"
)

func init() {
	tools["testrun"] = testRunTool
	tools["tracefs"] = tracefsTool
	tools["innerlock"] = innerLockTool
}

// tracer returns a program that traces a function and stores a word of its context in a slot of a
// map, plus 1, and returns ret.
func tracer(out *ebpf.Map, slot int64, function string, at ebpf.AttachType, word int16, ret int32) *ebpf.ProgramSpec {
	return &ebpf.ProgramSpec{Name: "tracer", Type: ebpf.Tracing, AttachType: at, AttachTo: function, License: "GPL", Instructions: asm.Instructions{
		asm.LoadMem(asm.R6, asm.R1, 8*word, asm.DWord),
		asm.StoreImm(asm.RFP, -4, slot, asm.Word),
		asm.LoadMapPtr(asm.R1, out.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "out"),
		asm.Add.Imm(asm.R6, 1),
		asm.StoreMem(asm.R0, 0, asm.R6, asm.DWord),
		asm.Mov.Imm(asm.R0, ret).WithSymbol("out"), asm.Return(),
	}}
}

// testRunTool test-runs tracing programs, and a raw tracepoint in whose task it shows up.
func testRunTool() error {
	out, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 8})
	if err != nil {
		return err
	}
	var last *ebpf.Program
	run := func(name string, specs ...*ebpf.ProgramSpec) error {
		for _, spec := range specs {
			p, err := ebpf.NewProgram(spec)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			defer p.Close()
			l, err := link.AttachTracing(link.TracingOptions{Program: p})
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			defer l.Close()
			last = p
		}
		ret, err := last.Run(&ebpf.RunOptions{})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		var v [8]uint64
		for i := range v {
			if err := out.Lookup(uint32(i), &v[i]); err != nil {
				return err
			}
			if err := out.Put(uint32(i), uint64(0)); err != nil {
				return err
			}
		}
		fmt.Println(name, v, ret>>16, ret&0xffff)
		return nil
	}
	const sum, modified = "bpf_fentry_test4", "bpf_modify_return_test"
	if err := run("fexit", tracer(out, 0, sum, ebpf.AttachTraceFEntry, 1, 0), tracer(out, 1, sum, ebpf.AttachTraceFExit, 4, 0)); err != nil {
		return err
	}
	if err := run("unmodified", tracer(out, 0, modified, ebpf.AttachTraceFExit, 2, 0), tracer(out, 1, modified, ebpf.AttachModifyReturn, 0, 0)); err != nil {
		return err
	}
	// The first program that returns a value takes the place of the function: the next one does not
	// run.
	if err := run("modified", tracer(out, 0, modified, ebpf.AttachTraceFExit, 2, 0), tracer(out, 1, modified, ebpf.AttachModifyReturn, 0, 20),
		tracer(out, 2, modified, ebpf.AttachModifyReturn, 0, 30)); err != nil {
		return err
	}
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "pid", Type: ebpf.RawTracepoint, License: "GPL", Instructions: asm.Instructions{
		asm.FnGetCurrentPidTgid.Call(), asm.RSh.Imm(asm.R0, 32), asm.Return(),
	}})
	if err != nil {
		return err
	}
	ret, err := p.Run(&ebpf.RunOptions{})
	fmt.Println("own task", int(ret) == os.Getpid(), err)
	return nil
}

func TestTestRunsCallTheKernelsFunctions(t *testing.T) {
	r := start(t, "testrun", "")
	assert.Equal(t, `fexit [9 35 0 0 0 0 0 0] 0 0
unmodified [5 2 0 0 0 0 0 0] 2 33
modified [21 2 0 0 0 0 0 0] 1 49
own task true <nil>
`, r.out, r.notes)
}

// innerLockTool stores maps whose values have a lock in an array of maps.
func innerLockTool() error {
	lock := &btf.Struct{Name: "bpf_spin_lock", Size: 4, Members: []btf.Member{{Name: "val", Type: &btf.Int{Name: "unsigned int", Size: 4}}}}
	value := &btf.Struct{Name: "value", Size: 8, Members: []btf.Member{{Name: "n", Type: &btf.Int{Name: "unsigned int", Size: 4}}, {Name: "lock", Type: lock, Offset: 32}}}
	spec := func(v btf.Type) *ebpf.MapSpec {
		return &ebpf.MapSpec{Type: ebpf.Hash, KeySize: 4, ValueSize: 8, MaxEntries: 4, Key: &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed}, Value: v}
	}
	outer, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.ArrayOfMaps, KeySize: 4, ValueSize: 4, MaxEntries: 2, InnerMap: spec(value)})
	if err != nil {
		return err
	}
	for name, v := range map[string]btf.Type{"lock": value, "none": &btf.Int{Name: "long", Size: 8}} {
		inner, err := ebpf.NewMap(spec(v))
		if err != nil {
			return err
		}
		if err := outer.Put(uint32(0), inner); (err == nil) != (name == "lock") {
			return fmt.Errorf("inner map with %s: %w", name, err)
		}
	}
	fmt.Println("done")
	return nil
}

func TestInnerMapsHaveTheTemplatesFields(t *testing.T) {
	assert.Equal(t, "done\n", start(t, "innerlock", "").out)
}

// tracefsTool looks for tracefs as aya does: by a directory that is not empty.
func tracefsTool() error {
	for _, dir := range []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"} {
		list, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range list {
			if st, err := os.Stat(dir + "/" + e.Name()); err != nil || st.IsDir() != e.IsDir() {
				return fmt.Errorf("%s: %w", e.Name(), err)
			}
		}
		fmt.Println(len(list) > 5)
	}
	return nil
}

func TestTracefsListsItsFiles(t *testing.T) {
	assert.Equal(t, "true\ntrue\n", start(t, "tracefs", "").out)
}
