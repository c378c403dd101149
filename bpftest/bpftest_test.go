package bpftest_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/bpftest"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/loader"
)

const (
	execObject     = "../examples/exec/exec.bpf.o"
	firewallObject = "../examples/firewall/firewall.bpf.o"
	faultsObject   = "../testdata/objects/clang-14/faults.o"
	oldKernel      = "../testdata/btf/linux-5.10.262-amd64-cloud.btf.xz"
	newKernel      = "../testdata/btf/linux-7.2.13-amd64.btf.xz"
)

// recorder is a test that remembers how it failed.
type recorder struct {
	testing.TB
	errors, logs []string
	fatal        string
	cleanup      []func()
}

type ended struct{}

func (r *recorder) Helper()                    {}
func (r *recorder) Name() string               { return "Recorded/test" }
func (r *recorder) Logf(f string, args ...any) { r.logs = append(r.logs, fmt.Sprintf(f, args...)) }
func (r *recorder) Errorf(f string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(f, args...))
}
func (r *recorder) Cleanup(f func()) { r.cleanup = append(r.cleanup, f) }
func (r *recorder) Fatalf(f string, args ...any) {
	r.fatal = fmt.Sprintf(f, args...)
	panic(ended{})
}

// record runs a test that may fail.
func record(test func(t bpftest.TB)) *recorder {
	r := &recorder{}
	func() {
		defer func() {
			if e := recover(); e != nil {
				if _, ok := e.(ended); !ok {
					panic(e)
				}
			}
		}()
		test(r)
	}()
	for _, f := range r.cleanup {
		f()
	}
	return r
}

type event struct {
	Pid, Ppid, Uid, OldPid uint32
	When                   uint64
	Comm                   [16]byte
	Filename               [64]byte
}

// TestTracingProgramOnKernels: tasks, arguments, records and maps on kernels whose struct
// task_struct differ.
func TestTracingProgramOnKernels(t *testing.T) {
	bpftest.Matrix(t, []string{oldKernel, newKernel, "embedded"}, func(t *testing.T, k *bpftest.Target) {
		t.Parallel()
		obj := k.Load(execObject)
		shell := obj.Task(bpftest.Fields{"pid": 800, "tgid": 800, "comm": "bash"})
		child := obj.Task(bpftest.Fields{"pid": 4242, "tgid": 4242, "comm": "curl", "real_parent": shell, "cred": bpftest.Fields{"uid.val": 1000}})
		run := bpftest.Input{Current: child, Args: bpftest.Fields{"filename": "/usr/bin/curl", "old_pid": 4242}}
		res := obj.Program("on_exec").Run(run)
		events := bpftest.Records[event](res, "events")
		require.Len(t, events, 1)
		e := events[0]
		assert.Equal(t, [4]uint32{4242, 800, 1000, 4242}, [4]uint32{e.Pid, e.Ppid, e.Uid, e.OldPid})
		assert.Equal(t, "curl", bpftest.CString(e.Comm[:]))
		assert.Equal(t, "/usr/bin/curl", bpftest.CString(e.Filename[:]))
		assert.GreaterOrEqual(t, time.Duration(e.When), time.Hour)
		assert.Less(t, e.When, uint64(obj.Now()))
		assert.Equal(t, uint64(1), bpftest.Value[uint64](obj.Map("execs_by_uid"), uint32(1000)))
		obj.Program("on_exec").Run(run)
		assert.Equal(t, map[uint32]uint64{1000: 2}, bpftest.Elements[uint32, uint64](obj.Map("execs_by_uid")))
		assert.Equal(t, 1, res.Calls["bpf_ringbuf_submit"])
		assert.Equal(t, uint64(4242), child.Uint("pid"))
		assert.Equal(t, "curl", child.Text("comm"))
		assert.Equal(t, shell.Address(), child.Uint("real_parent"))
		assert.True(t, child.Has("comm") && !child.Has("com"))
		assert.Zero(t, res.Ret)
		assert.Nil(t, res.Fault)
	})
}

// TestXDPProgram: packets, constants, maps with struct keys, per-CPU maps, verdicts.
func TestXDPProgram(t *testing.T) {
	type service struct{ Protocol, Port uint16 }
	k := bpftest.New(t, bpftest.CPUs(4))
	obj := k.Load(firewallObject, bpftest.Set("otherwise", uint32(1)))
	prog, services := obj.Program("firewall"), obj.Map("services")
	require.NoError(t, services.Put(service{6, 443}, uint32(2)))
	send := func(expr string) *bpftest.Result {
		return prog.Run(bpftest.Input{Packet: obj.Packet(expr), CPU: 3})
	}
	assert.Equal(t, "XDP_PASS", send("eth/ip/tcp(dport=443)").Verdict())
	assert.Equal(t, "XDP_DROP", send("eth/ip/tcp(dport=80)").Verdict())
	assert.Equal(t, int32(2), send("eth/ipv6").Ret)
	var counts []uint64
	decisions := obj.Map("decisions")
	require.NoError(t, decisions.Lookup(uint32(1), &counts))
	assert.Equal(t, []uint64{0, 0, 0, 1}, counts)
	require.NoError(t, decisions.Put(uint32(1), []uint64{1, 2, 3, 4}))
	assert.Equal(t, []uint64{1, 2, 3, 4}, bpftest.Value[[]uint64](decisions, uint32(1)))
	require.NoError(t, decisions.Put(uint32(1), uint64(9)))
	assert.Equal(t, []uint64{9, 9, 9, 9}, bpftest.Value[[]uint64](decisions, uint32(1)))
	assert.Equal(t, uint32(1), bpftest.Get[uint32](obj, "otherwise"))
	c := prog.Coverage()
	assert.Greater(t, c.Executed, 30)
	assert.Less(t, c.Executed, c.Reachable)
	assert.NotEmpty(t, c.Missed())
	for _, l := range c.Lines {
		if strings.Contains(l.Text, "BY_SOURCE") {
			assert.Zero(t, l.Executed, "%v", l)
		}
		if strings.Contains(l.Text, "BY_DEFAULT") {
			assert.NotZero(t, l.Executed, "%v", l)
		}
	}
}

// TestFaults: what the kernel forbids is a typed error with its place.
func TestFaults(t *testing.T) {
	obj := bpftest.New(t, bpftest.NoVerify()).Load(faultsObject)
	res, err := obj.Program("err_null_lookup").TryRun()
	var f *bpftest.Fault
	require.ErrorAs(t, err, &f)
	require.NotNil(t, res)
	assert.Same(t, f, res.Fault)
	assert.Equal(t, "null-pointer", f.Kind)
	assert.Equal(t, "err_null_lookup", f.Program)
	assert.Contains(t, f.Source, "faults.bpf.c:")
	assert.Equal(t, "sink = *v;", f.Line)
	assert.Contains(t, f.Hint, "NULL")
	assert.Contains(t, err.Error(), "sink = *v;")
	_, err = obj.Program("err_map_value_end").TryRun()
	require.ErrorAs(t, err, &f)
	assert.Equal(t, "out-of-bounds", f.Kind)
	_, err = obj.Program("ok_map_value_last").TryRun()
	assert.NoError(t, err)
	assert.False(t, errors.Is(f, bpftest.ErrRefused))
}

// TestVerifies: a program that no kernel loads fails its test, unless the test says otherwise. What
// the verifier knows to be dead does not count.
func TestVerifies(t *testing.T) {
	for name, refused := range map[string]bool{"err_null_lookup": true, "err_map_value_end": true, "ok_map_value_last": false} {
		_, err := bpftest.New(t).Load(faultsObject).Program(name).TryRun()
		assert.Equal(t, refused, errors.Is(err, bpftest.ErrRefused), "%s: %v", name, err)
	}
	dead := bpftest.New(t).Load("../testdata/objects/clang-14/deadcode.o")
	for name, refused := range map[string]bool{"by_type": false, "err_by_type": true, "unknown": false, "err_unknown": true} {
		assert.Equal(t, refused, errors.Is(dead.Program(name).Err(), bpftest.ErrRefused), name)
	}
}

// TestFailuresComeWithTheDebugger: a fault fails the test with a command line whose scenario shows
// the same fault.
func TestFailuresComeWithTheDebugger(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TMP", os.Getenv("TMPDIR"))
	var went bool
	r := record(func(t bpftest.TB) {
		obj := bpftest.New(t, bpftest.Kernel(newKernel), bpftest.Seed(7), bpftest.CPUs(3), bpftest.Boot(2*time.Hour), bpftest.NoVerify()).Load(faultsObject)
		res := obj.Program("err_null_lookup").Run()
		went = res != nil && res.Fault != nil
	})
	assert.True(t, went, "the test goes on")
	require.Len(t, r.errors, 1)
	text := r.errors[0]
	assert.Contains(t, text, "faults.bpf.c:")
	_, line, ok := strings.Cut(text, "debug it: ")
	require.True(t, ok, text)
	words := strings.Fields(line)
	assert.Equal(t, []string{"bpfrun", "debug"}, words[:2])
	assert.Contains(t, line, "-p err_null_lookup --btf ")
	fault := reproduce(t, words[4], words[2], words[8])
	assert.Equal(t, "null-pointer", fault)
}

// reproduce runs the first run of a scenario file and returns the kind of its fault.
func reproduce(t *testing.T, file, object, kernel string) string {
	t.Helper()
	f, err := scenario.ParseFile(file)
	require.NoError(t, err)
	obj, err := loader.Open(object)
	require.NoError(t, err)
	spec, err := testbtf.Load(kernel)
	require.NoError(t, err)
	r, err := scenario.Open(f, obj, loader.NewTarget(kernel, spec), scenario.Options{})
	require.NoError(t, err)
	defer r.Close()
	res, err := r.One(t.Context(), f.Runs[0])
	require.NoError(t, err)
	if res.Fault == nil {
		return ""
	}
	return res.Fault.Mem.Kind.String()
}

// TestScenarioOfARun: the scenario that a failure writes gives the program what the test gave it.
func TestScenarioOfARun(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	r := record(func(t bpftest.TB) {
		k := bpftest.New(t, bpftest.Kernel(oldKernel), bpftest.MaxInstructions(40))
		obj := k.Load(execObject, bpftest.MapSize("execs_by_uid", 2), bpftest.Attach("on_exec", "sched/sched_process_exec"))
		objects := obj.Objects("parent: !task {pid: 7, tgid: 7}\nother: !file {path: /etc/passwd}\n")
		child := obj.Task(bpftest.Fields{"pid": 4242, "tgid": 4242, "comm": "it's", "real_parent": objects["parent"], "cred": bpftest.Fields{"uid.val": 1000}})
		f := obj.File("/bin/x", bpftest.Fields{"f_pos": 5})
		s := obj.Struct("inode", bpftest.Fields{"i_ino": 9, "i_uid": bpftest.Fields{"val": 3}})
		child.Set("exit_code", 3)
		_, _ = f, s
		obj.Program("on_exec").Run(bpftest.Input{
			Current: child, Args: bpftest.Fields{"filename": "/usr/bin/it's", "old_pid": 4242}, CPU: 1,
			Helpers: map[string]bpftest.Answer{
				"bpf_ringbuf_reserve": bpftest.Returns(0).At(2), "bpf_map_update_elem": bpftest.Fails("E2BIG"), "bpf_get_prandom_u32": bpftest.Returns(1, 2),
			}, Settle: time.Second,
		})
	})
	require.Empty(t, r.fatal)
	require.Len(t, r.errors, 1)
	assert.Contains(t, r.errors[0], "budget")
	assert.Contains(t, r.errors[0], "--map-size execs_by_uid=2 --attach on_exec=sched/sched_process_exec")
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	f, err := scenario.ParseFile(files[0])
	require.NoError(t, err)
	obj, err := loader.Open(execObject)
	require.NoError(t, err)
	spec, err := testbtf.Load(oldKernel)
	require.NoError(t, err)
	run, err := scenario.Open(f, obj, loader.NewTarget("linux-5.10.262-amd64-cloud", spec), scenario.Options{})
	require.NoError(t, err, "the file is right")
	defer run.Close()
	res, err := run.One(t.Context(), f.Runs[0])
	require.NoError(t, err)
	assert.Equal(t, machine.StatusOK, res.Status)
	require.Len(t, res.Events, 1)
	assert.Contains(t, string(res.Events[0].Data), "/usr/bin/it's")
	assert.Equal(t, []byte{0x92, 0x10, 0, 0, 7, 0, 0, 0, 0xe8, 3}, res.Events[0].Data[:10])
}

// TestMistakes: what is wrong with the test itself ends it, with the name that was meant.
func TestMistakes(t *testing.T) {
	load := func(t bpftest.TB, path string) *bpftest.Object { return bpftest.New(t).Load(path) }
	for name, c := range map[string]struct {
		want string
		test func(t bpftest.TB)
	}{
		"unknown kernel":      {"3.10: no such file, and no kernel of that name", func(t bpftest.TB) { bpftest.New(t, bpftest.Kernel("3.10")) }},
		"broken kernel":       {"KernelBytes: x", func(t bpftest.TB) { bpftest.New(t, bpftest.KernelBytes("x", []byte("no types"))) }},
		"kernel is an object": {"no such file", func(t bpftest.TB) { bpftest.New(t, bpftest.Kernel("none.btf")) }},
		"several kernels":     {"names 3 kernels", func(t bpftest.TB) { bpftest.New(t, bpftest.Kernel("../testdata/btf/linux-*.btf.xz")) }},
		"cpus":                {"CPUs(0)", func(t bpftest.TB) { bpftest.New(t, bpftest.CPUs(0)) }},
		"boot":                {"Boot(0s)", func(t bpftest.TB) { bpftest.New(t, bpftest.Boot(0)) }},
		"version":             {"Version(\"new\")", func(t bpftest.TB) { bpftest.New(t, bpftest.Version("new")) }},
		"no object":           {"no such file", func(t bpftest.TB) { load(t, "none.o") }},
		"nil object":          {"Load(nil)", func(t bpftest.TB) { bpftest.New(t).Load(nil) }},
		"odd object":          {"Load(int)", func(t bpftest.TB) { bpftest.New(t).Load(5) }},
		"not an object":       {"x.o", func(t bpftest.TB) { bpftest.New(t).Load(bpftest.ELF("x.o", []byte("text"))) }},
		"unknown program":     {`no program "on_exit" (available: on_exec)`, func(t bpftest.TB) { load(t, execObject).Program("on_exit") }},
		"unknown map":         {`no map "event" (available: events)`, func(t bpftest.TB) { load(t, execObject).Map("event") }},
		"unknown variable":    {`no global variable "sinc" (available: sink)`, func(t bpftest.TB) { load(t, faultsObject).Var("sinc") }},
		"unknown constant":    {`no global variable "frosen" (available: frozen)`, func(t bpftest.TB) { bpftest.New(t).Load(faultsObject, bpftest.Set("frosen", 1)) }},
		"constant's size":     {`Set("frozen")`, func(t bpftest.TB) { bpftest.New(t).Load(faultsObject, bpftest.Set("frozen", uint32(1))) }},
		"unknown map size":    {`no map "x" to size`, func(t bpftest.TB) { bpftest.New(t).Load(execObject, bpftest.MapSize("x", 1)) }},
		"unknown type":        {"task_strukt", func(t bpftest.TB) { load(t, execObject).Struct("task_strukt", nil) }},
		"unknown field":       {"comn", func(t bpftest.TB) { load(t, execObject).Task(bpftest.Fields{"comn": "x"}) }},
		"value of a field":    {"pid", func(t bpftest.TB) { load(t, execObject).Task(bpftest.Fields{"pid": "x"}) }},
		"wrong packet":        {"packet", func(t bpftest.TB) { load(t, execObject).Packet("eth/ipx") }},
		"packet of a tracer": {"Packet: programs of type", func(t bpftest.TB) {
			load(t, execObject).Program("on_exec").Run(bpftest.Input{Packet: []byte{1}})
		}},
		"unknown argument": {`no argument "file" (available:`, func(t bpftest.TB) {
			load(t, execObject).Program("on_exec").Run(bpftest.Input{Args: bpftest.Fields{"file": "x"}})
		}},
		"unknown helper": {`no helper "bpf_ringbuf_reserv" (available: bpf_ringbuf_reserve)`, func(t bpftest.TB) {
			load(t, execObject).Program("on_exec").Run(bpftest.Input{Helpers: map[string]bpftest.Answer{"bpf_ringbuf_reserv": bpftest.Returns(0)}})
		}},
		"unknown errno": {`Fails("ENO")`, func(t bpftest.TB) {
			load(t, execObject).Program("on_exec").Run(bpftest.Input{Helpers: map[string]bpftest.Answer{"bpf_ringbuf_reserve": bpftest.Fails("ENO")}})
		}},
		"empty answer": {"want Returns", func(t bpftest.TB) {
			load(t, execObject).Program("on_exec").Run(bpftest.Input{Helpers: map[string]bpftest.Answer{"bpf_ringbuf_reserve": {}}})
		}},
		"no such CPU": {"CPU 2: the kernel has 2 CPUs", func(t bpftest.TB) { load(t, execObject).Program("on_exec").Run(bpftest.Input{CPU: 2}) }},
		"two inputs": {"2 inputs", func(t bpftest.TB) {
			load(t, execObject).Program("on_exec").Run(bpftest.Input{}, bpftest.Input{})
		}},
		"current is not a task": {"Current is a file", func(t bpftest.TB) {
			obj := load(t, execObject)
			obj.Program("on_exec").Run(bpftest.Input{Current: obj.File("/x", nil)})
		}},
		"record of another size": {"record of events has 104 bytes", func(t bpftest.TB) {
			bpftest.Records[uint32](load(t, execObject).Program("on_exec").Run(), "events")
		}},
		"records of no map": {`no map "evnts"`, func(t bpftest.TB) {
			bpftest.Records[event](load(t, execObject).Program("on_exec").Run(), "evnts")
		}},
		"objects":     {"objects:1:11", func(t bpftest.TB) { load(t, execObject).Objects("a: {type: task_strukt}") }},
		"missing key": {"key does not exist", func(t bpftest.TB) { bpftest.Value[uint64](load(t, execObject).Map("execs_by_uid"), uint32(1)) }},
		"elements": {"key of map execs_by_uid has 4 bytes, uint64 has 8", func(t bpftest.TB) {
			obj := load(t, execObject)
			_ = obj.Map("execs_by_uid").Put(uint32(1), uint64(1))
			bpftest.Elements[uint64, uint64](obj.Map("execs_by_uid"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := record(c.test)
			assert.Contains(t, r.fatal, c.want)
			assert.Contains(t, r.fatal, "bpftest: ")
			assert.Empty(t, r.errors)
		})
	}
}

func TestErrorsAreTyped(t *testing.T) {
	_, err := bpftest.Open(t, bpftest.Kernel("3.10"))
	assert.ErrorIs(t, err, bpftest.ErrUnknownKernel)
	k := bpftest.New(t)
	_, err = k.TryLoad("none.o")
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = k.TryLoad(faultsObject, bpftest.Set("nothing", 1))
	assert.ErrorIs(t, err, bpftest.ErrUnknown)
	var u *bpftest.UnknownError
	require.ErrorAs(t, err, &u)
	assert.Equal(t, "nothing", u.Name)

	obj := k.Load("../testdata/objects/clang-14/missing.o")
	new, old := obj.Program("on_exit_new"), obj.Program("on_exit_old")
	assert.NoError(t, new.Err())
	_, err = old.TryRun()
	assert.ErrorIs(t, err, bpftest.ErrRefused)
	assert.ErrorContains(t, err, "state")
	_, err = bpftest.New(t, bpftest.NoVerify()).Load("../testdata/objects/clang-14/missing.o").Program("on_exit_old").TryRun()
	assert.ErrorIs(t, err, bpftest.ErrRefused)
	var f *bpftest.Fault
	require.ErrorAs(t, err, &f)
	assert.Equal(t, "poison", f.Kind)
	assert.Contains(t, f.Hint, "state")

	obj = bpftest.New(t, bpftest.Kernel(oldKernel)).Load("../testdata/objects/clang-14/missing.o", bpftest.Without("on_exit_old"))
	err = obj.Program("on_exit_old").Err()
	assert.ErrorIs(t, err, bpftest.ErrDisabled)
	var n *bpftest.NotRunError
	require.ErrorAs(t, err, &n)
	assert.Equal(t, "on_exit_old", n.Program)
	r := record(func(tb bpftest.TB) {
		obj := bpftest.New(tb, bpftest.Kernel(oldKernel)).Load("../testdata/objects/clang-14/missing.o", bpftest.Only("on_exit_new"))
		res := obj.Program("on_exit_old").Run()
		if res == nil || res.Fault != nil {
			tb.Fatalf("want an empty result")
		}
	})
	assert.Empty(t, r.fatal)
	require.Len(t, r.errors, 1)
	assert.Contains(t, r.errors[0], "not loaded")
}

// TestAbsentHooks: programs of hooks that a kernel does not have say so before they run.
func TestAbsentHooks(t *testing.T) {
	obj := bpftest.New(t).Load("../examples/tp_btf/tp_btf.bpf.o", bpftest.Attach("on_wakeup", "sched_nothing"))
	prog := obj.Program("on_wakeup")
	assert.ErrorIs(t, prog.Err(), bpftest.ErrAbsent)
	_, err := prog.TryRun()
	assert.ErrorIs(t, err, bpftest.ErrAbsent)
}

func TestDeterminism(t *testing.T) {
	run := func(seed uint64) event {
		obj := bpftest.New(t, bpftest.Seed(seed)).Load(execObject)
		return bpftest.Records[event](obj.Program("on_exec").Run(), "events")[0]
	}
	assert.Equal(t, run(3), run(3))
	assert.NotEqual(t, run(3).Pid, run(4).Pid)
}

func TestOwnCleanup(t *testing.T) {
	r := &recorder{}
	obj := bpftest.New(r).Load(execObject)
	obj.Program("on_exec").Run()
	require.Len(t, r.cleanup, 1)
	assert.NotPanics(t, r.cleanup[0])
}

func TestTargetSaysWhatItIs(t *testing.T) {
	k := bpftest.New(t, bpftest.Kernel(oldKernel))
	assert.Equal(t, []string{"linux-5.10.262-amd64-cloud", "5.10.262", "x86"}, []string{k.Name(), k.Version(), k.Arch()})
	assert.True(t, k.AtLeast(5, 10) && k.AtLeast(4, 19) && !k.AtLeast(5, 11))
	data, err := os.ReadFile(oldKernel)
	require.NoError(t, err)
	k = bpftest.New(t, bpftest.KernelBytes("mine", data), bpftest.Version("6.1"))
	assert.Equal(t, "6.1.0", k.Version())
	obj := k.Load(execObject)
	assert.Same(t, k, obj.Target())
	assert.Equal(t, []string{"on_exec"}, obj.Programs())
}

// TestMatrixNeedsKernels: a kernel that is not there fails its own subtest only.
func TestMatrixNeedsKernels(t *testing.T) {
	var names []string
	bpftest.Matrix(t, []string{"embedded", oldKernel}, func(t *testing.T, k *bpftest.Target) { names = append(names, k.Name()) }, bpftest.Seed(9))
	assert.Len(t, names, 2)
}

// failing reads through a NULL pointer.
func failing(t bpftest.TB) {
	bpftest.New(t, bpftest.NoVerify()).Load(faultsObject).Program("err_null_lookup").Run()
}
