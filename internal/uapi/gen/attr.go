package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/format"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
)

// attrFile is the file with the structs of union bpf_attr.
const attrFile = "bpfattr/parts_gen.go"

// oldest is the kernel whose fields need no release: all releases that are simulated have them.
const oldest = "linux-5.10.262-amd64-cloud.btf.xz"

// anonymous names the structs of the union that have no name, by their first field.
var anonymous = map[string]struct{ name, what string }{
	"map_type":  {"MapCreate", "BPF_MAP_CREATE"},
	"map_fd":    {"Elem", "the commands on one element of a map, and of BPF_MAP_FREEZE"},
	"prog_type": {"ProgLoad", "BPF_PROG_LOAD"},
	"pathname":  {"Obj", "BPF_OBJ_PIN and BPF_OBJ_GET"},
	"target_fd": {"Attach", "BPF_PROG_ATTACH and BPF_PROG_DETACH"},
	"start_id":  {"ObjectID", "BPF_*_GET_NEXT_ID and BPF_*_GET_FD_BY_ID"},
	"btf":       {"BtfLoad", "BPF_BTF_LOAD"},
}

// fieldSince lists the releases that brought fields, or all fields of a struct, which BTF does not
// say. A test compares this column with the BTF of four kernels.
var fieldSince = []struct {
	name         string
	major, minor int
}{
	{"map_extra", 5, 16},
	{"value_type_btf_obj_fd", 6, 9},
	{"map_token_fd", 6, 9},
	{"excl_prog_hash", 6, 18},
	{"excl_prog_hash_size", 6, 18},

	{"attach_btf_obj_fd", 5, 11},
	{"fd_array", 5, 14},
	{"core_relo_cnt", 5, 17},
	{"core_relos", 5, 17},
	{"core_relo_rec_size", 5, 17},
	{"log_true_size", 6, 4},
	{"prog_token_fd", 6, 9},
	{"fd_array_cnt", 6, 14},
	{"signature", 6, 18},
	{"signature_size", 6, 18},
	{"keyring_id", 6, 18},

	{"path_fd", 6, 5},

	{"target_ifindex", 6, 6},
	{"relative_fd", 6, 6},
	{"relative_id", 6, 6},
	{"expected_revision", 6, 6},

	{"test.batch_size", 5, 18},

	{"fd_by_id_token_fd", 6, 17},

	{"query.target_ifindex", 6, 6},
	{"query.count", 6, 6},
	{"query.prog_attach_flags", 6, 0},
	{"query.link_ids", 6, 6},
	{"query.link_attach_flags", 6, 6},
	{"query.revision", 6, 6},

	{"raw_tracepoint.cookie", 6, 10},

	{"btf_log_true_size", 6, 4},
	{"btf_flags", 6, 9},
	{"btf_token_fd", 6, 9},

	{"link_create.map_fd", 6, 4},
	{"link_create.perf_event", 5, 15},
	{"link_create.kprobe_multi", 5, 18},
	{"link_create.tracing", 5, 19},
	{"link_create.netfilter", 6, 4},
	{"link_create.tcx", 6, 6},
	{"link_create.uprobe_multi", 6, 6},
	{"link_create.uprobe_multi.path_fd", 7, 2},
	{"link_create.netkit", 6, 7},
	{"link_create.cgroup", 6, 17},
	{"link_create.tracing_multi", 7, 2},

	{"link_update.new_map_fd", 6, 4},
	{"link_update.old_map_fd", 6, 4},

	{"token_create", 6, 9},
	{"prog_stream_read", 6, 17},
	{"prog_assoc_struct_ops", 7, 0},
}

// written are the fields that commands write to the caller's union.
var written = []string{
	"batch.count",
	"func_info_rec_size", "line_info_rec_size", "core_relo_rec_size", "log_true_size",
	"test.retval", "test.duration", "test.data_size_out", "test.ctx_size_out",
	"next_id",
	"info.info_len",
	"query.attach_flags", "query.prog_cnt", "query.revision",
	"btf_log_true_size",
	"task_fd_query.buf_len", "task_fd_query.prog_id", "task_fd_query.fd_type", "task_fd_query.probe_offset",
	"task_fd_query.probe_addr",
}

// optional are those that commands write only if the caller's union is long enough: it may be older
// than they are.
var optional = []string{"log_true_size", "query.revision", "btf_log_true_size"}

// enumTypes are the types of fields that hold an enumeration's number, which the kernel declares as
// __u32.
var enumTypes = map[string]string{
	"map_type": "uapi.MapType", "prog_type": "uapi.ProgType", "attach_type": "uapi.AttachType", "expected_attach_type": "uapi.AttachType",
}

// attrPart is a struct of the union, or a struct with a name inside of one.
type attrPart struct {
	name   string // of the Go type
	prefix string // of its fields' names
	method string // of the struct around it, which returns this one; empty for structs of the union
	what   string
	fields []attrField
	inner  []*attrPart
}

// attrField is a number, or an array of characters. Its name is the kernel's, with the structs that
// it is in.
type attrField struct {
	name     string
	at, size uint32
	signed   bool
	array    bool
}

// all returns the fields with those of structs inside.
func (p *attrPart) all() []attrField {
	out := slices.Clone(p.fields)
	for _, i := range p.inner {
		out = append(out, i.all()...)
	}
	return out
}

// attrParts returns the structs of a kernel's union bpf_attr, and its size.
func attrParts(spec *btf.Spec) ([]*attrPart, uint32, error) {
	union, ok := spec.Find(btf.KindUnion, "bpf_attr")
	if !ok {
		return nil, 0, fmt.Errorf("there is no union bpf_attr")
	}
	var out []*attrPart
	for i := range union.Members {
		m := &union.Members[i]
		p := &attrPart{what: strings.TrimSpace("struct " + m.Name)}
		if m.Name != "" {
			p.name, p.prefix = goName(m.Name), m.Name+"."
		}
		if err := p.add(spec, m.Type, m.BitOffset/8); err != nil {
			return nil, 0, err
		}
		if m.Name == "" {
			row, ok := anonymous[p.fields[0].name]
			if !ok {
				return nil, 0, fmt.Errorf("union bpf_attr: the struct that begins with %s has no name here", p.fields[0].name)
			}
			p.name, p.what = row.name, "the struct of "+row.what
		}
		out = append(out, p)
	}
	return out, union.Size, nil
}

// add adds the members of a struct or union that begins at an offset. Without a name, they are
// members of what is around it.
func (p *attrPart) add(spec *btf.Spec, id btf.ID, at uint32) error {
	t := spec.SkipMods(id)
	if t == nil || !t.Kind.IsComposite() {
		return fmt.Errorf("%s is no struct", p.what)
	}
	for i := range t.Members {
		m := &t.Members[i]
		mt, at := spec.SkipMods(m.Type), at+m.BitOffset/8
		if mt == nil {
			return fmt.Errorf("%s: %s%s has no type", p.what, p.prefix, m.Name)
		}
		f := attrField{name: p.prefix + m.Name, at: at, size: mt.Size}
		switch {
		case mt.Kind.IsComposite() && m.Name == "":
			if err := p.add(spec, m.Type, at); err != nil {
				return err
			}
			continue
		case mt.Kind.IsComposite():
			in := &attrPart{name: p.name + goName(m.Name), prefix: f.name + ".", method: goName(m.Name), what: "struct " + f.name}
			if err := in.add(spec, m.Type, at); err != nil {
				return err
			}
			p.inner = append(p.inner, in)
			continue
		case mt.Kind == btf.KindArray:
			elem := spec.SkipMods(mt.Ref)
			if elem == nil || elem.Size != 1 {
				return fmt.Errorf("%s: %s is an array of something else than bytes", p.what, f.name)
			}
			f.array, f.size = true, mt.Array.Nelems
		case mt.Kind == btf.KindInt && (mt.Size == 4 || mt.Size == 8):
			f.signed = mt.Signed()
		default:
			return fmt.Errorf("%s: %s is a %s of %d bytes", p.what, f.name, mt.Kind, mt.Size)
		}
		p.fields = append(p.fields, f)
	}
	return nil
}

// goType returns the type as which a field is read. Descriptors are signed, as they are in the
// kernel once it uses them.
func (f attrField) goType() string {
	short := f.name[strings.LastIndexByte(f.name, '.')+1:]
	switch {
	case f.array:
		return "[]byte"
	case f.size == 8:
		return "uint64"
	case enumTypes[short] != "":
		return enumTypes[short]
	case f.signed, short == "fd", strings.HasSuffix(short, "_fd"):
		return "int32"
	}
	return "uint32"
}

// since returns the release that brought a field; major is 0 if all releases have it.
func (f attrField) since() (major, minor int) {
	long := 0
	for _, row := range fieldSince {
		rest, ok := strings.CutPrefix(f.name, row.name)
		if ok && (rest == "" || rest[0] == '.') && len(row.name) > long {
			long, major, minor = len(row.name), row.major, row.minor
		}
	}
	return major, minor
}

// checkSince reports fields that the oldest kernel lacks and that have no release, and releases of
// no field.
func checkSince(parts, old []*attrPart) error {
	var had, has []attrField
	for _, p := range old {
		had = append(had, p.all()...)
	}
	used := map[string]bool{}
	for _, p := range parts {
		for _, f := range p.all() {
			has = append(has, f)
			if major, _ := f.since(); major == 0 && !slices.Contains(had, f) {
				return fmt.Errorf("union bpf_attr: %s is not in %s: add the release that brought it to fieldSince", f.name, oldest)
			}
		}
	}
	for _, row := range fieldSince {
		used[row.name] = slices.ContainsFunc(has, func(f attrField) bool { return f.name == row.name || strings.HasPrefix(f.name, row.name+".") })
	}
	for _, name := range slices.Concat(written, optional) {
		used[name] = slices.ContainsFunc(has, func(f attrField) bool { return f.name == name && !f.array })
	}
	for name, ok := range used {
		if !ok {
			return fmt.Errorf("union bpf_attr has no field %s", name)
		}
	}
	return nil
}

// attrSource returns the Go file with views of the structs of union bpf_attr, and their fields.
func attrSource(spec, old *btf.Spec) ([]byte, error) {
	parts, _, err := attrParts(spec)
	if err != nil {
		return nil, err
	}
	before, _, err := attrParts(old)
	if err != nil {
		return nil, err
	}
	if err := checkSince(parts, before); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("// Code generated by internal/uapi/gen; DO NOT EDIT.\n\npackage bpfattr\n\nimport \"github.com/bpfrun/bpfrun/internal/uapi\"\n")
	for _, p := range parts {
		p.writeView(&b)
		p.writeFields(&b)
	}
	b.WriteString("\n// parts returns the fields of all structs.\nfunc parts() [][]Field {\nreturn [][]Field{\n")
	for _, p := range parts {
		fmt.Fprintf(&b, "%sPart.Fields,\n", p.name)
	}
	b.WriteString("}\n}\n")
	return format.Source(b.Bytes())
}

// writeView writes the type that reads and writes fields.
func (p *attrPart) writeView(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n// %s is %s.\ntype %s struct{ u *Union }\n\n", p.name, p.what, p.name)
	for _, f := range p.fields {
		name, typ := goName(strings.TrimPrefix(f.name, p.prefix)), f.goType()
		read := fmt.Sprintf("a.u.u32(%d)", f.at)
		switch typ {
		case "uint32":
		case "uint64":
			read = fmt.Sprintf("a.u.u64(%d)", f.at)
		case "[]byte":
			read = fmt.Sprintf("a.u.bytes(%d, %d)", f.at, f.size)
		default:
			read = typ + "(" + read + ")"
		}
		fmt.Fprintf(b, "func (a %s) %s() %s { return %s }\n", p.name, name, typ, read)
	}
	for _, i := range p.inner {
		fmt.Fprintf(b, "func (a %s) %s() %s { return %s{a.u} }\n", p.name, i.method, i.name, i.name)
	}
	for _, f := range p.fields {
		if !slices.Contains(written, f.name) {
			continue
		}
		name, bits := goName(strings.TrimPrefix(f.name, p.prefix)), 8*f.size
		fmt.Fprintf(b, "\n// Put%s writes the field to the caller's memory.\nfunc (a %s) Put%s(v uint%d) bool { return a.u.put%d(%d, v) }\n", name, p.name, name, bits, bits, f.at)
		if slices.Contains(optional, f.name) {
			fmt.Fprintf(b, "\n// Has%s reports whether the caller's union is long enough for the field.\nfunc (a %s) Has%s() bool { return a.u.size >= %d }\n", name, p.name, name, f.at+f.size)
		}
	}
	for _, i := range p.inner {
		i.writeView(b)
	}
}

// writeFields writes the columns of a struct of the union.
func (p *attrPart) writeFields(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n// %sPart lists the fields of [%s].\nvar %sPart = Part[%s]{\nView: func(u *Union) %s { return %s{u} },\nFields: []Field{\n", p.name, p.name, p.name, p.name, p.name, p.name)
	fields := p.all()
	slices.SortStableFunc(fields, func(x, y attrField) int { return cmp.Compare(x.at, y.at) })
	for _, f := range fields {
		since := "0"
		if major, minor := f.since(); major != 0 {
			since = fmt.Sprintf("uapi.R(%d, %d)", major, minor)
		}
		fmt.Fprintf(b, "{%q, %d, %d, %s},\n", f.name, f.at, f.size, since)
	}
	b.WriteString("},\n}\n")
}
