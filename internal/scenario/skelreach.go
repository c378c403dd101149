package scenario

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/find/search"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// reachedInput is what the runs of a skeleton need before they start: contents of maps and
// variables, which all runs of a file share.
type reachedInput struct {
	maps    []elements
	globals []assigned
}

// elements are the contents of a map.
type elements struct {
	name  string
	lines []assigned
}

// assigned is a key and its value, as text.
type assigned struct{ key, value string }

// add adds a value. It returns false if another run needs another one.
func add(list []assigned, e assigned) ([]assigned, bool) {
	for _, x := range list {
		if x.key == e.key {
			return list, x.value == e.value
		}
	}
	return append(list, e), true
}

func (r *reachedInput) element(name string, e assigned) bool {
	for i := range r.maps {
		if r.maps[i].name == name {
			var ok bool
			r.maps[i].lines, ok = add(r.maps[i].lines, e)
			return ok
		}
	}
	r.maps = append(r.maps, elements{name, []assigned{e}})
	return true
}

func (r *reachedInput) global(e assigned) (ok bool) {
	r.globals, ok = add(r.globals, e)
	return ok
}

func (r *reachedInput) write(b *bytes.Buffer) {
	if len(r.maps) > 0 {
		b.WriteString("maps:\n")
	}
	for _, m := range r.maps {
		fmt.Fprintf(b, "  %s:\n", yamlKey(m.name))
		for _, e := range m.lines {
			fmt.Fprintf(b, "    %s: %s\n", e.key, e.value)
		}
	}
	if len(r.globals) > 0 {
		b.WriteString("globals:\n")
	}
	for _, e := range r.globals {
		fmt.Fprintf(b, "  %s: %s\n", e.key, e.value)
	}
}

// perform makes the run that a skeleton describes.
func (s *skeleton) perform(ctx context.Context, name string) (*search.Found, error) {
	if s.reach {
		s.keys = keyWords{}
		return search.Furthest(ctx, s.m, name, machine.Input{}, search.Options{})
	}
	s.keys = keyWords{m: s.m, words: map[uint64]bool{}}
	res, err := s.m.Run(ctx, name, machine.Input{Trace: &s.keys})
	return &search.Found{Result: res}, err
}

// changedArgs replaces arguments by those that were changed.
func (s *skeleton) changedArgs(given []string, changed []search.Override) []string {
	for _, o := range changed {
		if o.Kind != search.Memory || o.Place.Input != search.Argument {
			continue
		}
		key := yamlKey(o.Place.Name) + ": "
		given = slices.DeleteFunc(given, func(g string) bool { return strings.HasPrefix(g, key) })
		given = append(given, key+o.Text)
	}
	return given
}

// reached writes what was changed to get further: what belongs to the run here, contents of maps
// and variables for the head of the file. Fields of kernel objects are in objects already, since
// the program read them.
func (s *skeleton) reached(found *search.Found) {
	b := &s.runs
	if len(found.Changed) > 0 {
		text := make([]string, len(found.Changed))
		for i, o := range found.Changed {
			text[i] = o.String()
		}
		fmt.Fprintf(b, "  # reached by: %s\n", strings.Join(text, ", "))
	}
	if found.Packet != nil {
		fmt.Fprintf(b, "  packet: \"%x\"\n", found.Packet)
	}
	var fields, helpers, missing []string
	for _, o := range found.Changed {
		switch {
		case o.Kind == search.Result:
			helpers = append(helpers, fmt.Sprintf("%s: %d", o.Helper, int64(o.Value)))
		case o.Kind == search.Element, o.Place.Input == search.MapValue:
			if !s.reachedElement(o, found.Changed) {
				missing = append(missing, o.String())
			}
		case o.Place.Input == search.Global:
			if !s.reachedGlobal(o) {
				missing = append(missing, o.String())
			}
		case o.Place.Input == search.ContextField:
			fields = append(fields, yamlKey(o.Place.Name)+": "+o.Text)
		case o.Kind == search.Memory && slices.Contains([]search.Input{search.User, search.Unnamed, search.Context}, o.Place.Input):
			missing = append(missing, o.String())
		}
	}
	if len(fields) > 0 {
		fmt.Fprintf(b, "  context: {fields: {%s}}\n", strings.Join(fields, ", "))
	}
	if len(helpers) > 0 {
		fmt.Fprintf(b, "  helpers: {%s}\n", strings.Join(helpers, ", "))
	}
	if len(missing) > 0 {
		fmt.Fprintf(b, "  # not in this file, since it has no key or another run needs another value: %s\n", strings.Join(missing, ", "))
	}
}

// reachedElement adds an element to the contents of maps.
func (s *skeleton) reachedElement(o search.Override, changed []search.Override) bool {
	def, ok := s.m.Linked().Map(o.Place.Name)
	mp, simulated := s.m.MapByName(o.Place.Name)
	if !ok || !simulated {
		return false
	}
	note, key := s.key(def, o.Place.Key)
	if note != "" || strings.Contains(key, "!any") {
		return false
	}
	value := s.typed(def.ValueType, search.Contents(mp, def.Name, o.Place.Key, changed))
	return !strings.Contains(value, "!any") && s.given.element(def.Name, assigned{key, value})
}

// reachedGlobal adds a variable.
func (s *skeleton) reachedGlobal(o search.Override) bool {
	name := o.Place.Name
	data, err := s.m.ReadVariable(name)
	if err != nil || o.Place.Off+len(o.Data) > len(data) {
		return false
	}
	copy(data[o.Place.Off:], o.Data)
	for _, def := range s.m.Linked().Maps {
		if i := slices.IndexFunc(def.Vars, func(v loader.Var) bool { return v.Name == name }); i >= 0 {
			return s.given.global(assigned{yamlKey(name), s.typed(def.Vars[i].Type, data)})
		}
	}
	return false
}
