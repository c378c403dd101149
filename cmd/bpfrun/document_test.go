package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"sort"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A shape describes JSON as the published formats do. Fields may be added to a document, so only
// those listed are checked. The leaves are names of [leaves]; "|null" allows null.
type (
	object map[string]any   // every field must be there, except those whose name ends in "?"
	listOf struct{ of any } // a list of that shape
	mapOf  struct{ of any } // an object with any names
	null   struct{ or any } // null or that shape
)

var hexNumber = regexp.MustCompile(`^0x(0|[1-9a-f][0-9a-f]*)$`)
var hexBytes = regexp.MustCompile(`^([0-9a-f]{2})*$`)

var leaves = map[string]func(v any) bool{
	"string": func(v any) bool { _, ok := v.(string); return ok },
	"bool":   func(v any) bool { _, ok := v.(bool); return ok },
	"int":    func(v any) bool { n, ok := v.(json.Number); return ok && !bytes.ContainsAny([]byte(n), ".eE") },
	"number": func(v any) bool { _, ok := v.(json.Number); return ok },
	"hex64":  func(v any) bool { s, ok := v.(string); return ok && hexNumber.MatchString(s) },
	"bytes":  func(v any) bool { s, ok := v.(string); return ok && hexBytes.MatchString(s) },
	"any":    func(any) bool { return true },
	"schema": func(v any) bool { return v == "bpfrun/1" },
	"status": func(v any) bool {
		s, _ := v.(string)
		return slices.Contains([]string{"ok", "absent", "unknown-hook", "refused", "not-simulated", "fault", "failed", "disabled"}, s)
	},
	"event":  func(v any) bool { return v == "ringbuf" || v == "perf" },
	"access": func(v any) bool { return v == "load" || v == "store" },
	"result": func(v any) bool { return v == "ok" || v == "poison" || v == "error" },
	"order":  func(v any) bool { return v == "little" || v == "big" },
	"sha256": func(v any) bool { s, ok := v.(string); return ok && len(s) == 64 && hexBytes.MatchString(s) },
	"corekind": func(v any) bool {
		s, _ := v.(string)
		return slices.Contains([]string{
			"byte_off", "byte_sz", "field_exists", "signed", "lshift_u64", "rshift_u64", "local_type_id", "target_type_id",
			"type_exists", "type_size", "type_matches", "enumval_exists", "enumval_value",
		}, s)
	},
}

var (
	errorShape = null{object{
		"kind": "string", "message": "string", "object?": "string", "section?": "string", "program?": "string", "insn?": "int", "source?": "string",
	}}
	targetShape = object{"name": "string", "source": "string", "arch": "string", "byte_order": "order", "pointer_size": "int", "types": "int"}
	accessShape = listOf{object{"insn": "int", "type": "string", "path": "string", "set": "bool", "relocated": "bool"}}
	faultShape  = null{object{
		"kind": "string", "insn": "int", "text": "string", "source?": "string", "addr?": "hex64", "size?": "int", "access?": "access", "object?": "string",
	}}
	runShape = object{
		"name": "string", "ret": "hex64", "insns": "int", "helpers": mapOf{"int"}, "fault": faultShape, "data_out?": "bytes", "ctx_out?": "bytes",
		"trace":        listOf{"string"},
		"events":       listOf{object{"map": "string", "kind": "event", "data": "bytes", "typed?": "any"}},
		"kernel_reads": accessShape, "kernel_writes": accessShape, "warnings": listOf{"string"},
		"findings":     listOf{object{"kind": "string", "program": "string", "insn": "int", "source?": "string", "message": "string"}},
		"expectations": listOf{object{"what": "string", "ok": "bool", "want": "string", "got": "string"}},
	}
	programShape = object{
		"name": "string", "section": "string", "type": "string", "hook": "string", "insns": "int", "subprograms": listOf{"string"}, "status": "status", "optional": "bool",
		"relocations": object{"total": "int", "changed": "int", "poisoned_dead": "int", "poisoned_may": "int", "poisoned_reached": "int", "errors": "int"},
		"runs":        listOf{runShape},
	}
	runDocument = object{
		"schema": "schema", "exit": "int", "error": errorShape, "object": "string", "target": targetShape, "programs": listOf{programShape},
		"maps": mapOf{object{
			"type": "string", "key_size": "int", "value_size": "int", "max_entries": "int",
			"entries": listOf{object{"key": "bytes", "value?": "bytes", "percpu?": listOf{"bytes"}, "typed?": object{"key": "any", "value": "any"}}},
		}},
		"globals": mapOf{object{"section": "string", "size": "int", "bytes": "bytes", "typed?": "any"}},
	}
	errorDocument = object{"schema": "schema", "exit": "int", "error": object{"kind": "string", "message": "string"}, "programs": listOf{"any"}}
	reloDocument  = object{
		"schema": "schema", "exit": "int", "error": errorShape, "object": "string", "target": targetShape,
		"programs": listOf{object{
			"name": "string", "section": "string", "is_subprogram": "bool", "optional": "bool", "insns": "int",
			"hashes": object{"core": "sha256", "final?": "sha256", "digest?": "sha256"},
			"relocations": listOf{object{
				"program": "string", "insn": "int", "section_insn": "int", "source": "string", "kind": "corekind", "local": "string", "target": "string",
				"candidates": "int", "old": "hex64", "new": "hex64", "result": "result", "mem_size?": "string", "error?": "string",
			}},
		}},
	}
	verifyDocument = object{
		"schema": "schema", "exit": "int", "error": errorShape, "object": "string", "target": targetShape,
		"programs": listOf{object{
			"name": "string", "section": "string", "type": "string", "kernel": "string", "verdict": "string", "reason?": "string", "message?": "string",
			"errno?": "string", "insn?": "int", "source?": object{"file": "string", "line": "int", "text": "string"}, "processed_insns": "int",
			"total_states": "int", "peak_states": "int", "registers?": "string", "path?": listOf{object{"insn": "int", "taken": "bool"}},
		}},
	}
	infoDocument = object{
		"schema": "schema", "exit": "int", "error": errorShape, "object": "string",
		"programs": listOf{object{"name": "string", "section": "string", "type": "string", "hook": "string", "insns": "int"}},
	}
)

var documents = map[string]any{
	"bench": object{"schema": "schema", "ret": "hex64", "insns": "int", "ns_min": "number", "ns_median": "number", "load_ns": "int", "compile_ns": "int"},

	"run": runDocument, "relo": reloDocument, "info": infoDocument, "error": errorDocument,
	"verify":   verifyDocument,
	"verifies": object{"schema": "schema", "exit": "int", "results": listOf{verifyDocument}},
	"runs":     object{"schema": "schema", "exit": "int", "results": listOf{runDocument}},
	"relos":    object{"schema": "schema", "exit": "int", "results": listOf{reloDocument}},
}

// checkDocument lists in what a document differs from the published form of its kind.
func checkDocument(kind string, data []byte) []string {
	shape, ok := documents[kind]
	if !ok {
		return []string{"no such kind of document: " + kind}
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return []string{err.Error()}
	}
	if _, err := d.Token(); err != io.EOF {
		return []string{"something follows the document"}
	}
	var c shapeCheck
	c.check("", shape, v)
	return c
}

type shapeCheck []string

func (c *shapeCheck) fail(path, format string, args ...any) {
	*c = append(*c, path+": "+fmt.Sprintf(format, args...))
}

func (c *shapeCheck) check(path string, shape, v any) {
	switch s := shape.(type) {
	case string:
		if !leaves[s](v) {
			c.fail(path, "%v is no %s", v, s)
		}
	case null:
		if v != nil {
			c.check(path, s.or, v)
		}
	case listOf:
		l, ok := v.([]any)
		if !ok {
			c.fail(path, "%v is not a list", v)
		}
		for i, x := range l {
			c.check(fmt.Sprintf("%s[%d]", path, i), s.of, x)
		}
	case mapOf:
		m, ok := v.(map[string]any)
		if !ok {
			c.fail(path, "%v is not an object", v)
		}
		for k, x := range m {
			c.check(path+"."+k, s.of, x)
		}
	case object:
		m, ok := v.(map[string]any)
		if !ok {
			c.fail(path, "%v is not an object", v)
			return
		}
		names := make([]string, 0, len(s))
		for name := range s {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			field, optional := name, name[len(name)-1] == '?'
			if optional {
				field = name[:len(name)-1]
			}
			x, there := m[field]
			switch {
			case there:
				c.check(path+"."+field, s[name], x)
			case !optional:
				c.fail(path, "field %s is missing", field)
			}
		}
	}
}

func TestCheckDocument(t *testing.T) {
	assert.Empty(t, checkDocument("error", []byte(`{"schema": "bpfrun/1", "exit": 2, "error": {"kind": "error", "message": "m"}, "programs": [], "more": 1}`)))
	assert.Len(t, checkDocument("error", []byte(`{"schema": "bpfrun/2", "exit": 2.5, "error": {"kind": 1}, "programs": null}`)), 5)
	assert.NotEmpty(t, checkDocument("error", []byte(`{} {}`)))
}
