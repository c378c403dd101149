package bpftest_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bpfrun/bpfrun/bpftest"
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

func Example() {
	k := bpftest.New(t, bpftest.Kernel("embedded"))
	obj := k.Load("../examples/firewall/firewall.bpf.o")
	type service struct{ Protocol, Port uint16 }
	if err := obj.Map("services").Put(service{6, 443}, uint32(2)); err != nil { // XDP_PASS
		t.Fatalf("%v", err)
	}
	firewall := obj.Program("firewall")
	for _, packet := range []string{"eth/ip/tcp(dport=443)", "eth/ip/tcp(dport=23)", "eth/ipv6/udp"} {
		fmt.Println(packet, firewall.Run(bpftest.Input{Packet: obj.Packet(packet)}).Verdict())
	}
	// Output:
	// eth/ip/tcp(dport=443) XDP_PASS
	// eth/ip/tcp(dport=23) XDP_DROP
	// eth/ipv6/udp XDP_PASS
}

// A tracing program gets a task and the arguments of its hook; what it sends comes back as Go
// structs.
func ExampleRecords() {
	obj := bpftest.New(t).Load("../examples/exec/exec.bpf.o")
	shell := obj.Task(bpftest.Fields{"pid": 800, "tgid": 800, "comm": "bash"})
	curl := obj.Task(bpftest.Fields{"pid": 4242, "tgid": 4242, "comm": "curl", "real_parent": shell, "cred": bpftest.Fields{"uid.val": 1000}})
	res := obj.Program("on_exec").Run(bpftest.Input{Current: curl, Args: bpftest.Fields{"filename": "/usr/bin/curl"}})

	type event struct {
		Pid, Ppid, Uid, OldPid uint32
		When                   uint64
		Comm                   [16]byte
		Filename               [64]byte
	}
	for _, e := range bpftest.Records[event](res, "events") {
		fmt.Println(e.Pid, e.Ppid, e.Uid, bpftest.CString(e.Comm[:]), bpftest.CString(e.Filename[:]))
	}
	// Output: 4242 800 1000 curl /usr/bin/curl
}

// Constants are set before loading, other variables at any time.
func ExampleSet() {
	obj := bpftest.New(t).Load("../examples/globals/globals.bpf.o", bpftest.Set("target_tgid", uint32(77)))
	prog := obj.Program("on_sys_enter")
	for _, tgid := range []int{77, 78, 77} {
		prog.Run(bpftest.Input{Current: obj.Task(bpftest.Fields{"pid": tgid, "tgid": tgid, "comm": "cat"})})
	}
	fmt.Println(bpftest.Get[uint64](obj, "total"), bpftest.Get[string](obj, "last_comm"))
	// Output: 2 cat
}

func ExampleMap_Iterate() {
	m := bpftest.New(t).Load("../examples/exec/exec.bpf.o").Map("execs_by_uid")
	for uid := range uint32(3) {
		if err := m.Put(1000+uid, uint64(uid)); err != nil {
			t.Fatalf("%v", err)
		}
	}
	var uid uint32
	var n, sum uint64
	it := m.Iterate()
	for it.Next(&uid, &n) {
		sum += n
	}
	fmt.Println(sum, it.Err(), bpftest.Elements[uint32, uint64](m))
	// Output: 3 <nil> map[1000:0 1001:1 1002:2]
}

// Of a per-CPU map a value is a slice with one element for each CPU.
func ExampleMap_Lookup_perCPU() {
	obj := bpftest.New(t, bpftest.CPUs(4)).Load("../examples/firewall/firewall.bpf.o")
	obj.Program("firewall").Run(bpftest.Input{Packet: obj.Packet("eth/ipv6"), CPU: 2})
	const notIPv4 = uint32(3)
	var counts []uint64
	if err := obj.Map("decisions").Lookup(notIPv4, &counts); err != nil {
		t.Fatalf("%v", err)
	}
	fmt.Println(counts)
	// Output: [0 0 1 0]
}

// Errors of maps have kinds.
func ExampleMapError() {
	m := bpftest.New(t).Load("../examples/exec/exec.bpf.o").Map("execs_by_uid")
	var n uint64
	err := m.Lookup(uint32(1000), &n)
	fmt.Println(errors.Is(err, bpftest.ErrKeyNotExist), err)
	err = m.Put(uint32(1000), uint32(1))
	fmt.Println(errors.Is(err, bpftest.ErrSize), err)
	// Output:
	// true map execs_by_uid: lookup: ENOENT, key does not exist
	// true value of map execs_by_uid has 8 bytes, uint32 has 4: wrong size
}

// What the kernel forbids stops a program. Run fails the test with this text; TryRun returns it.
func ExampleFault() {
	obj := bpftest.New(t, bpftest.NoVerify()).Load("../testdata/objects/clang-14/faults.o")
	_, err := obj.Program("err_null_lookup").TryRun()
	var f *bpftest.Fault
	if errors.As(err, &f) {
		fmt.Println(f.Kind, "at", f.Line)
		fmt.Println(f.Hint)
	}
	// Output:
	// null-pointer at sink = *v;
	// check the pointer against NULL before it is used
}

// A program that a kernel does not have the hook or the fields for says so.
func ExampleProgram_Err() {
	for _, kernel := range []string{"../testdata/btf/linux-5.10.262-amd64-cloud.btf.xz", "embedded"} {
		k := bpftest.New(t, bpftest.Kernel(kernel))
		prog := k.Load("../testdata/objects/clang-14/faults.o").Program("ok_map_value_last") // SEC("syscall")
		fmt.Println(k.Version(), errors.Is(prog.Err(), bpftest.ErrRefused))
	}
	// Output:
	// 5.10.262 true
	// 6.12.107 false
}

// Helpers may fail when the test says so.
func ExampleFails() {
	obj := bpftest.New(t).Load("../examples/exec/exec.bpf.o")
	full := map[string]bpftest.Answer{"bpf_ringbuf_reserve": bpftest.Returns(0)} // NULL: no room
	fmt.Println(len(obj.Program("on_exec").Run(bpftest.Input{Helpers: full}).Records))
	second := map[string]bpftest.Answer{"bpf_map_update_elem": bpftest.Fails("E2BIG").At(2)}
	fmt.Println(len(obj.Program("on_exec").Run(bpftest.Input{Helpers: second}).Records))
	// Output:
	// 0
	// 1
}

// Kernel objects may be written as in scenario files.
func ExampleObject_Objects() {
	obj := bpftest.New(t).Load("../examples/exec/exec.bpf.o")
	tasks := obj.Objects(`
		init:  !task {pid: 1, tgid: 1, comm: systemd}
		shell: !task {pid: 800, tgid: 800, comm: bash, real_parent: $init}
	`)
	fmt.Println(tasks["shell"].Text("comm"), tasks["shell"].Uint("real_parent.pid"))
	// Output: bash 1
}

// Coverage tells which source lines no run has reached.
func ExampleProgram_Coverage() {
	obj := bpftest.New(t).Load("../examples/exec/exec.bpf.o")
	prog := obj.Program("on_exec")
	prog.Run(bpftest.Input{Helpers: map[string]bpftest.Answer{"bpf_ringbuf_reserve": bpftest.Returns(0)}})
	for _, l := range prog.Coverage().Missed() {
		if strings.HasPrefix(l.Text, "bpf_ringbuf_submit") {
			fmt.Println(l.Number, l.Text)
		}
	}
	prog.Run()
	c := prog.Coverage()
	fmt.Println(c.Executed > c.Reachable*9/10)
	// Output:
	// 67 bpf_ringbuf_submit(e, 0);
	// true
}

// An object that go:embed or bpf2go put into the program needs no file.
func ExampleELF() {
	data, err := os.ReadFile("../examples/exec/exec.bpf.o")
	if err != nil {
		t.Fatalf("%v", err)
	}
	obj := bpftest.New(t).Load(bpftest.ELF("exec.bpf.o", data), bpftest.MapSize("execs_by_uid", 16))
	fmt.Println(obj.Programs(), obj.Map("execs_by_uid").MaxEntries())
	// Output: [on_exec] 16
}

// The clock moves when the test says so; timers that fall due run.
func ExampleObject_Advance() {
	obj := bpftest.New(t, bpftest.Boot(time.Minute)).Load("../examples/exec/exec.bpf.o")
	obj.Advance(time.Hour)
	fmt.Println(obj.Now())
	// Output: 1h1m0s
}

// The same test on several kernels, each in a subtest. t is the test's *testing.T.
func ExampleMatrix() {
	var t *testing.T
	bpftest.Matrix(t, []string{"5.10", "6.1", "6.12"}, func(t *testing.T, k *bpftest.Target) {
		prog := k.Load("probes.bpf.o").Program("on_exit")
		if err := prog.Err(); errors.Is(err, bpftest.ErrAbsent) {
			t.Skip(err)
		}
		prog.Run(bpftest.Input{})
	})
}

// Tests that load with cilium/ebpf run unchanged when TestMain calls Main. m is its *testing.M.
func ExampleMain() {
	var m *testing.M
	bpftest.Main(m, bpftest.Kernel("6.12"))
}
