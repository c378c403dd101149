package scenario

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = rewrite.Flag

// runText runs a scenario and returns its results by run.
func runText(t testing.TB, example, text string) map[string]*Result {
	r, err := openText(t, example, text)
	require.NoError(t, err)
	results, err := r.All(context.Background(), nil)
	require.NoError(t, err)
	out := map[string]*Result{}
	for _, res := range results {
		out[res.Run.Name] = res
	}
	return out
}

func failures(r *Result) string {
	var out []string
	for _, e := range r.Failed() {
		out = append(out, e.String())
	}
	return strings.Join(out, "\n")
}

const execObjects = `
objects:
  init: {type: task_struct, pid: 1, tgid: 1, comm: systemd, real_parent: $init}
  sh: {type: task_struct, pid: 42, tgid: 42, comm: bash, real_parent: $init, cred: {uid.val: 1000}, "__state|state": 0, no_such_field?: 1}
`

// TestTypedDiffs: a failed expectation names the member, what was wanted and what was there.
func TestTypedDiffs(t *testing.T) {
	for _, tt := range []struct{ name, expect, want string }{
		{"holds", "{ret: 0, maps: {execs_by_uid: {1000: 1}}}", ""},
		{"ret", "{ret: 1}", "ret: want 1, got 0"},
		{"ret by error", "{ret: -EPERM}", "ret: want -EPERM, got 0"},
		{"ret of 64 bits", "{ret: 'u64:0x100000000'}", "ret: want 0x100000000, got 0x0"},
		{"map value", "{maps: {execs_by_uid: {1000: 2}}}", "execs_by_uid[1000]: want 2, got 1"},
		{"no element", "{maps: {execs_by_uid: {7: 1}}}", "execs_by_uid[7]: want an element, got none"},
		{"an element too many", "{maps: {execs_by_uid: {1000: null}}}", "execs_by_uid[1000]: want no such element, got 1"},
		{"exact", "{maps: {execs_by_uid: !exact {}}}", "execs_by_uid[1000]: want no such element, got 1"},
		{"number of elements", "{maps: {execs_by_uid: 2}}", "elements of execs_by_uid: want 2, got 1"},
		{"member", "{ringbuf: {events: [{as: event, uid: 0, comm: sh}]}}", "events[0].uid: want 0, got 1000\nevents[0].comm: want \"sh\", got \"bash\""},
		{"type by size", "{ringbuf: {events: [{uid: 1}]}}", "events[0].uid: want 1, got 1000"},
		{"number of records", "{ringbuf: {events: 2}}", "records in events: want 2, got 1"},
		{"records", "{ringbuf: {events: []}}", "records in events: want 0, got 1; {pid = 42, ppid = 1, uid = 1000, old_pid = 42, when = 3480000010000, comm = \"bash\", filename = \"/usr/bin/bash\"}"},
		{"conditions", "{ringbuf: {events: [{as: event, when: !gt 0, pid: !lt 100, ppid: !ge 1, uid: !le 1000, old_pid: !ne 0, comm: !match ^b, filename: !any x}]}}", ""},
		{"condition", "{ringbuf: {events: [{as: event, pid: !gt 100}]}}", "events[0].pid: want gt 100, got 42"},
		{"match", "{ringbuf: {events: [{as: event, comm: !match ^c}]}}", "events[0].comm: want match ^c, got \"bash\""},
		{"kernel field", "{kernel: {sh.comm: zsh, sh: {pid: 42, real_parent: $init, cred: {uid.val: 0}}}}", "sh.comm: want \"zsh\", got \"bash\"\nsh.cred.uid.val: want 0, got 1000"},
		{"reference", "{kernel: {sh.real_parent: $sh}}", "sh.real_parent: want $sh, got $init"},
		{"reads", "{reads: [task_struct.real_parent.tgid, task_struct->cred->uid, task_struct.exit_code]}", "reads task_struct.exit_code: want a read of task_struct.exit_code, got none"},
		{"helpers", "{helpers: {bpf_ktime_get_ns: 1, ringbuf_submit: 2}}", "bpf_ringbuf_submit calls: want 2, got 1"},
		{"fault", "{fault: true}", "fault: want any fault, got none"},
		{"no fault", "{fault: false}", ""},
		{"status", "{status: refused}", "status: want refused, got ok"},
		{"trace", "{trace: [hello]}", "trace: want 1 lines, got 0 lines: []"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := runText(t, "exec", execObjects+"runs: [{prog: on_exec, current: $sh, expect: "+tt.expect+"}]\n")["on_exec"]
			assert.Equal(t, tt.want, failures(res))
			for _, e := range res.Failed() {
				assert.Equal(t, 5, e.Line, e.What)
			}
		})
	}
}

// TestRunsStartFresh, but those of a sequence share a machine.
func TestRunsStartFresh(t *testing.T) {
	text := execObjects + `
runs:
- {name: a, prog: on_exec, current: $sh, expect: {maps: {execs_by_uid: {1000: 1}}}}
- {name: b, prog: on_exec, current: $sh, expect: {maps: {execs_by_uid: {1000: 1}}}}
- {name: c, prog: on_exec, current: $sh, expect: {maps: {execs_by_uid: {1000: 1}}}}
- {name: d, prog: on_exec, current: $sh, repeat: 3, expect: {maps: {execs_by_uid: {1000: 4}}, ringbuf: {events: 3}}}
- {name: e, prog: on_exec, current: $sh, after: 1h, expect: {maps: {execs_by_uid: {1000: 5}}, ringbuf: {events: [{as: event, when: !gt 7_000_000_000_000}]}}}
- {name: f, prog: on_exec, expect: {maps: {execs_by_uid: !exact {7700: 1}}}}
sequence: [c, d, e]
`
	for name, res := range runText(t, "exec", text) {
		assert.Empty(t, failures(res), name)
	}
}

// TestHelperAnswers replaces what helpers return.
func TestHelperAnswers(t *testing.T) {
	text := execObjects + `
runs:
- {name: value, prog: on_exec, current: $sh, helpers: {bpf_ktime_get_ns: 17}, expect: {ringbuf: {events: [{when: 17}]}}}
- {name: full, prog: on_exec, current: $sh, helpers: {bpf_ringbuf_reserve: {fail_at: 1}}, expect: {ringbuf: {events: []}, helpers: {bpf_ringbuf_submit: 0}}}
- {name: third read fails, prog: on_exec, current: $sh, helpers: {bpf_probe_read_kernel: {fail_at: 3, errno: EFAULT}}, expect: {ringbuf: {events: [{uid: 1000, pid: 0}]}}}
- {name: every update fails, prog: on_exec, current: $sh, helpers: {bpf_map_update_elem: -ENOMEM}, expect: {maps: {execs_by_uid: !exact {}}}}
`
	for name, res := range runText(t, "exec", text) {
		assert.Empty(t, failures(res), name)
	}
}

// TestNeverSet: a field nobody set reads 0 and says so; strict makes that a failure.
func TestNeverSet(t *testing.T) {
	text := "objects: {sh: {type: task_struct, pid: 42}}\nruns: [{prog: on_exec, current: $sh}]\n"
	res := runText(t, "exec", text)["on_exec"]
	assert.True(t, res.Passed())
	assert.Contains(t, res.Warnings, "task_struct.tgid of sh was never set: read as 0")
	var kinds []string
	for _, f := range res.Validation.Findings {
		kinds = append(kinds, string(f.Kind))
	}
	assert.Contains(t, kinds, string(machine.NeverSet))

	f, err := Parse("s.yaml", []byte(text))
	require.NoError(t, err)
	obj, err := loader.Open("../../examples/exec/exec.bpf.o")
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	r, err := Open(f, obj, loader.NewTarget(embedded.Name, spec), Options{Config: machine.Config{Seed: 1, Strict: true}})
	require.NoError(t, err)
	defer r.Close()
	results, err := r.All(context.Background(), nil)
	require.NoError(t, err)
	assert.Contains(t, failures(results[0]), "task_struct.tgid of sh was never set")
}

// TestGlobals are set before loading, where constant propagation sees read-only ones.
func TestGlobals(t *testing.T) {
	text := `
globals: {target_tgid: 42, limit: 1, last_comm: nobody, last: {nr: 7}, by_number: [1, 2]}
objects: {sh: {type: task_struct, pid: 42, tgid: 42, comm: bash}}
runs:
- {name: counted, prog: on_sys_enter, current: $sh, args: {id: 1}, expect: {globals: {total: 1, "by_number[1]": 3, last: {nr: 1, tgid: 42}, last_comm: bash}}}
- {name: other, prog: on_sys_enter, expect: {globals: {total: 0, last.nr: 7, last_comm: nobody, by_number: [1, 2, 0]}}}
- {name: limit, prog: on_sys_enter, current: $sh, args: {id: 1}, repeat: 2, expect: {globals: {total: 2}}}
`
	res := runText(t, "globals", text)
	assert.Empty(t, failures(res["counted"]))
	assert.Empty(t, failures(res["other"]))
	assert.Equal(t, "total: want 2, got 1", failures(res["limit"]))
}

// TestJSON: a scenario may be written as JSON.
func TestJSON(t *testing.T) {
	doc := map[string]any{
		"objects": map[string]any{"sh": map[string]any{"type": "task_struct", "tgid": 42, "comm": "bash"}},
		"runs":    []any{map[string]any{"prog": "on_exec", "current": "$sh", "expect": map[string]any{"ringbuf": map[string]any{"events": []any{map[string]any{"pid": 42, "comm": "bash"}}}}}},
	}
	for _, indent := range []string{"", "  "} {
		b, err := json.MarshalIndent(doc, "", indent)
		require.NoError(t, err)
		assert.Empty(t, failures(runText(t, "exec", string(b))["on_exec"]))
	}
}

// TestSkeletons: what scenario new writes runs and holds.
func TestSkeletons(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	for _, example := range []string{"exec", "fentry", "globals", "guarded", "loop", "lsm", "tc", "tp_btf", "unlink", "xdp"} {
		t.Run(example, func(t *testing.T) {
			obj, err := loader.Open("../../examples/" + example + "/" + example + ".bpf.o")
			require.NoError(t, err)
			l, err := obj.Load(loader.NewTarget(embedded.Name, spec), loader.LoadOptions{})
			require.NoError(t, err)
			var b strings.Builder
			require.NoError(t, Skeleton(context.Background(), &b, l, l.Object.Name, nil, Options{Config: machine.Config{Seed: 1}}))
			for name, res := range runText(t, example, b.String()) {
				assert.Empty(t, failures(res), name)
			}
		})
	}
}

// TestSkeletonNamesKeys: elements under the address of an object are named by the object, which
// holds on other kernels too.
func TestSkeletonNamesKeys(t *testing.T) {
	const path = "../../testdata/objects/clang-14/bykey.o"
	obj, err := loader.Open(path)
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	l, err := obj.Load(loader.NewTarget(embedded.Name, spec), loader.LoadOptions{})
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, Skeleton(context.Background(), &b, l, l.Object.Name, nil, Options{Config: machine.Config{Seed: 1}}))
	assert.Contains(t, b.String(), "        $p: {at: 3480000001000, pid: 0}\n")
	assert.Contains(t, b.String(), "        $p: {at: 3480000001000, pid: 6704}\n")
	assert.NotContains(t, b.String(), "not with these fields alone")
	assert.NotContains(t, b.String(), "not read")
	f, err := Parse("bykey.yaml", []byte(b.String()))
	require.NoError(t, err)
	for _, kernel := range []string{"linux-5.10.262-amd64-cloud", "linux-7.2.13-amd64"} {
		spec, err := testbtf.Load("../../testdata/btf/" + kernel + ".btf.xz")
		require.NoError(t, err)
		r, err := Open(f, obj, loader.NewTarget(kernel, spec), Options{Config: machine.Config{Seed: 1}})
		require.NoError(t, err)
		results, err := r.All(context.Background(), nil)
		require.NoError(t, err)
		require.Len(t, results, 2)
		for _, res := range results {
			assert.Empty(t, failures(res), kernel)
		}
		r.Close()
	}
}

// TestReference: the reference in docs/ is the one the tables make.
func TestReference(t *testing.T) {
	const path = "../../docs/scenarios.md"
	if *update {
		require.NoError(t, os.WriteFile(path, Reference(), 0o644))
	}
	have, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(Reference()), string(have), "stale: go test ./internal/scenario -run Reference -update")
}

// Each form has an example, which is right and has a key of the form.
func TestFormsHaveExamples(t *testing.T) {
	assert.Len(t, examples, len(forms()))
	for _, f := range forms() {
		text := exampleOf(f.Name)
		if !assert.NotEmpty(t, text, f.Name) {
			continue
		}
		assert.True(t, slices.ContainsFunc(f.Members, func(m grammar.Member) bool { return strings.Contains(text, m.Name+":") }), "the example of %s has none of its keys", f.Name)
		if !strings.Contains(text, "runs:") && !strings.Contains(text, "race:") {
			text += "runs: [{prog: p}]\n"
		}
		_, err := Parse("example.yaml", []byte(text))
		assert.NoError(t, err, f.Name)
	}
}

// TestSchema: the schema in the tree is the one the tables make.
func TestSchema(t *testing.T) {
	const path = "testdata/scenario.schema.json"
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, Schema(), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(Schema()), "stale: go test ./internal/scenario -run Schema -update")
	var doc struct {
		Defs map[string]struct {
			Properties map[string]any `json:"properties"`
		} `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(want, &doc))
	for _, f := range []*grammar.Form{kernelForm, clockForm, runForm, overrideForm, expectForm} {
		for _, m := range f.Names() {
			assert.Contains(t, doc.Defs[f.Name].Properties, m)
		}
	}
}
