// Command gen writes the enumerations of the BPF interface into package uapi (helpers into
// funcid_gen.go, all others into enums_gen.go), the structs of union bpf_attr into
// internal/uapi/bpfattr, those of BPF_OBJ_GET_INFO_BY_FD into internal/uapi/bpfinfo, and struct
// perf_event_attr into internal/uapi/perfattr. Numbers and offsets come from the BTF of the newest
// kernel in testdata, and names follow from the kernel's.
//
//	go generate ./internal/uapi
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
)

// newest is the kernel whose BTF has all numbers: the interface only grows.
const newest = "linux-7.2.13-amd64.btf.xz"

// enum is an enumeration of the kernel and what it becomes here.
type enum struct {
	kernel string // its name in BTF
	cut    string // what enumerators begin with
	typ    string // the Go type
	prefix string // of constants
	names  string // the table of names
	text   func(name string) string
	// holds is an enumerator that finds an enumeration without a name.
	holds string
	// sparse means that numbers may be missing.
	sparse bool
	// skip lists enumerators that mark a place and mean nothing.
	skip []string
}

func lower(name string) string { return strings.ToLower(name) }

// helpers are the names of helpers; they are as many as all others together.
var helpers = []enum{
	{kernel: "bpf_func_id", cut: "BPF_FUNC_", typ: "FuncID", prefix: "Func", names: "funcNames", text: func(name string) string { return "bpf_" + name }},
}

var enums = []enum{
	{kernel: "bpf_cmd", cut: "BPF_", typ: "Cmd", prefix: "Cmd", names: "cmdNames", text: func(name string) string { return "BPF_" + name }},
	{kernel: "bpf_prog_type", cut: "BPF_PROG_TYPE_", typ: "ProgType", prefix: "ProgType", names: "progTypeNames", text: lower},
	{kernel: "bpf_map_type", cut: "BPF_MAP_TYPE_", typ: "MapType", prefix: "MapType", names: "mapTypeNames", text: lower},
	{kernel: "bpf_attach_type", cut: "BPF_", typ: "AttachType", prefix: "Attach", names: "attachTypeNames", text: lower},
	{kernel: "bpf_link_type", cut: "BPF_LINK_TYPE_", typ: "LinkType", prefix: "Link", names: "linkTypeNames", text: lower},
	{kernel: "perf_type_id", cut: "PERF_TYPE_", typ: "PerfType", prefix: "PerfType", names: "perfTypeNames", text: func(name string) string { return "PERF_TYPE_" + name }, skip: []string{"MAX"}},
	{kernel: "perf_sw_ids", cut: "PERF_COUNT_SW_", typ: "PerfSoftware", prefix: "PerfSoftware", names: "perfSoftwareNames", text: func(name string) string { return "PERF_COUNT_SW_" + name }, skip: []string{"MAX"}},
	{
		kernel: "of rtnetlink messages", holds: "RTM_NEWLINK", cut: "RTM_", typ: "RouteMessage", prefix: "Route", names: "routeMessageNames",
		text: func(name string) string { return "RTM_" + name }, sparse: true, skip: []string{"BASE"},
	},
}

// capitals are the words that stay in capitals.
var capitals = []string{"XDP", "LSM", "LRU", "LPM"}

// goName returns a kernel's name word by word: GET_SMP_PROCESSOR_ID becomes GetSmpProcessorId,
// tcx.ifindex TcxIfindex.
func goName(name string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(strings.ToUpper(name), func(r rune) bool { return r == '_' || r == '.' }) {
		if !slices.Contains(capitals, word) {
			word = word[:1] + strings.ToLower(word[1:])
		}
		b.WriteString(word)
	}
	return b.String()
}

// flags is where numbers end and bits begin that go with a number (BPF_COMMON_ATTRS).
const flags = 1 << 16

// member is an enumerator without what all of them begin with.
type member struct {
	number uint32
	name   string
}

// find returns the kernel's type.
func (e *enum) find(spec *btf.Spec) (*btf.Type, bool) {
	if e.holds == "" {
		return spec.Find(btf.KindEnum, e.kernel)
	}
	for id := range spec.NumTypes() {
		t := spec.MustType(btf.ID(id))
		if t.Kind == btf.KindEnum && slices.ContainsFunc(t.Values, func(v btf.Enumerator) bool { return v.Name == e.holds }) {
			return t, true
		}
	}
	return nil, false
}

// members returns the enumerators of e in the order of their numbers, one for each number: the
// first name that is not a deprecated one.
func (e *enum) members(spec *btf.Spec) ([]member, error) {
	t, ok := e.find(spec)
	if !ok {
		return nil, fmt.Errorf("%s has no enum %s", newest, e.kernel)
	}
	var out []member
	for _, v := range t.Values {
		name, ours := strings.CutPrefix(v.Name, e.cut)
		number := uint32(v.Value)
		known := slices.ContainsFunc(out, func(m member) bool { return m.number == number })
		if ours && !known && !slices.Contains(e.skip, name) && v.Value < flags && !strings.HasSuffix(name, "_DEPRECATED") {
			out = append(out, member{number, name})
		}
	}
	slices.SortFunc(out, func(a, b member) int { return cmp.Compare(a.number, b.number) })
	for i, m := range out {
		if m.number != uint32(i) && !e.sparse {
			return nil, fmt.Errorf("enum %s has no number %d", e.kernel, i)
		}
	}
	return out, nil
}

// files are the files with enumerations, by their name in package uapi.
var files = map[string][]enum{"enums_gen.go": enums, "funcid_gen.go": helpers}

// generate returns the contents of every generated file by name. root is the repository's
// directory.
func generate(root string) (map[string][]byte, error) {
	spec, err := btffile.Load(filepath.Join(root, "testdata", "btf", newest), nil)
	if err != nil {
		return nil, err
	}
	old, err := btffile.Load(filepath.Join(root, "testdata", "btf", oldest), nil)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	if out[attrFile], err = attrSource(spec, old); err != nil {
		return nil, err
	}
	if out[infoFile], err = infoSource(spec); err != nil {
		return nil, err
	}
	if out[perfFile], err = perfSource(spec); err != nil {
		return nil, err
	}
	for name, list := range files {
		if out[name], err = source(spec, list); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// source returns a Go file with the constants and names of enumerations.
func source(spec *btf.Spec, list []enum) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("// Code generated by internal/uapi/gen; DO NOT EDIT.\n\npackage uapi\n")
	for i := range list {
		e := &list[i]
		members, err := e.members(spec)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "\n// Enum %s.\nconst (\n", e.kernel)
		for _, m := range members {
			fmt.Fprintf(&b, "%s%s %s = %d\n", e.prefix, goName(m.name), e.typ, m.number)
		}
		fmt.Fprintf(&b, ")\n\nvar %s = [...]string{\n", e.names)
		for _, m := range members {
			fmt.Fprintf(&b, "%s%s: %q,\n", e.prefix, goName(m.name), e.text(m.name))
		}
		b.WriteString("}\n")
	}
	return format.Source(b.Bytes())
}

func run() error {
	out, err := generate("../..")
	if err != nil {
		return err
	}
	for name, text := range out {
		if err := os.WriteFile(name, text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}
