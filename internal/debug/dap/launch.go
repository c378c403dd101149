package dap

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/bpfrun/bpfrun/internal/debug"
	"github.com/bpfrun/bpfrun/internal/nearest"
	"github.com/bpfrun/bpfrun/internal/worded"
)

// Launched is the session created for a launch request.
type Launched struct {
	Session *debug.Session
	// Program is the program or case to start, "" for the first one.
	Program string
}

// Launcher creates sessions. Open takes options of bpfrun debug; what it writes to out is shown to
// the user.
type Launcher struct {
	Open func(ctx context.Context, object string, options []Option, out io.Writer) (*Launched, error)
	// Options are the names of the accepted options.
	Options []string
}

// Option is an option of bpfrun debug with a value.
type Option struct{ Name, Value string }

// arguments are the arguments of a launch request.
type arguments struct {
	object      string
	options     []Option
	stopOnEntry bool
	stopOnExit  bool
	noDebug     bool
	onCPU       []started
}

// own are the launch attributes that are not options of bpfrun debug.
var own = []string{"object", "stopOnEntry", "stopOnExit", "noDebug", "onCpu"}

// ofClients are attributes that clients add for their own use.
var ofClients = []string{
	"name", "type", "request", "preLaunchTask", "postDebugTask", "internalConsoleOptions", "presentation", "serverReadyAction", "debugServer",
	"suppressMultipleSessionWarning", "console", "cwd", "order", "autoReload", "compounds",
}

// maxOptions limits the options of a launch request.
const maxOptions = 1000

// parseArguments parses the attributes of a launch configuration.
func parseArguments(raw json.RawMessage, options []string) (*arguments, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var attrs map[string]any
	if err := dec.Decode(&attrs); err != nil {
		return nil, fmt.Errorf("the arguments of launch are not a JSON object: %w", worded.Error(err))
	}
	a := &arguments{}
	for _, name := range sortedKeys(attrs) {
		v := attrs[name]
		if v == nil || strings.HasPrefix(name, "__") || slices.Contains(ofClients, name) {
			continue
		}
		var err error
		switch name {
		case "object":
			a.object, err = asText(name, v)
		case "stopOnEntry":
			a.stopOnEntry, err = asBool(name, v)
		case "stopOnExit":
			a.stopOnExit, err = asBool(name, v)
		case "noDebug":
			a.noDebug, err = asBool(name, v)
		case "onCpu":
			a.onCPU, err = parseOnCPU(v)
		default:
			err = a.option(name, v, options)
		}
		if err != nil {
			return nil, err
		}
	}
	if a.object == "" {
		return nil, fmt.Errorf(`no object given: want "object": "prog.o" in the launch configuration`)
	}
	return a, nil
}

// option parses an attribute that is an option of bpfrun debug, by its name or in camel case.
func (a *arguments) option(name string, v any, options []string) error {
	flag := kebab(name)
	if !slices.Contains(options, flag) {
		text := fmt.Sprintf("launch configuration: unknown attribute %q", name)
		if list := nearest.Names(flag, slices.Concat(options, own), max(2, len(flag)/3)); len(list) > 0 {
			text += " (nearest: " + strings.Join(list, ", ") + ")"
		}
		return fmt.Errorf("%s; attributes are object, stopOnEntry, stopOnExit, onCpu and the options of bpfrun debug", text)
	}
	add := func(v any) error {
		text, err := asText(name, v)
		if err != nil {
			return err
		}
		if len(a.options) == maxOptions {
			return fmt.Errorf("launch configuration: more than %d options", maxOptions)
		}
		a.options = append(a.options, Option{flag, text})
		return nil
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if err := add(e); err != nil {
				return err
			}
		}
		return nil
	case map[string]any: // NAME=VALUE pairs
		for _, key := range sortedKeys(v) {
			text, err := asText(name, v[key])
			if err != nil {
				return err
			}
			if err := add(key + "=" + text); err != nil {
				return err
			}
		}
		return nil
	}
	return add(v)
}

// kebab converts an attribute to the name of an option: sourceMap is source-map.
func kebab(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('-')
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

func asText(name string, v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	case bool:
		return fmt.Sprint(v), nil
	}
	return "", fmt.Errorf("launch configuration: %s: want a string, a number, true or false, or a list of these", name)
}

func asBool(name string, v any) (bool, error) {
	b, ok := v.(bool)
	if !ok {
		return false, fmt.Errorf("launch configuration: %s: want true or false", name)
	}
	return b, nil
}

func sortedKeys(m map[string]any) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
