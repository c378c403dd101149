package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// checker validates JSON by the published schema, more strictly than it says: a member that the
// schema does not have is a failure, as the schema would be after the documents.
type checker struct {
	defs map[string]any
	bad  []string
}

func (c *checker) check(path string, schema map[string]any, v any) {
	if ref, ok := schema["$ref"].(string); ok {
		name := strings.ReplaceAll(strings.TrimPrefix(ref, "#/$defs/"), "%20", " ")
		def, ok := c.defs[name].(map[string]any)
		if !ok {
			c.bad = append(c.bad, path+": no definition "+name)
			return
		}
		c.check(path, def, v)
		return
	}
	if alts, ok := schema["anyOf"].([]any); ok {
		for _, a := range alts {
			try := checker{defs: c.defs}
			if try.check(path, a.(map[string]any), v); len(try.bad) == 0 {
				return
			}
			if v != nil {
				c.bad = append(c.bad, try.bad...)
				return
			}
		}
		c.bad = append(c.bad, path+": null")
		return
	}
	if want, ok := schema["const"]; ok && want != v {
		c.bad = append(c.bad, fmt.Sprintf("%s: %v, want %v", path, v, want))
	}
	got := "null"
	switch x := v.(type) {
	case bool:
		got = "boolean"
	case string:
		got = "string"
	case json.Number:
		got = "number"
		if !strings.ContainsAny(x.String(), ".eE") {
			got = "integer"
		}
	case []any:
		got = "array"
		items, _ := schema["items"].(map[string]any)
		for i, e := range x {
			if items != nil {
				c.check(fmt.Sprintf("%s[%d]", path, i), items, e)
			}
		}
	case map[string]any:
		got = "object"
		c.members(path, schema, x)
	}
	if want, ok := schema["type"].(string); ok && want != got && (want != "number" || got != "integer") {
		c.bad = append(c.bad, fmt.Sprintf("%s: %s, want %s", path, got, want))
	}
}

func (c *checker) members(path string, schema, v map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	more, _ := schema["additionalProperties"].(map[string]any)
	for k, e := range v {
		switch s, ok := properties[k].(map[string]any); {
		case ok:
			c.check(path+"."+k, s, e)
		case more != nil:
			c.check(path+"."+k, more, e)
		case properties != nil:
			c.bad = append(c.bad, path+": the schema has no member "+k)
		}
	}
	required, _ := schema["required"].([]any)
	for _, k := range required {
		if _, ok := v[k.(string)]; !ok {
			c.bad = append(c.bad, path+": no member "+k.(string))
		}
	}
}

func decoded(t *testing.T, text []byte) (v map[string]any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	require.NoError(t, d.Decode(&v), "%.200s", text)
	return v
}

// The published JSON Schema holds for real documents of every command, also those of failures, and
// the document has one shape whatever the number of objects and kernels.
func TestDocumentsKeepThePublishedSchema(t *testing.T) {
	code, text, _ := command("help", "json")
	require.Zero(t, code)
	schema := decoded(t, []byte(text))
	defs := schema["$defs"].(map[string]any)
	const (
		exec    = "../../examples/exec/exec.bpf.o"
		xdp     = "../../examples/firewall/firewall.bpf.o"
		min     = "../../testdata/btf/min/linux-6.12.107-amd64.min.btf"
		min5    = "../../testdata/btf/min/linux-5.10.262-amd64-cloud.min.btf"
		objects = "../../testdata/objects/clang-14/"
	)
	out := filepath.Join(t.TempDir(), "min.btf")
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // kernels are added to
	t.Setenv("HOME", t.TempDir())
	written := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	wrong := written("vectors.jsonl", `{"id":"ret","p":"b7000000050000009500000000000000","runs":[{"in":"","out":"","ret":6}]}`)
	asked := written("asked.jsonl", `{"id":"a","p":"b7000000000000009500000000000000","ok":false,"why":"unknown opcode b7"}`)
	covered := filepath.Join(t.TempDir(), "cover.json")
	code, _, errs := command("run", xdp, "--btf", min, "-p", "firewall", "--cover-out", "json="+covered)
	require.Zero(t, code, errs)
	seen := map[string]bool{}
	for _, c := range []struct {
		command string
		args    []string
	}{
		{"run", []string{exec, "--btf", "embedded"}},
		{"run", []string{exec, xdp, "--btf", "embedded", "--btf", min}},
		{"run", []string{"run", xdp, "--btf", min, "-v", "--packet", "eth/ip/tcp(dport=443)"}},
		{"run", []string{objects + "faults.o", "--btf", min, "--max-insns", "1000", "-v"}},
		{"run", []string{objects + "events.o", "--btf", "embedded"}},
		{"run", []string{objects + "missing.o", "--btf", "embedded"}},
		{"run", []string{"../../examples/percpu/percpu.bpf.o", "--btf", "embedded"}},
		{"run", []string{"run", exec, "--btf", "embedded", "-s", "../../examples/exec/exec.yaml"}},
		{"run", []string{"run", xdp, "-p", "firewall", "--btf", "embedded", "--pcap", "../../examples/firewall/traffic.pcapng"}},
		{"test", []string{"test", "../../examples/exec/exec.yaml", "--btf", "embedded"}},
		{"test", []string{"test", "../../examples/exec", "../../examples/firewall", "--btf", "embedded", "--seeds", "2"}},
		{"test", []string{"test", objects + "intest_bad.o", "--btf", "embedded"}},
		{"test --list", []string{"test", "../../examples/firewall", "--list"}},
		{"relo", []string{"relo", exec, "--btf", "embedded"}},
		{"relo", []string{"relo", exec, objects + "missing.o", "--btf", "embedded", "--btf", min5}},
		{"verify", []string{"verify", objects + "faults.o", exec, "--btf", "embedded", "--btf", min5}},
		{"verify", []string{"verify", objects + "faults.o", "--btf", "embedded", "-p", "err_null_lookup"}},
		{"verify --configs", []string{"verify", "../../testdata/objects/clang-14/settings.o", "--btf", "embedded", "--configs", "--config", "../../testdata/settings.yaml"}},
		{"verify", []string{"verify", "../../testdata/objects/clang-14/costly.o", "--btf", "embedded", "--profile"}},
		{"verify --explain", []string{"verify", objects + "faults.o", "--btf", "embedded", "--explain", "../../internal/verifier/klog/testdata/libbpf-6.18.log"}},
		{"require", []string{"require", objects + "needs.o", "--btf", "embedded", "--at-least", "6.1"}},
		{"diff", []string{"diff", objects + "builds_old.o", objects + "builds_new.o", "--btf", "embedded", "--max-insns-growth", "10%"}},
		{"relo --baked", []string{"relo", "--baked", objects + "baked.o", "--btf", "embedded"}},
		{"info", []string{"info", exec}},
		{"info", []string{"info", objects + "maps_all.o", "--btf", "embedded"}},
		{"info", []string{"info", objects + "missing.o", "--btf", "embedded"}},
		{"matrix", []string{"matrix", exec, objects + "missing.o", "--btf", "embedded", "--btf", min5}},
		{"race", []string{"race", "../../examples/racecount/racecount.bpf.o", "--btf", "embedded", "-v"}},
		{"race", []string{"race", "../../examples/racescratch/racescratch.bpf.o", "--btf", "embedded", "--keep", t.TempDir()}},
		{"bench", []string{"bench", xdp, "-p", "firewall", "--btf", min}},
		{"btf diff", []string{"btf", "diff", min5, min}},
		{"btf check", []string{"btf", "check", exec, "--kernel", "5.10,6.12"}},
		{"btf check", []string{"btf", "check", exec, "--as-is"}},
		{"btf show", []string{"btf", "show", "embedded", "task_struct", "task_struct.cred", "enum bpf_map_type", "func do_unlinkat"}},
		{"btf find", []string{"btf", "find", "embedded", "sk_buff*", "nosuch"}},
		{"btf dump", []string{"btf", "dump", min}},
		{"btf dump", []string{"btf", "dump", "embedded", "sk_buff", "pid_t"}},
		{"btf layout", []string{"btf", "layout", "embedded", "sk_buff"}},
		{"btf layout", []string{"btf", "layout", min5, "task_struct", "--compare", min}},
		{"btf size", []string{"btf", "size", "embedded", "sk_*"}},
		{"btf who", []string{"btf", "who", "task_struct", exec, objects + "missing.o", "--btf", "embedded", "--btf", min5}},
		{"btf ids", []string{"btf", "ids", "../../btf/ids/testdata/lists.o"}},
		{"btf ids", []string{"btf", "ids", "../../btf/ids/testdata/resolved.o"}},
		{"btf min", []string{"btf", "min", exec, "--btf", min, "-o", out}},
		{"fuzz", []string{"fuzz", objects + "gates.o", "--btf", "embedded", "--runs", "300", "-j", "1", "--keep", t.TempDir()}},
		{"kernels list", []string{"kernels", "list"}},
		{"kernels add", []string{"kernels", "add", min, "--as", "6.12.107-amd64"}},
		{"kernels pack", []string{"kernels", "pack", "-o", filepath.Join(t.TempDir(), "all.btfpack"), min, min5}},
		{"version", []string{"version"}},
		{"doctor", []string{"doctor"}},
		{"disasm", []string{"disasm", exec}},
		{"disasm", []string{"disasm", objects + "missing.o", "--btf", "embedded", "-p", "on_exit_old"}},
		{"disasm", []string{"disasm", objects + "subprog.o", "--btf", "embedded"}},
		{"cover merge", []string{"cover", "merge", covered, "--cover-min", "100%"}},
		{"conformance isa", []string{"conformance", "isa", wrong}},
		{"conformance core", []string{"conformance", "core", "../../testdata/core/expect-relo.clang-22.jsonl.gz", "--objects", "../../testdata/core/clang-22", "--btf", "../../testdata/core/btf/*.btf"}},
		{"conformance kernel", []string{"conformance", "kernel", "../../conformance/testdata/cases/maps_nested.json", "--btf", "embedded"}},
		{"conformance btf", []string{"conformance", "btf", "../../conformance/btfcases/testdata/linux-6.18.jsonl.gz", "--objects", "../.."}},
		{"conformance generate", []string{"conformance", "generate", "--count", "20"}},
		{"conformance verdicts", []string{"conformance", "verdicts", "../../conformance/verdicts/testdata/border-6.18.jsonl.gz", "--match", "border-1122-1[0-9]?$", "--btf", "embedded", "--kernel-version", "6.18"}},
		{"conformance decode", []string{"conformance", "decode", asked}},
		{"conformance corpus", []string{"conformance", "corpus", "--objects", exec, "--btf", "embedded"}},
		{"error", []string{"conformance", "isa", "nosuch.jsonl"}},
		{"error", []string{exec, "--btf", "nosuch"}},
		{"error", []string{"matrix", "nosuch.o"}},
		{"error", []string{"test", "nosuch.yaml"}},
		{"error", []string{"disasm", exec, "--jit"}},
		{"error", []string{"debug", exec}},
		{"error", []string{"btf", "dump", min, "--format", "c"}},
		{"error", []string{"btf", "c", min}},
	} {
		_, stdout, stderr := command(append(c.args, "--json")...)
		if !assert.NotEmpty(t, stdout, "%v: %s", c.args, stderr) {
			continue
		}
		v := decoded(t, []byte(stdout))
		k := checker{defs: defs}
		k.check("", defs[c.command].(map[string]any), v)
		assert.Empty(t, k.bad, "%v", c.args)
		seen[c.command] = true
		if _, ok := defs[c.command].(map[string]any)["properties"].(map[string]any)["results"]; ok {
			assert.IsType(t, []any{}, v["results"], "%v: results is a list", c.args)
		}
	}
	elsewhere := []string{"relo --explain", "fire"} // in the script of relo and in TestFire
	for _, d := range published() {
		if !slices.Contains(elsewhere, d.Command) {
			assert.True(t, seen[d.Command], "no document of %s", d.Command)
		}
	}
}

// A command prints a document that is in the published schema, or refuses --json and says why.
func TestEveryCommandHasJSONOrRefusesIt(t *testing.T) {
	documents := map[string]bool{}
	for _, d := range published() {
		documents["bpfrun "+d.Command] = true
	}
	a := &app{}
	root := a.rootCommand()
	root.InitDefaultCompletionCmd()
	a.console.json = true
	var all []string
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		path := c.CommandPath()
		if c.HasSubCommands() || !c.Runnable() || path == "bpfrun help" { // groups and help texts print help
			return
		}
		all = append(all, path)
		assert.True(t, documents[path] != (textCommands[path] != ""), "%s has a document or a reason to have none", path)
		assert.Nil(t, c.PersistentPreRunE, "%s: that of bpfrun refuses --json", path)
		if why := textCommands[path]; why != "" {
			assert.ErrorContains(t, root.PersistentPreRunE(c, nil), path+" has no --json: "+why)
		}
	}
	walk(root)
	assert.Greater(t, len(all), 40)
	for path := range textCommands {
		assert.Contains(t, all, path)
	}
}

func TestCheckerNoticesWhatTheSchemaDoesNotSay(t *testing.T) {
	_, text, _ := command("help", "json")
	defs := decoded(t, []byte(text))["$defs"].(map[string]any)
	for doc, want := range map[string]string{
		`{"schema": "bpfrun/1", "exit": 0, "version": "1", "embedded": "k"}`:         "",
		`{"schema": "bpfrun/2", "exit": 0, "version": "1", "embedded": "k"}`:         ".schema: bpfrun/2, want bpfrun/1",
		`{"schema": "bpfrun/1", "exit": "0", "version": "1", "embedded": "k"}`:       ".exit: string, want integer",
		`{"schema": "bpfrun/1", "exit": 0, "version": "1"}`:                          ": no member embedded",
		`{"schema": "bpfrun/1", "exit": 0, "version": "1", "embedded": "", "x": {}}`: ": the schema has no member x",
	} {
		k := checker{defs: defs}
		k.check("", defs["version"].(map[string]any), decoded(t, []byte(doc)))
		assert.Equal(t, want, strings.Join(k.bad, "; "), doc)
	}
}
