package scenario

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

// Schema returns a JSON Schema of scenario files for completion in editors. It is generated from
// the tables that decoding follows. Parts that depend on BTF (fields, maps, values) are
// unrestricted.
func Schema() []byte {
	s := schemaMaker{defs: map[string]any{}}
	root := s.form(fileForm)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "bpfrun scenario"
	delete(root, "required")
	root["anyOf"] = []any{map[string]any{"required": []string{"runs"}}, map[string]any{"required": []string{"race"}}}
	var doc strings.Builder
	doc.WriteString("Values are written in terms of BTF types. Tags:")
	for _, t := range tags {
		doc.WriteString("\n" + t.name + ": " + t.doc)
	}
	s.defs["value"] = map[string]any{"description": doc.String()}
	root["$defs"] = s.defs
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(root); err != nil {
		panic("scenario: schema: " + err.Error()) // maps of strings always encode
	}
	return b.Bytes()
}

type schemaMaker struct{ defs map[string]any }

// form describes a mapping; it allows no additional members.
func (s *schemaMaker) form(f *grammar.Form) map[string]any {
	properties := map[string]any{}
	var required []string
	for _, m := range f.Members {
		p := s.shape(m.Shape)
		p["description"] = m.Doc
		properties[m.Name] = p
		if m.Required && f != runForm { // a run's members may come from defaults
			required = append(required, m.Name)
		}
	}
	out := map[string]any{"type": "object", "description": f.Doc, "properties": properties, "additionalProperties": false}
	if required != nil {
		out["required"] = required
	}
	return out
}

func (s *schemaMaker) shape(x grammar.Shape) map[string]any {
	switch x.Kind {
	case grammar.ShapeText:
		return map[string]any{"type": "string"}
	case grammar.ShapeInteger:
		return map[string]any{"anyOf": []any{map[string]any{"type": "integer"}, map[string]any{"type": "string", "pattern": "^[-+]?0[xob][0-9a-fA-F_]+$"}}}
	case grammar.ShapeBool:
		return map[string]any{"type": "boolean"}
	case grammar.ShapeDuration:
		return map[string]any{"anyOf": []any{map[string]any{"type": "integer", "minimum": 0}, map[string]any{"type": "string", "pattern": "^([0-9.]+(ns|us|µs|ms|s|m|h))+$"}}}
	case grammar.ShapeRelease:
		return map[string]any{"type": []any{"string", "number"}}
	case grammar.ShapeList:
		return map[string]any{"type": "array", "items": s.shape(*x.Elem)}
	case grammar.ShapeMap:
		return map[string]any{"type": "object", "additionalProperties": s.shape(*x.Elem)}
	case grammar.ShapeForm:
		if _, ok := s.defs[x.Form.Name]; !ok {
			s.defs[x.Form.Name] = nil // marks it as in progress, for recursive forms
			s.defs[x.Form.Name] = s.form(x.Form)
		}
		return map[string]any{"$ref": "#/$defs/" + x.Form.Name}
	case grammar.ShapeOneOf:
		var alts []any
		for _, a := range x.Alts {
			alts = append(alts, s.shape(a))
		}
		return map[string]any{"anyOf": alts}
	}
	return map[string]any{"$ref": "#/$defs/value"}
}
