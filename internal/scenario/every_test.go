package scenario

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/stretchr/testify/require"
)

// oddValues are given to keys. $t is an object of the files in which they stand.
var oddValues = []string{
	"x", "0", "[]", "!list [$t]", "'x'", "SIGKILL", "-1", "[x]", "!user x", "$t", "70000", "{}", "!any", "true", "!hex 0001", "0x1ffffffffffffffff", "{x: 1}", "!percpu [1, 2]", "null", "S_IFREG",
}

// TestEveryValueInEveryPlace gives each key of a file values of all kinds, a quarter of them to those
// of forms, and compares what is said of each, or how its runs end.
func TestEveryValueInEveryPlace(t *testing.T) {
	type place struct {
		object, name, text string
		step               int
	}
	var places []place
	keys := func(object, before string, form *grammar.Form, after string) {
		for _, m := range form.Members {
			places = append(places, place{object, form.Name + "." + m.Name, before + m.Name + ": @@" + after, 4})
		}
	}
	const head = "objects: {t: {type: task_struct, pid: 7, comm: a}}\n"
	const exec, tc = "../../examples/exec/exec.bpf.o", "../../examples/tc/tc.bpf.o"
	keys(exec, "", fileForm, "\n")
	keys(exec, head+"runs: [{prog: on_exec}]\nkernel: {", kernelForm, "}\n")
	keys(exec, "runs: [{prog: on_exec}]\nkernel: {clock: {", clockForm, "}}\n")
	keys(exec, "runs: [{prog: on_exec}]\ninvariants: [{prog: on_exec, holds: 1}, {", invariantForm, "}]\n")
	keys(exec, "runs: [{prog: on_exec}]\nignore: [{kind: leak, reason: x}, {", ignoreForm, "}]\n")
	keys(exec, head+"runs: [{", runForm, "}]\n")
	keys(exec, head+"runs: [{prog: on_exec, ", runForm, "}]\n")
	keys(exec, head+"runs: [{prog: on_exec, current: $t, expect: {", expectForm, "}}]\n")
	keys(tc, head+"runs: [{prog: classify, packet: eth/ip/tcp, expect: {", expectForm, "}}]\n")
	keys(tc, head+"runs: [{prog: classify, packet: eth/ip/tcp, context: {", contextForm, "}}]\n")
	keys(exec, "runs: [{prog: on_exec}]\nkernel: {network: {devices: [{name: e, index: 3}, {", netDeviceForm, "}]}}\n")
	keys(exec, "runs: [{prog: on_exec}]\nkernel: {network: {routes: [{", routeForm, "}]}}\n")
	keys(exec, "runs: [{prog: on_exec}]\nkernel: {network: {neighbours: [{", neighbourForm, "}]}}\n")
	keys(exec, head+"runs: [{prog: on_exec, helpers: {bpf_ktime_get_ns: {", overrideForm, "}}}]\n")
	for _, tag := range makerNames() {
		m := makers()[tag]
		object := func(fields string) string {
			return "objects: {t: {type: task_struct}, o: " + tag + " {" + fields + "}}\nruns: [{prog: on_exec}]\n"
		}
		places = append(places, place{exec, tag, object(""), 1})
		for _, key := range m.own {
			places = append(places, place{exec, tag + "." + key, object(key + ": @@"), 4})
		}
	}
	for _, field := range []string{"pid", "comm", "real_parent", "cred", "start_time", "uid.val", "cpus_mask.bits", "in_execve", "children", "type", "like", ".type", "no", "no?", "no|pid"} {
		places = append(places, place{exec, "task_struct " + field, "objects: {t: {type: task_struct}, o: {type: task_struct, \"" + field + "\": @@}}\nruns: [{prog: on_exec}]\n", 1})
	}
	places = append(places, place{exec, "like", "objects: {t: {type: task_struct}, o: {like: @@}}\nruns: [{prog: on_exec}]\n", 1}, place{exec, "each", "runs: [{prog: on_exec, name: n, each: {cpu: @@}, cpu: '${cpu}'}]\n", 1})
	for _, arg := range []string{"old_pid", "pid", "filename", "ret"} {
		places = append(places, place{exec, "argument " + arg, head + "runs: [{prog: on_exec, args: {" + arg + ": @@}}]\n", 1})
	}
	for _, kind := range [][2]string{{"hash", "execs_by_uid"}, {"ring", "events"}} {
		name, m := kind[0], kind[1]
		places = append(places,
			place{exec, name + " contents", "maps: {" + m + ": @@}\nruns: [{prog: on_exec}]\n", 1}, place{exec, name + " value", "maps: {" + m + ": {1: @@}}\nruns: [{prog: on_exec}]\n", 1},
			place{exec, "expected " + name, "runs: [{prog: on_exec, expect: {maps: {" + m + ": @@}}}]\n", 1}, place{exec, "expected records of " + name, "runs: [{prog: on_exec, expect: {ringbuf: {" + m + ": @@}}}]\n", 1},
			place{exec, "expected value of " + name, "runs: [{prog: on_exec, expect: {maps: {" + m + ": {0: @@}}}}]\n", 1}, place{exec, "expected record of " + name, "runs: [{prog: on_exec, expect: {ringbuf: {" + m + ": [@@]}}}]\n", 1})
	}
	spec, err := embedded.Spec()
	require.NoError(t, err)
	target := loader.NewTarget(embedded.Name, spec)
	objects := map[string]*loader.Object{}
	for _, path := range []string{exec, tc} {
		o, err := loader.Open(path)
		require.NoError(t, err)
		objects[path] = o
	}
	var all rewrite.Outcomes
	for n, p := range places {
		for i, v := range oddValues {
			if (n+i)%p.step != 0 {
				continue
			}
			text := strings.ReplaceAll(p.text, "@@", v)
			all.Ask(text, func() string { return p.name + " " + ended(objects[p.object], target, text) })
			if text == p.text {
				break
			}
		}
	}
	all.Compare(t, filepath.Join("testdata", "places.txt"))
}

// ended says how a file's runs end: the mistakes, or all that they were expected to do.
func ended(obj *loader.Object, target *loader.Target, text string) string {
	f, err := Parse("s.yaml", []byte(text))
	if f == nil {
		return "is not parsed\t" + err.Error()
	}
	r, err := Open(f, obj, target, Options{Config: machine.Config{Seed: 1}})
	if err != nil {
		return "is refused\t" + err.Error()
	}
	defer r.Close()
	results, err := r.All(context.Background(), nil)
	if err != nil {
		return "cannot run\t" + err.Error()
	}
	said, failed := "", false
	for _, res := range results {
		failed = failed || len(res.Failed()) > 0
		said += fmt.Sprintf("%s %v %v", res.Run.Name, res.Skipped, res.Expectations)
	}
	if failed {
		return "fails\t" + said
	}
	return "passes\t" + said
}
