package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/app/report"
)

// filler puts a text and bytes wherever documents have names and values.
type filler struct {
	text string
	data []byte
	put  int // texts
}

func (f *filler) fill(v reflect.Value, depth int) {
	const deepest = 12
	if !v.CanSet() || depth > deepest { // types contain themselves
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.text)
		f.put++
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i), depth+1)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), depth+1)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(f.data)
			return
		}
		if v.Type().Elem() == reflect.TypeFor[report.Change]() { // formatted with the maps of its machine: TestJSONOfHostileObjects has some
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		f.fill(v.Index(0), depth+1)
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(key, depth+1)
		f.fill(elem, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, elem)
	case reflect.Interface:
		if v.NumMethod() == 0 { // a value of a program, as it was decoded
			var a btf.IPv6
			copy(a[:], f.data)
			v.Set(reflect.ValueOf(btf.JSONValue(btf.Object{{Name: f.text, Value: string(f.data)}, {Name: f.text + "2", Value: btf.List{f.text, btf.Bytes(f.data), a, btf.Enum{Name: f.text}}}})))
		}
	}
}

// textsOf collects all strings and names of a decoded document.
func textsOf(v any) []string {
	var out []string
	switch v := v.(type) {
	case string:
		out = append(out, v)
	case []any:
		for _, e := range v {
			out = append(out, textsOf(e)...)
		}
	case map[string]any:
		for k, e := range v {
			out = append(append(out, k), textsOf(e)...)
		}
	}
	return out
}

// parsed decodes a document and checks that its text cannot control a terminal.
func parsed(t *testing.T, what string, text []byte) any {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal(text, &v), "%s: %.300q", what, text)
	for _, r := range string(text) {
		if r < ' ' && r != '\n' || r >= 0x7f && r <= 0x9f || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			require.Fail(t, what, "U+%04X is written as it is", r)
		}
	}
	return v
}

// FuzzDocumentsAreJSON: whatever names, messages and bytes are in the documents of the commands,
// what is written is JSON, with the same texts.
func FuzzDocumentsAreJSON(f *testing.F) {
	f.Add("a\"\\\x7f\x9b\u202e\u2028\n\xff\x00\x1b[2J</script>", []byte{0x7f, 0x9b, 0x80, 0xff, '"', '\\', '\n', 1, 0})
	f.Add("\xc0\xaf\xed\xa0\x80\U0001f600\ufeff", []byte("\xe2\x80\xae'"))
	f.Fuzz(func(t *testing.T, text string, data []byte) {
		var want string
		encoded, err := json.Marshal(text)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(encoded, &want))
		for _, p := range published() {
			doc := reflect.New(reflect.TypeOf(p.Doc)).Elem()
			fill := filler{text: text, data: data}
			fill.fill(doc, 0)
			require.NotZero(t, fill.put, p.Command)
			var out bytes.Buffer
			require.NoError(t, report.WriteJSON(&out, doc.Interface()), p.Command)
			require.True(t, slices.Contains(textsOf(parsed(t, p.Command, out.Bytes())), want), "%s: %q is not in the document", p.Command, want)
		}
	})
}

// TestJSONOfHostileObjects: the commands' documents of an object, a scenario and a source whose
// names are hostile.
func TestJSONOfHostileObjects(t *testing.T) {
	dir := t.TempDir()
	object, err := os.ReadFile("../../examples/exec/exec.bpf.o")
	require.NoError(t, err)
	for from, to := range map[string]string{
		"on_exec": "\"\\\x7f\xff\n\x1b]", "execs_by_uid": "ex\"\n!!\x9b\xe2\x80\xae\r}", "exec.bpf.c": "ex\n\"!!\xe2\x80\xa8.", "task_struct *task": "task\"\\uct\n!!!\x9b\n\xff\x7f",
	} {
		require.Equal(t, len(from), len(to), from)
		object = bytes.ReplaceAll(object, []byte(from), []byte(to))
	}
	path := filepath.Join(dir, "x\"\x7f\n.o")
	require.NoError(t, os.WriteFile(path, object, 0o600))
	good, err := filepath.Abs("../../examples/exec/exec.bpf.o")
	require.NoError(t, err)
	file := filepath.Join(dir, "x\"\x7f.yaml")
	require.NoError(t, os.WriteFile(file, []byte("object: "+filepath.ToSlash(good)+"\nruns: [{prog: on_exec, name: \"a\\\"\\x7f\\e[2J\\u202e\\n\", expect: {ret: 5}}]\n"), 0o600))
	const types = "../../testdata/btf/min/linux-6.12.107-amd64.min.btf"
	documents := 0 // that are not about wrong arguments
	for _, args := range [][]string{
		{path}, {"run", path, "-v"}, {"run", path, "-p", "\"\x7f\n"}, {"relo", path}, {"verify", path}, {"require", path, "--btf", "embedded"}, {"diff", path, path, "-v"}, {"diff", good, path},
		{"info", path}, {"disasm", path}, {"matrix", path}, {"race", path}, {"fuzz", path, "--runs", "50", "-j", "1", "--keep", t.TempDir()}, {"bench", path},
		{"test", file}, {"test", file, "--list"}, {"btf", "who", "task_\"\x7f\n", path}, {"btf", "check", path}, {"btf", "find", types, "\"\x7f*\n"}, {"\x7f\".o"}, {"matrix", "\x7f\"\n.o"},
		{"test", "\x7f\"\n.yaml"}, {"run", good, "--\"\x7f\n"}, {"relo", "--baked", path}, {"btf", "min", path, "-o", filepath.Join(dir, "min.btf")},
	} {
		args := append(slices.Clone(args), "--json")
		if args[0] != "btf" || args[1] == "min" || args[1] == "who" {
			args = append(args, "--btf", types)
		}
		code, stdout, stderr := command(args...)
		if code != exitUsage {
			documents++
		}
		if strings.TrimSpace(stdout) == "" {
			assert.NotEmpty(t, stderr, "%q", args)
			t.Logf("%q: no document: %s", args, stderr)
			continue
		}
		parsed(t, strings.Join(args, " "), []byte(stdout))
	}
	assert.GreaterOrEqual(t, documents, 17)
}
