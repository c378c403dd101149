package scenario

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// openText opens a scenario for an example on the embedded kernel.
func openText(t testing.TB, example, text string) (*Runner, error) {
	return openScenario(t, "../../examples/"+example+"/"+example+".bpf.o", text)
}

// openScenario opens a scenario for an object on the embedded kernel.
func openScenario(t testing.TB, path, text string) (*Runner, error) {
	return openWith(t, path, text, machine.Config{Seed: 1})
}

func openWith(t testing.TB, path, text string, cfg machine.Config) (*Runner, error) {
	f, err := Parse("s.yaml", []byte(text))
	if f == nil {
		return nil, err
	}
	obj, err := loader.Open(path)
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	r, err := Open(f, obj, loader.NewTarget(embedded.Name, spec), Options{Config: cfg})
	if err == nil {
		t.Cleanup(r.Close)
	}
	return r, err
}

// TestMistakes: every mistake in a file is one error with its place, found before anything runs.
func TestMistakes(t *testing.T) {
	const run = "\nruns: [{prog: on_exec}]\n"
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "s.yaml:1:1: the file is empty"},
		{"not YAML", "runs: [", "s.yaml:1:"},
		{"a binary file", "\x7fELF\x02\x01\x01\x00", "s.yaml:1:1: not a text file: byte 7 is 0"},
		{"a long unknown key", strings.Repeat("k", 5000) + ": 1\n", `s.yaml:1:1: unknown key of scenario "` + strings.Repeat("k", 59) + "..."},
		{"two documents", "runs: []\n---\nruns: []\n", "s.yaml:3:"},
		{"a list", "- a\n", "s.yaml:1:1: scenario: want a mapping with"},
		{"unknown key", "obejcts: {}" + run, `s.yaml:1:1: unknown key of scenario "obejcts" (nearest: objects)`},
		{"no runs", "objects: {}\n", `s.yaml:1:1: scenario needs "runs"`},
		{"no program", "runs: [{name: a}]\n", `s.yaml:1:8: run needs "prog"`},
		{"duplicate key", "globals: {}\nglobals: {}" + run, `s.yaml:2:1: "globals" was already set at line 1`},
		{"the same key twice", "maps: {execs_by_uid: {1: 5, 0x1: 6}}" + run, "s.yaml:1:29: key 0x1 of execs_by_uid was already set at line 1, as 1"},
		{"elements of what is not an iterator", "runs: [{prog: on_exec, elements: []}]\n", "s.yaml:1:34: elements: tracepoint/sched/sched_process_exec is not an iterator"},
		{"a map for what is not an iterator", "runs: [{prog: on_exec, map: execs_by_uid}]\n", "s.yaml:1:29: map: tracepoint/sched/sched_process_exec is not an iterator"},
		{"an unknown architecture", "arch: x68" + run, `s.yaml:1:7: unknown architecture "x68" (nearest: x86)`},
		{"output that is no text", "runs: [{prog: on_exec, expect: {output: [1]}}]\n", "s.yaml:1:41: output: want a string"},
		{"duplicate object", "objects:\n  a: {type: task_struct}\n  a: {type: file}" + run, `s.yaml:3:3: "a" was already set at line 2`},
		{"duplicate field", "objects:\n  a: {type: task_struct, pid: 1, pid: 2}" + run, `s.yaml:2:34: "pid" was already set at line 2`},
		{"duplicate run", "runs:\n- {prog: on_exec}\n- {prog: on_exec}\n", `s.yaml:3:3: run "on_exec" is already at line 2`},
		{"unknown anchor", "objects: {a: &x {type: file}, b: *y}" + run, `s.yaml:1:34: unknown anchor "y" (nearest: x)`},
		{"an anchor in itself", "objects: {a: &x {type: file, b: *x}}" + run, `s.yaml:1:33: unknown anchor "x"`},
		{"a merge of a text", "objects: {a: {<<: x}}" + run, `s.yaml:1:19: <<: want a mapping or a list of mappings, such as *name, got "x"`},
		{"a bomb", bomb() + run, "s.yaml:"},
		{"a default of what is not a run", "defaults: {nome: x}" + run, `s.yaml:1:12: unknown key of defaults "nome"`},
		{"an unknown parameter", "runs: [{prog: on_exec, each: [{cpu: 0}], cpu: '${cpus}'}]\n", `s.yaml:1:47: unknown parameter "cpus" (nearest: cpu)`},
		{"an unused parameter", "runs: [{prog: on_exec, each: [{cpu: 0}]}]\n", `s.yaml:1:32: parameter cpu is not used in the run`},
		{"no parameters", "runs: [{prog: on_exec, each: []}]\n", `s.yaml:1:30: each: want a list of parameters`},
		{"no lists of parameters", "runs: [{prog: on_exec, each: {}}]\n", `s.yaml:1:30: each: want a list of parameters`},
		{"a list in a text", "runs: [{prog: on_exec, each: [{a: [1]}], name: 'x ${a}'}]\n", `s.yaml:1:48: ${a} inside a string: the parameter is a list`},
		{"too many combinations", "runs: [{prog: on_exec, each: {" + manyLists() + "}}]\n", `s.yaml:1:`},
		{"too long a block", "globals:\n" + strings.Repeat("  a: 1\n", 30000) + run, `s.yaml:20002:1: more than 20000 keys`},
		{"unknown program", "runs: [{prog: on_exex}]\n", `s.yaml:1:15: unknown program "on_exex" (nearest: on_exec)`},
		{"unknown type", "objects: {a: {type: task_strct}}" + run, `s.yaml:1:21: unknown type "task_strct" (nearest: task_struct`},
		{"no type", "objects: {a: {pid: 1}}" + run, "s.yaml:1:14: object a needs a type"},
		{"unknown field", "objects:\n  a: {type: task_struct, pidd: 1}" + run, `s.yaml:2:26: no field "pidd" in task_struct (nearest: pid`},
		{"unknown nested field", "objects:\n  a:\n    type: task_struct\n    cred: {uid.vall: 1}" + run, `s.yaml:4:12: no field "vall" in`},
		{"unknown alternatives", "objects:\n  a: {type: task_struct, \"foo|bar\": 1}" + run, `s.yaml:2:26: no field "foo" in task_struct`},
		{"wrong type of value", "objects: {a: {type: task_struct, pid: many}}" + run, `s.yaml:1:39: pid (pid_t) cannot be "many"`},
		{"string for a number", "objects: {a: {type: task_struct, pid: 'x'}}" + run, `s.yaml:1:39: pid`},
		{"list for a number", "objects: {a: {type: task_struct, pid: [1]}}" + run, "s.yaml:1:39:"},
		{"too long a string", "objects: {a: {type: task_struct, comm: 'a name that is too long'}}" + run, "s.yaml:1:40: comm"},
		{"overflow", "objects: {a: {type: task_struct, pid: 0x1ffffffff}}" + run, "s.yaml:1:39: pid (pid_t) cannot be 8589934591: out of range"},
		{"overflow of 64 bits", "objects: {a: {type: task_struct, start_time: 0x1ffffffffffffffff}}" + run, "s.yaml:1:46:"},
		{"too many elements", "objects: {a: {type: task_struct, comm: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]}}" + run, "s.yaml:1:40: comm"},
		{"unknown object", "objects: {a: {type: task_struct, real_parent: $b}}" + run, `s.yaml:1:47: unknown object "b"`},
		{"cycle of aliases", "objects:\n  a: $b\n  b: $a" + run, "s.yaml:3:6: cyclic reference: object a is defined by itself"},
		{"cycle of likes", "objects:\n  a: {like: $b}\n  b: {like: $c}\n  c: {like: $a}" + run, "s.yaml:4:13: cyclic reference"},
		{"itself", "objects: {a: $a}" + run, "s.yaml:1:14: cyclic reference"},
		{"unknown builder", "objects: {a: !fiel {path: /x}}" + run, `s.yaml:1:14: unknown builder "!fiel" (nearest: !file)`},
		{"builder's value", "objects: {a: !file {path: relative}}" + run, "s.yaml:1:26: path: want an absolute path"},
		{"bad hex", "objects: {a: {type: task_struct, comm: !hex xyz}}" + run, "s.yaml:1:40: !hex: \"xyz\" is not a string of hex digits"},
		{"unknown map", "maps: {execs_by_id: {1: 1}}" + run, `s.yaml:1:8: unknown map "execs_by_id" (nearest: execs_by_uid)`},
		{"map key", "maps: {execs_by_uid: {bash: 1}}" + run, "s.yaml:1:23: key of execs_by_uid"},
		{"map value", "maps: {execs_by_uid: {1: {a: 1}}}" + run, "s.yaml:1:27:"},
		{"map value overflow", "maps: {execs_by_uid: {0x100000000: 1}}" + run, "s.yaml:1:23:"},
		{"unknown global", "globals: {target: 1}" + run, `s.yaml:1:11: unknown global variable "target"`},
		{"unknown current", "runs: [{prog: on_exec, current: $sh}]\n", `s.yaml:1:33: unknown object "sh"`},
		{"current of another type", "objects: {f: {type: file}}\nruns: [{prog: on_exec, current: $f}]\n", "s.yaml:2:33: current: $f is a file, want a task_struct"},
		{"cpu", "runs: [{prog: on_exec, cpu: 7}]\n", "s.yaml:1:29: cpu 7: the machine has 2 CPUs, numbered from 0"},
		{"unknown argument", "runs: [{prog: on_exec, args: {flename: x}}]\n", `s.yaml:1:31: unknown argument of tracepoint/sched/sched_process_exec "flename"`},
		{"argument's value", "runs: [{prog: on_exec, args: {old_pid: [1]}}]\n", "s.yaml:1:40:"},
		{"unknown helper", "runs: [{prog: on_exec, helpers: {bpf_ktime_get_nss: 1}}]\n", `s.yaml:1:34: unknown helper "bpf_ktime_get_nss" (nearest: bpf_ktime_get_ns`},
		{"helper's error", "runs: [{prog: on_exec, helpers: {bpf_ktime_get_ns: {errno: EWHAT}}}]\n", "s.yaml:1:60: bpf_ktime_get_ns: want an error such as EFAULT"},
		{"siblings elsewhere", "runs: [{sched: {siblings: far, tasks: {a: {do: [wait]}}}}]\n", `s.yaml:1:27: unknown siblings "far" (available: adjacent, apart)`},
		{"too many tasks of a schedule", "runs: [{sched: {tasks: {a: {count: 16384, do: [wait]}, b: {do: [wait]}}}}]\n", "s.yaml:1:59: task b: a schedule has at most 16384 tasks"},
		{"duration", "runs: [{prog: on_exec, after: soon}]\n", "s.yaml:1:31: after: want a duration"},
		{"missing packet file", "runs: [{prog: on_exec, packet: '@none.bin'}]\n", "s.yaml:1:32: packet: "},
		{"unknown run", "runs: [{prog: on_exec}]\nsequence: [on_exit]\n", `s.yaml:2:12: unknown run "on_exit"`},
		{"unknown expectation", "runs: [{prog: on_exec, expect: {rett: 0}}]\n", `s.yaml:1:33: unknown key of expect "rett" (nearest: ret`},
		{"expected ret", "runs: [{prog: on_exec, expect: {ret: XDP_PAS}}]\n", "s.yaml:1:38: ret:"},
		{"expected map", "runs: [{prog: on_exec, expect: {maps: {exec: {}}}}]\n", `s.yaml:1:40: unknown map "exec"`},
		{"expected value", "runs: [{prog: on_exec, expect: {maps: {execs_by_uid: {1: many}}}}]\n", "s.yaml:1:58:"},
		{"expected member", "runs: [{prog: on_exec, expect: {ringbuf: {events: [{as: event, ppidd: 1}]}}}]\n", "s.yaml:1:64: \"ppidd\" in struct event"},
		{"expected type", "runs: [{prog: on_exec, expect: {ringbuf: {events: [{as: evnt, ppid: 1}]}}}]\n", `s.yaml:1:57: unknown type "evnt" (nearest: event)`},
		{"not a ring buffer", "runs: [{prog: on_exec, expect: {ringbuf: {execs_by_uid: 1}}}]\n", "s.yaml:1:43: ringbuf: map execs_by_uid is of type hash"},
		{"expected object", "runs: [{prog: on_exec, expect: {kernel: {sh.pid: 1}}}]\n", `s.yaml:1:42: unknown object "sh"`},
		{"expected field", "objects: {sh: {type: task_struct}}\nruns: [{prog: on_exec, expect: {kernel: {sh.pidd: 1}}}]\n", `s.yaml:2:42: no field "pidd" in task_struct`},
		{"expected read", "runs: [{prog: on_exec, expect: {reads: [task_struct.real_parnt.tgid]}}]\n", "s.yaml:1:41: reads task_struct.real_parnt.tgid"},
		{"expected read's type", "runs: [{prog: on_exec, expect: {reads: [task_strct.pid]}}]\n", `s.yaml:1:41: unknown type "task_strct"`},
		{"expression", "runs: [{prog: on_exec, expect: {ringbuf: {events: [{as: event, comm: !match '['}]}}}]\n", "s.yaml:1:70: !match:"},
		{"too deep", "objects: {a: " + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}" + run, "s.yaml:1:"},
		{"far too deep", strings.Repeat("[", 5000), "s.yaml:1:257: nested more than"},
		{"unknown ksym", "kernel: {ksyms: {jiffie: 1}}" + run, `s.yaml:1:18: unknown kernel variable "jiffie"`},
		{"cpus", "kernel: {cpus: 0}" + run, "s.yaml:1:16: cpus: 0 is outside the range 1 to 1024"},
		{"a relative path", "kernel: {xattrs: {bin: {user.a: b}}}" + run, `s.yaml:1:19: xattrs: "bin" is no absolute path`},
		{"attributes that are none", "kernel: {xattrs: {/bin: [user.a]}}" + run, "s.yaml:1:25: xattrs of /bin: want a mapping"},
		{"an attribute without a value", "kernel: {xattrs: {/bin: {user.a: [b]}}}" + run, "s.yaml:1:34: xattrs: want a text"},
		{"a reference in a global", "globals: {limit: $a}\nruns: [{prog: on_sys_enter}]\n", "s.yaml:1:18: limit: global variables are set before loading"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			example := "exec"
			if strings.Contains(tt.text, "on_sys_enter") {
				example = "globals"
			}
			_, err := openText(t, example, tt.text)
			var e *grammar.Error
			require.ErrorAs(t, err, &e)
			assert.True(t, strings.HasPrefix(err.Error(), tt.want), "got  %s\nwant %s", err, tt.want)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

// bomb is a file of a few lines that means some 10^9 values.
func bomb() string {
	text := "globals:\n  a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
	for c := 'b'; c < 'k'; c++ {
		p := string(c - 1)
		text += "  " + string(c) + ": &" + string(c) + " [*" + strings.Join(slices.Repeat([]string{p}, 10), ", *") + "]\n"
	}
	return text
}

func manyLists() string {
	var lists []string
	for c := 'a'; c < 'j'; c++ {
		lists = append(lists, string(c)+": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]")
	}
	return strings.Join(lists, ", ")
}

// TestAllMistakesAtOnce: a file's mistakes are told together, in its order, without those that only follow from others.
func TestAllMistakesAtOnce(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"of the form", "obejcts: {}\nkernel: {cpus: 0}\nruns:\n- {prog: on_exec, cpu: x, repeat: 0, expect: {rett: 0, status: okay}}\n- {name: b}\n- {prog: on_exec, aftr: 1s}\n", []string{
			`1:1: unknown key of scenario "obejcts"`, "2:16: cpus: 0 is outside", `4:24: cpu: want a number`, "4:35: repeat: 0 is outside",
			`4:47: unknown key of expect "rett"`, `4:64: unknown status "okay"`, `5:3: run needs "prog"`, `6:3: run "on_exec" is already at line 4`, `6:19: unknown key of run "aftr"`,
		}},
		{"runs without names", "runs:\n- tcp: {}\n- tcp: {}\n", []string{"2:8: the object has no congestion control", "3:3: a run without a name is already at line 2: give this one a name"}},
		{"of every phase", `objects:
  a: {type: task_struct
  b: {type: task_strct, real_parent: $a}
  c: {type: task_struct, pidd: 1}
  f: !file {path: x, mode: y}
maps: {execs: {1: 1}, maps: 1, maps: 2}
runs:
  - prog: on_exec
    name: [a
  - {prog: on_exec, name: b, current: $a, cpu: x, args: {flename: 1, old_pid: q}, helpers: {bpf_nope: 1, bpf_ktime_get_ns: y}}
  - {prog: on_exex, name: c}
  - {prog: on_exec, name: d, current: $b, expect: {ret: z, status: okay, ringbuf: {events: [{as: event, pid: x, foo: y}, {as: evnt}]}, maps: {execs_by_uid: {1: x, y: 1}}}}
kernel: ]
`, []string{
			"3:3: ',' or '}' must be specified", `3:13: unknown type "task_strct"`, `4:26: no field "pidd"`, "5:18: path: want an absolute path", `5:27: mode: want a number`,
			`6:8: unknown map "execs"`, `6:23: unknown map "maps"`, `6:32: "maps" was already set at line 6`, "10:3: ',' or ']' must be specified",
			`10:48: cpu: want a number`, `10:58: unknown argument of tracepoint/sched/sched_process_exec "flename"`, "10:79: argument old_pid", `10:93: unknown helper "bpf_nope"`,
			`10:124: bpf_ktime_get_ns: want a number`, `11:12: unknown program "on_exex"`, "12:57: ret:", `12:68: unknown status "okay"`,
			"12:110: pid", `12:113: "foo" in struct event`, `12:127: unknown type "evnt"`, "12:161: ", "12:164: key of execs_by_uid", "13:9: could not find '['",
		}},
		{"of programs", "runs: [{prog: a}, {prog: b}]\n", []string{`1:15: unknown program "a"`, `1:26: unknown program "b"`}},
		{"of names and values", `objects:
  a: {type: task_strct}
  b: {type: task_struct, pidd: 1, comm: [300], real_parent: $a}
maps: {execs_by_id: {1: 1}, execs_by_uid: {x: 1, 2: y}}
runs:
- {prog: on_exec, current: $a}
- {name: b, prog: on_exec, args: {flename: x, pidd: 2}, expect: {ret: x, maps: {exec: {}}, ringbuf: {events: [{as: evnt}]}, kernel: {c.pid: 1, b.pidd: 2}}}
`, []string{
			`2:13: unknown type "task_strct"`, `3:26: no field "pidd"`, "3:41: comm", `4:8: unknown map "execs_by_id"`, "4:44: key of execs_by_uid", "4:53:",
			`7:35: unknown argument of tracepoint/sched/sched_process_exec "flename"`, `7:47: unknown argument of tracepoint/sched/sched_process_exec "pidd"`, "7:71: ret:",
			`7:81: unknown map "exec"`, `7:116: unknown type "evnt"`, `7:134: unknown object "c"`, `7:144: no field "pidd"`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := openText(t, "exec", tt.text)
			var all grammar.Errors
			require.ErrorAs(t, err, &all)
			lines := strings.Split(err.Error(), "\n")
			require.Len(t, lines, len(tt.want), "%s", err)
			for i, want := range tt.want {
				assert.True(t, strings.HasPrefix(lines[i], "s.yaml:"+want), "got  %s\nwant %s", lines[i], want)
			}
		})
	}
	// What is not YAML takes no more than its own entry with it, and what refers to that is not told.
	for text, want := range map[string]string{
		"runs:\n- prog: on_exec\n  args: {a: [1}\n- {prog: on_exec, cpu: x}\n":                         "3:15 4:24",
		"runs:\n- prog: on_exec\n  args: {a: 1\n- {prog: on_exec, cpu: x}\n":                           "4:1 4:24",
		"runs:\n- prog: on_exec\n  name: \"abc\n- {prog: on_exec, cpu: x}\n":                           "3:9 4:24",
		"runs:\n- prog: on_exec\n   name: abc\n- {prog: on_exec, cpu: x}\n":                            "2:9 4:24",
		"runs:\n- prog: on_exec\n\tname: abc\n- {prog: on_exec, cpu: x}\n":                             "3:1 4:24",
		"runs:\n- prog: on_exec\n  name: a: b\n- {prog: on_exec, name: c, cpu: x}\nsequence: [a, d]\n": "3:9 4:33 5:15",
		"runs:\n- prog: on_exec\n  args: {a: [1}\n":                                                    "3:15",
		"kernel: ]\nruns: [{prog: on_exec}]\n":                                                         "1:9",
		"objects:\n  a: {type: }}\nruns: [{prog: on_exec, current: $a, cpu: x}]\n":                     "2:14 3:42",
	} {
		_, err := openText(t, "exec", text)
		require.Error(t, err, text)
		var places []string
		for line := range strings.SplitSeq(err.Error(), "\n") {
			places = append(places, strings.Join(strings.SplitN(line, ":", 4)[1:3], ":"))
		}
		assert.Equal(t, want, strings.Join(places, " "), "%s\n%v", text, err)
	}
	many := "runs:\n" + strings.Repeat("- {prog: x, nope: 1}\n", 200)
	_, err := Parse("s.yaml", []byte(many))
	assert.Len(t, strings.Split(err.Error(), "\n"), grammar.MostErrors+1)
	assert.ErrorContains(t, err, "more mistakes")
}

// TestMissingFiles: what a scenario names and is not there has its place in the file.
func TestMissingFiles(t *testing.T) {
	_, err := ParseFile(filepath.Join(t.TempDir(), "none.yaml"))
	require.ErrorIs(t, err, os.ErrNotExist)
	f, err := Parse(filepath.Join("dir", "a.b.yaml"), []byte("runs: []\n"))
	require.NoError(t, err)
	assert.Equal(t, filepath.Join("dir", "a.b.bpf.o"), f.Object, "the object beside the file")
	f, err = Parse(filepath.Join("dir", "a.yaml"), []byte("object: ../x.o\nruns: []\n"))
	require.NoError(t, err)
	assert.Equal(t, "x.o", f.Object)
	assert.Equal(t, "dir/a.yaml:1:9", filepath.ToSlash(f.ObjectPos.String()))
}

// TestMistakesInWhatProgramTypesTake: what a program of that type would never see is not passed over.
func TestMistakesInWhatProgramTypesTake(t *testing.T) {
	for _, tt := range []struct{ name, example, text, want string }{
		{"a cookie", "sockops", "runs: [{prog: connections, cookie: 7}]\n", "s.yaml:1:36: cookie: programs of type sock_ops have no attach cookie"},
		{"a map for an iterator of tasks", "iter", "runs: [{prog: dump_task, map: bytes_by_pid}]\n", "s.yaml:1:31: map: iter/task does not visit map elements"},
		{"a level of 64 bits", "sockopt", "runs: [{prog: set, context: {sockopt: {level: 99999999999}}}]\n", "s.yaml:1:47: level: 99999999999 does not fit into 32 bits"},
		{"a major number", "device", "runs: [{prog: allow, context: {device: {major: -1}}}]\n", "s.yaml:1:48: major: want a number below 4096"},
		{"a minor number", "device", "runs: [{prog: allow, context: {device: {minor: 0x100000}}}]\n", "s.yaml:1:48: minor: want a number below 1048576"},
		{"calls of what is not a helper", "tc", "runs: [{prog: classify, expect: {helpers: {skb_stroe_bytes: 0}}}]\n", `s.yaml:1:44: unknown helper "bpf_skb_stroe_bytes" (nearest: bpf_skb_store_bytes`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := openText(t, tt.example, tt.text)
			var e *grammar.Error
			require.ErrorAs(t, err, &e)
			assert.True(t, strings.HasPrefix(err.Error(), tt.want), "got  %s\nwant %s", err, tt.want)
		})
	}
}

func TestACaptureWithoutPacketsIsAMistake(t *testing.T) {
	header := []byte{0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0}
	name := filepath.Join(t.TempDir(), "none.pcap")
	require.NoError(t, os.WriteFile(name, header, 0o644))
	r, err := openText(t, "tc", "runs: [{prog: classify, pcap: "+name+", expect: {ret: TC_ACT_OK}}]\n")
	require.NoError(t, err)
	_, err = r.All(t.Context(), func(*Result) {})
	require.ErrorContains(t, err, "has no packets")
}

// TestOtherFiles: a file of another kind is called that, in one line. What has a key of a scenario is one, whatever its name.
func TestOtherFiles(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"README.md": {"# Title\n\n| a | b |\n|---|---|\n`code`\n", "README.md:1:1: not a scenario file, which is YAML with the keys description, object,"},
		"Makefile":  {"all: x\n\tcc x\n", "Makefile:1:1: not a scenario file"},
		"notes.txt": {"hello\n", "notes.txt:1:1: not a scenario file"},
		"empty":     {"", "empty:1:1: not a scenario file"},
		"tests":     {"object: x.o\nruns: [\n", "tests:2:7: "},
		"s.yaml":    {"hello\n", "s.yaml:1:1: scenario: want a mapping"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
			_, err := ParseFile(path)
			require.ErrorContains(t, err, c.want)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}
