package scenario

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

// yamlValue formats a decoded value in YAML flow style, so that this package can read it back.
// Addresses differ between machines and are written as !any.
func yamlValue(v any) string {
	switch v := v.(type) {
	case btf.Int:
		if v.Network != "" {
			return v.Network
		}
		return v.String()
	case btf.Enum:
		if v.Name != "" {
			return v.Name
		}
		return v.Int.String()
	case btf.IPv6:
		return grammar.YAMLString(v.String()) // YAML takes some colons for those of keys
	case string:
		return grammar.YAMLString(v)
	case btf.Bytes:
		return fmt.Sprintf("!hex \"%x\"", []byte(v))
	case btf.Pointer:
		if v == 0 {
			return "null"
		}
		return "!any x"
	case btf.List:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = yamlValue(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case btf.Object:
		return "{" + strings.Join(yamlMembers(v), ", ") + "}"
	case bool:
		return strconv.FormatBool(v)
	case nil, btf.Missing:
		return "!any x"
	}
	return fmt.Sprint(v)
}

func yamlMembers(o btf.Object) []string {
	var parts []string
	for _, e := range o {
		if _, missing := e.Value.(btf.Missing); !missing {
			parts = append(parts, yamlKey(e.Name)+": "+yamlValue(e.Value))
		}
	}
	return parts
}

// yamlKey formats a key, quoted unless it is a plain word or number.
func yamlKey(s string) string {
	plain := s != ""
	for i := range len(s) {
		c := s[i]
		if !(c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			plain = false
		}
	}
	if plain {
		return s
	}
	return grammar.YAMLString(s)
}

// yamlPlain returns a string without quotes if that is safe.
func yamlPlain(s string) string {
	if yamlKey(s) == s {
		if _, isNumber := grammar.Number(s); !isNumber && s != "true" && s != "false" && s != "null" {
			return s
		}
	}
	return grammar.YAMLString(s)
}
