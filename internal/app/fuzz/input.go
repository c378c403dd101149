package fuzz

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Bytes are bytes that a corpus file has as hex digits.
type Bytes []byte

// MarshalText implements [encoding.TextMarshaler].
func (b Bytes) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(b)), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (b *Bytes) UnmarshalText(text []byte) error {
	out, err := hex.DecodeString(string(text))
	*b = out
	return err
}

// Input is one input: the state that differs from the scenario's, and the events that follow. Event
// and state name what the scenario names, so that an input can be written as a scenario again.
type Input struct {
	// Maps are elements that user space stored, in order.
	Maps []Element `json:"maps,omitempty"`
	// Globals are variables, by name.
	Globals []Variable `json:"globals,omitempty"`
	// Fields are those of kernel objects, as OBJECT.path.
	Fields []Number `json:"fields,omitempty"`
	// Texts are strings of kernel objects, as OBJECT.path: names of tasks, files and devices.
	Texts []Text `json:"texts,omitempty"`
	// Links are pointers among the fields of kernel objects.
	Links  []Link  `json:"links,omitempty"`
	Events []Event `json:"events"`
}

// Element is an element of a map.
type Element struct {
	Map string `json:"map"`
	// In is the key under which a map of maps has the map that the element is in; nil for an
	// element of the map itself.
	In    Bytes `json:"in,omitempty"`
	Key   Bytes `json:"key"`
	Value Bytes `json:"value"`
}

// Variable is a global variable with its bytes.
type Variable struct {
	Name  string `json:"name"`
	Value Bytes  `json:"value"`
}

// Number is a named number: a field, an argument.
type Number struct {
	Name  string `json:"name"`
	Value uint64 `json:"value"`
}

// Text is a named string.
type Text struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Answer is what calls of a helper return.
type Answer struct {
	Helper string `json:"helper"`
	// At is the call, from 1; 0 means every call.
	At      int      `json:"at,omitempty"`
	Returns []uint64 `json:"returns"`
}

// Event is one run of a program.
type Event struct {
	// Run is the run of the scenario that it begins as.
	Run string `json:"run"`
	// After is the time since the event before.
	After time.Duration `json:"after,omitempty"`
	// CPU is the CPU plus one; 0 for that of the scenario.
	CPU    int      `json:"cpu,omitempty"`
	Packet Bytes    `json:"packet,omitempty"`
	Ctx    Bytes    `json:"ctx,omitempty"`
	Args   []Number `json:"args,omitempty"`
	// Links are pointers among the arguments, User what is in user memory behind arguments.
	Links   []Link   `json:"links,omitempty"`
	User    []Buffer `json:"user,omitempty"`
	Helpers []Answer `json:"helpers,omitempty"`
	// Option is the value of a socket option, Sysctl an access to a file of /proc/sys.
	Option Bytes   `json:"option,omitempty"`
	Sysctl *Sysctl `json:"sysctl,omitempty"`
}

// Limits of inputs.
const (
	maxEvents    = 6
	maxElements  = 32
	maxNumbers   = 32
	maxPacket    = 9000
	maxInputFile = 1 << 20
	maxText      = 300
)

// clone returns a copy that shares nothing that is changed in place.
func (in *Input) clone() *Input {
	out := &Input{
		Maps: slices.Clone(in.Maps), Globals: slices.Clone(in.Globals), Fields: slices.Clone(in.Fields), Texts: slices.Clone(in.Texts),
		Links: slices.Clone(in.Links), Events: slices.Clone(in.Events),
	}
	for i := range out.Maps {
		out.Maps[i].Value = slices.Clone(out.Maps[i].Value)
	}
	for i := range out.Events {
		e := &out.Events[i]
		e.Packet, e.Ctx, e.Args, e.Helpers = slices.Clone(e.Packet), slices.Clone(e.Ctx), slices.Clone(e.Args), slices.Clone(e.Helpers)
		e.Links, e.User, e.Option = slices.Clone(e.Links), slices.Clone(e.User), slices.Clone(e.Option)
		if e.Sysctl != nil {
			s := *e.Sysctl
			e.Sysctl = &s
		}
		for j := range e.User {
			e.User[j] = e.User[j].clone()
		}
	}
	return out
}

// encode returns the text of a corpus file.
func (in *Input) encode() []byte {
	b, err := json.Marshal(in)
	if err != nil {
		panic("fuzz: an input is always valid JSON: " + err.Error())
	}
	return b
}

// decodeInput reads the text of a corpus file. Names are not checked.
func decodeInput(data []byte) (*Input, error) {
	in := &Input{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(in); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, fmt.Errorf("more than one value")
	}
	return in, in.bounded()
}

// bounded checks an input that comes from outside.
func (in *Input) bounded() error {
	switch {
	case len(in.Events) == 0:
		return fmt.Errorf("no events")
	case len(in.Events) > maxEvents:
		return fmt.Errorf("%d events, the limit is %d", len(in.Events), maxEvents)
	case len(in.Maps) > maxElements || len(in.Globals) > maxNumbers || len(in.Fields) > maxNumbers || len(in.Texts) > maxNumbers || len(in.Links) > maxNumbers:
		return fmt.Errorf("more than %d elements, variables or fields", maxElements)
	}
	for _, t := range in.Texts {
		if len(t.Value) > maxText || strings.Contains(t.Value, "\x00") {
			return fmt.Errorf("text %s: more than %d bytes, or a NUL", t.Name, maxText)
		}
	}
	for i := range in.Events {
		e := &in.Events[i]
		switch {
		case len(e.Packet) > maxPacket || len(e.Ctx) > maxPacket:
			return fmt.Errorf("event %d: more than %d bytes", i, maxPacket)
		case len(e.Args) > maxNumbers || len(e.Helpers) > maxNumbers || len(e.Links) > maxNumbers || len(e.User) > maxNumbers:
			return fmt.Errorf("event %d: more than %d arguments or helpers", i, maxNumbers)
		case len(e.Option) > maxOption:
			return fmt.Errorf("event %d: more than %d bytes of a socket option", i, maxOption)
		case e.After < 0 || e.After > maxAfter || e.CPU < 0:
			return fmt.Errorf("event %d: a time or CPU out of range", i)
		}
		for _, b := range e.User {
			if len(b.Data) > maxBuffer || len(b.List) > maxVector {
				return fmt.Errorf("event %d: more than %d bytes or %d strings of user memory", i, maxBuffer, maxVector)
			}
		}
		for _, h := range e.Helpers {
			if len(h.Returns) == 0 || len(h.Returns) > maxNumbers || h.At < 0 {
				return fmt.Errorf("event %d: helper %s returns nothing", i, h.Helper)
			}
		}
	}
	return nil
}

// maxAfter is the longest time between two events.
const maxAfter = 24 * time.Hour

// insert puts the events of another input before the last one, with what they need: what both have
// stays as it is.
func (in *Input) insert(from *Input) {
	from = from.clone()
	in.Events = slices.Insert(in.Events, len(in.Events)-1, from.Events...)
	in.adopt(from)
}

// adopt takes over the state before the events of another input, as far as it has none of its own.
func (in *Input) adopt(from *Input) {
	for _, e := range from.Maps {
		if !slices.ContainsFunc(in.Maps, func(o Element) bool { return o.is(e.Map, e.In, e.Key) }) && len(in.Maps) < maxElements {
			in.Maps = append(in.Maps, e)
		}
	}
	for _, v := range from.Globals {
		if !slices.ContainsFunc(in.Globals, func(o Variable) bool { return o.Name == v.Name }) && len(in.Globals) < maxNumbers {
			in.Globals = append(in.Globals, v)
		}
	}
	for _, t := range from.Texts {
		if !slices.ContainsFunc(in.Texts, func(o Text) bool { return o.Name == t.Name }) && len(in.Texts) < maxNumbers {
			in.Texts = append(in.Texts, t)
		}
	}
	for _, l := range from.Links {
		if !slices.ContainsFunc(in.Links, func(o Link) bool { return o.Name == l.Name }) && len(in.Links) < maxNumbers {
			in.Links = append(in.Links, l)
		}
	}
	for _, n := range from.Fields {
		if !slices.ContainsFunc(in.Fields, func(o Number) bool { return o.Name == n.Name }) && len(in.Fields) < maxNumbers {
			in.Fields = append(in.Fields, n)
		}
	}
}

// setNumber sets a number by name, nth of several.
func setNumber(list []Number, name string, v uint64) []Number {
	for i := range list {
		if list[i].Name == name {
			list[i].Value = v
			return list
		}
	}
	if len(list) >= maxNumbers {
		return list
	}
	return append(list, Number{name, v})
}

// setText sets a string by name.
func setText(list []Text, name, v string) []Text {
	for i := range list {
		if list[i].Name == name {
			list[i].Value = v
			return list
		}
	}
	if len(list) >= maxNumbers {
		return list
	}
	return append(list, Text{name, v})
}

// setElement sets an element of a map, or of the map that a map of maps has for the key at.
func (in *Input) setElement(name string, at, key, value []byte) {
	for i := range in.Maps {
		if e := &in.Maps[i]; e.is(name, at, key) {
			e.Value = value
			return
		}
	}
	if len(in.Maps) < maxElements {
		in.Maps = append(in.Maps, Element{name, slices.Clone(at), slices.Clone(key), value})
	}
}

// setGlobal sets a variable.
func (in *Input) setGlobal(name string, value []byte) {
	for i := range in.Globals {
		if in.Globals[i].Name == name {
			in.Globals[i].Value = value
			return
		}
	}
	if len(in.Globals) < maxNumbers {
		in.Globals = append(in.Globals, Variable{name, value})
	}
}

// setAnswer sets what a helper returns in an event.
func (e *Event) setAnswer(a Answer) {
	for i := range e.Helpers {
		if e.Helpers[i].Helper == a.Helper {
			e.Helpers[i] = a
			return
		}
	}
	if len(e.Helpers) < maxNumbers {
		e.Helpers = append(e.Helpers, a)
	}
}
