package ebpfspec_test

import (
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/bpfrun/bpfrun/bpftest"
	"github.com/bpfrun/bpfrun/bpftest/ebpfspec"
)

// t stands for the *testing.T of a test.
var t = standIn{}

type standIn struct{}

func (standIn) Helper()                        {}
func (standIn) Name() string                   { return "Example" }
func (standIn) Logf(string, ...any)            {}
func (standIn) Errorf(format string, a ...any) { fmt.Printf(format+"\n", a...) }
func (standIn) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }
func (standIn) Cleanup(func())                 {}

func ExampleOf() {
	spec, err := ebpf.LoadCollectionSpec("../../examples/globals/globals.bpf.o") // or what bpf2go wrote
	if err != nil {
		t.Fatalf("%v", err)
	}
	if err := spec.Variables["target_tgid"].Set(uint32(77)); err != nil {
		t.Fatalf("%v", err)
	}
	obj := bpftest.New(t).Load(ebpfspec.Of(spec))
	for _, tgid := range []int{76, 77} {
		obj.Program("on_sys_enter").Run(bpftest.Input{Current: obj.Task(bpftest.Fields{"pid": tgid, "tgid": tgid})})
	}
	fmt.Println(bpftest.Get[uint64](obj, "total"))
	// Output: 1
}
