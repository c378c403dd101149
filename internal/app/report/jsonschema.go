package report

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"slices"
	"strings"
)

// Published is the document of a command, as described by the JSON Schema.
type Published struct {
	Command string
	Doc     any
	Always  []string // required members; nil means all that are never omitted
}

// published lists the documents of the commands. The members of a single result appear next to the
// list, and only if it has one element.
var published = []Published{
	{"run", OneDocument{}, []string{"schema", "exit", "results"}},
	{"test", OneDocument{}, []string{"schema", "exit", "results"}},
	{"test --list", TestList{}, nil},
	{"relo", OneReloDocument{}, []string{"schema", "exit", "results"}},
	{"relo --explain", ExplainDocument{}, nil},
	{"relo --baked", BakedDocument{}, nil},
	{"verify", OneVerifyDocument{}, []string{"schema", "exit", "results"}},
	{"verify --configs", ConfigsDocuments{}, nil},
	{"verify --explain", VerifyExplainDocument{}, nil},
	{"require", RequireDocument{}, nil},
	{"diff", DiffDocument{}, nil},
	{"info", InfoDocument{}, nil},
	{"disasm", DisasmDocument{}, nil},
	{"matrix", MatrixDocument{}, nil},
	{"bench", BenchDocument{}, nil},
	{"fuzz", FuzzDocument{}, nil},
	{"race", RaceDocument{}, nil},
	{"btf diff", BTFDiffDocument{}, nil},
	{"btf check", BTFCheckDocument{}, nil},
	{"btf show", BTFTypesDocument{}, nil},
	{"btf find", BTFTypesDocument{}, nil},
	{"btf dump", BTFTypesDocument{}, nil},
	{"btf layout", BTFLayoutDocument{}, nil},
	{"btf size", BTFSizesDocument{}, nil},
	{"btf who", BTFUsesDocument{}, nil},
	{"btf ids", BTFIDsDocument{}, nil},
	{"btf min", BTFMinDocument{}, nil},
	{"kernels list", KernelsDocument{}, nil},
	{"kernels add", KernelsDocument{}, nil},
	{"kernels pack", PackDocument{}, nil},
	{"version", VersionDocument{}, nil},
	{"doctor", DoctorDocument{}, nil},
	{"error", OneDocument{}, []string{"schema", "exit", "error"}},
}

// PublishedDocuments returns the documents that this package writes, including the error document
// that any command may write.
func PublishedDocuments() []Published { return slices.Clone(published) }

// WriteJSONSchema writes a JSON Schema (draft 2020-12) of documents, with one entry in $defs for
// each command. It is derived from the Go types of the documents. Additional members are allowed,
// since later versions may add some.
func WriteJSONSchema(w io.Writer, documents []Published) error {
	m := schemas{defs: map[string]any{}, types: map[string]reflect.Type{}}
	var any []any
	for _, p := range documents {
		s := m.object(reflect.TypeOf(p.Doc))
		if p.Always != nil {
			s["required"] = p.Always
		}
		m.defs[p.Command] = s
		any = append(any, map[string]interface{}{"$ref": "#/$defs/" + strings.ReplaceAll(p.Command, " ", "%20")})
	}
	root := map[string]interface{}{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Documents of bpfrun --json", "$defs": m.defs, "anyOf": any,
		"description": "Numbers that can exceed 2^53 are strings in hexadecimal, bytes are lower-case hex digits. $defs has the document of each command.",
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(root); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

type schemas struct {
	defs  map[string]any
	types map[string]reflect.Type // by name in $defs
}

// name returns a type's name in $defs, with its package if another type has the same name.
func (m *schemas) name(t reflect.Type) string {
	name := t.Name()
	if other, ok := m.types[name]; ok && other != t {
		name = t.String()
	}
	m.types[name] = t
	return name
}

// forms maps types that marshal themselves to the type that they marshal as.
var forms = map[reflect.Type]reflect.Type{
	reflect.TypeFor[Event]():  reflect.TypeFor[eventForm](),
	reflect.TypeFor[Change](): reflect.TypeFor[changeForm](),
}

// object describes a struct by the members that encoding/json writes for it.
func (m *schemas) object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			in := f.Type
			if in.Kind() == reflect.Pointer {
				in = in.Elem()
			}
			s := m.object(in)
			for k, v := range s["properties"].(map[string]any) {
				properties[k] = v
			}
			required = append(required, s["required"].([]string)...)
			continue
		case !f.IsExported() || name == "-":
			continue
		case name == "":
			name = f.Name
		}
		properties[name] = m.of(f.Type)
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			required = append(required, name)
		}
	}
	if s, ok := properties["schema"].(map[string]any); ok {
		s["const"] = Schema
	}
	return map[string]any{"type": "object", "properties": properties, "required": required}
}

func (m *schemas) of(t reflect.Type) map[string]any {
	switch t.Kind() {
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice, reflect.Array:
		return map[string]any{"type": "array", "items": m.of(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": m.of(t.Elem())}
	case reflect.Pointer:
		return map[string]any{"anyOf": []any{m.of(t.Elem()), map[string]any{"type": "null"}}}
	case reflect.Struct:
		name := m.name(t)
		if form, ok := forms[t]; ok {
			t = form
		}
		if _, ok := m.defs[name]; !ok {
			m.defs[name] = nil // marks it as in progress, for recursive types
			m.defs[name] = m.object(t)
		}
		return map[string]any{"$ref": "#/$defs/" + name}
	case reflect.Interface:
		return map[string]any{}
	}
	return map[string]any{"type": "integer"}
}
