package scenes

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/exec"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/loader"
)

// made makes the scenario of events for an example's object.
func made(t *testing.T, object, events string) (string, Summary, error) {
	t.Helper()
	ev, err := exec.ReadEvents(strings.NewReader(events))
	require.NoError(t, err)
	obj, err := loader.Open("../../../examples/" + object)
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	linked, err := obj.Load(loader.NewTarget(embedded.Name, spec), loader.LoadOptions{})
	require.NoError(t, err)
	m, err := machine.New(linked, machine.Config{Seed: 1, CPUs: 16})
	require.NoError(t, err)
	defer m.Close()
	root, sum, err := Scenario(ev, m, "../../../examples/"+object)
	if err != nil {
		return "", sum, err
	}
	text := root.Print()
	f, err := scenario.Parse("x.yaml", text)
	require.NoError(t, err, string(text))
	r, err := scenario.Open(f, obj, loader.NewTarget(embedded.Name, spec), scenario.Options{Config: machine.Config{Seed: 1}})
	require.NoError(t, err, string(text))
	defer r.Close()
	results, err := r.All(context.Background(), nil)
	require.NoError(t, err)
	for _, res := range results {
		assert.True(t, res.Passed() && !res.Skipped && res.Err == nil && res.Result != nil && res.Result.Fault == nil, "%+v\n%s", res, text)
	}
	return string(text), sum, nil
}

// TestEventsBecomeRuns: each event runs the object's programs at its hook, with what they take of
// its values, in its task; the scenario passes.
func TestEventsBecomeRuns(t *testing.T) {
	text, sum, err := made(t, "openat/openat.bpf.o", `
task sh pid=100 comm=sh real_parent->pid=1 real_parent->tgid=1
task cat pid=101 comm=cat real_parent->pid=100 real_parent->tgid=100
task worker pid=102 tgid=101 comm=worker
syscall/openat filename=/etc/passwd flags=0 ret=3 task=@sh cpu=5 colour=red
pass 100us
repeat 2
  syscall/openat filename=$i/x$$ ret=-ENOENT task=@cat
end
syscall/socket family=2 type=526337 protocol=0 ret=4 task=@worker
syscall/connect fd=4 uservaddr=inet:10.0.0.1:443 ret=-115 task=@worker
syscall/openat filename=/var/log/x ret=7 task=@worker repeat=3
`)
	require.NoError(t, err)
	assert.Equal(t, 6, sum.Events)
	assert.Equal(t, 8, sum.Runs)
	assert.Equal(t, map[string]int{"syscall/socket": 1, "syscall/connect": 1}, sum.Unheard)
	assert.Equal(t, map[string]int{"syscall/openat colour": 1}, sum.Left)
	for _, want := range []string{
		"values: default", "cpus: 6", `filename: "/etc/passwd"`, "cpu: 5", "after: 100us", `filename: "0/x$$"`, "args: {ret: -2}", "repeat: 3",
		`path: "/etc/passwd"`, "files: [null, null, null, $f1]", "real_parent: $p100", "real_parent.pid: 1", "pid: 102\n    tgid: 101",
		"files: [null, null, null, null, $f2, null, null, $f3]", "state: TCP_SYN_SENT", `dest: "10.0.0.1"`, "dport: 443", "type: 1", "private_data: $s1_socket",
	} {
		assert.Contains(t, text, want)
	}
}

// TestTasksThatEventsNameAreObjects: an argument that is a task refers to its object, and a task
// that changes is another object.
func TestTasksThatEventsNameAreObjects(t *testing.T) {
	text, sum, err := made(t, "tp_btf/tp_btf.bpf.o", `
task a pid=1 comm=a
task b pid=2 comm=b
sched_wakeup p=@b
sched_switch prev=@a next=@b preempt=0
task b pid=2 comm=c
sched_switch prev=@b next=@a
`)
	require.NoError(t, err)
	assert.Equal(t, 3, sum.Runs)
	for _, want := range []string{"p: $p2\n", "prev: $p1", "next: $p2", "prev: $p2_2", "preempt: 0"} {
		assert.Contains(t, strings.ReplaceAll(text, "}", "\n"), want)
	}
}

func TestPacketsBecomeRuns(t *testing.T) {
	const packet = "ffffffffffff0200000000010800"
	text, sum, err := made(t, "xdp/xdp.bpf.o", "xdp packet="+packet+"\n")
	require.NoError(t, err)
	assert.Equal(t, 1, sum.Runs)
	assert.Contains(t, text, packet)
}

func TestEventsElsewhereMakeNoScenario(t *testing.T) {
	_, sum, err := made(t, "openat/openat.bpf.o", "do_unlinkat\n")
	require.ErrorIs(t, err, ErrNoRuns)
	assert.Equal(t, map[string]int{"do_unlinkat": 1}, sum.Unheard)
	_, _, err = made(t, "openat/openat.bpf.o", "auto\n")
	require.ErrorContains(t, err, "scenario new")
}
