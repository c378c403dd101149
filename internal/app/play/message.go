package play

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/bpfrun/bpfrun/internal/app/report"
)

// Message asks for something. Do is its name in the table of messages; the others are what that one
// takes.
type Message struct {
	// ID is returned with the answer.
	ID int64  `json:"id"`
	Do string `json:"do"`
	// Name and Data are a file: of an object, or of a kernel's types.
	Name string `json:"name,omitempty"`
	Data []byte `json:"data,omitempty"`
	// Object is what open returned for it.
	Object  string   `json:"object,omitempty"`
	Kernel  string   `json:"kernel,omitempty"`
	Kernels []string `json:"kernels,omitempty"`
	Program string   `json:"program,omitempty"`
	// Packet is an expression or hex digits.
	Packet string `json:"packet,omitempty"`
	// Type is that of layout.
	Type string `json:"type,omitempty"`
	// At is the number of executed instructions at which step stops; -1 is the end of the run.
	At int64 `json:"at,omitempty"`
	// Value is an expression: what why is asked about.
	Value string `json:"value,omitempty"`
	// Processor is that of native code.
	Processor string `json:"processor,omitempty"`
	// Text is BPF assembly text.
	Text string `json:"text,omitempty"`
	// Runs is how many inputs fuzz tries, and how many orders race follows; 0 is the usual number.
	Runs int `json:"runs,omitempty"`
	// Unverified runs programs that the kernel's verifier would refuse.
	Unverified bool `json:"unverified,omitempty"`
}

// Answer is the reply to a message: a result or an error.
type Answer struct {
	ID     int64         `json:"id"`
	Result any           `json:"result,omitempty"`
	Error  *report.Error `json:"error,omitempty"`
}

// messages is the table of messages.
var messages = map[string]func(*Player, context.Context, *Message) (any, error){
	"kernels":  (*Player).listKernels, // the kernels that are known
	"kernel":   (*Player).giveKernel,  // adds the kernel whose types are in the file
	"open":     (*Player).openObject,  // opens the object in the file
	"assemble": (*Player).assemble,    // an object file of BPF assembly text
	"run":      (*Player).run,         // runs all programs of an object once
	"code":     (*Player).code,        // the code of programs as the kernel receives it, with what ran
	"native":   (*Player).native,      // the native code of a program
	"step":     (*Player).stepTo,      // a run at a point in it
	"why":      (*Player).why,         // where a value at that point came from
	"verify":   (*Player).verify,      // the verdicts of the kernel's verifier
	"costs":    (*Player).costs,       // what the verification of a program costs, by instruction and line
	"matrix":   (*Player).matrix,      // an object on several kernels
	"layout":   (*Player).layout,      // a type on several kernels, beside that of the object
	"packet":   (*Player).packet,      // the bytes and headers of a packet
	"layers":   (*Player).layers,      // the headers that packets may have
	"fuzz":     (*Player).fuzz,        // searches inputs with which programs do what is wrong
	"race":     (*Player).race,        // runs programs against each other
}

// LimitError means that a message asks for more than a page may use.
type LimitError struct {
	What      string
	Got, Most int
}

// Error names the limit.
func (e *LimitError) Error() string {
	if e.Got == 0 {
		return e.What + " is missing"
	}
	return fmt.Sprintf("%s: %d are more than the limit of %d", e.What, e.Got, e.Most)
}

// UnknownError means that a message names something that is not there.
type UnknownError struct{ What, Name, Hint string }

// Error names it and what would work.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("there is no %s %q: %s", e.What, e.Name, e.Hint)
}

// TimeError means that a message took too long.
type TimeError struct{ Do string }

// Error says what was stopped.
func (e *TimeError) Error() string { return e.Do + " took too long and was stopped" }

// BugError is a panic while a message was answered.
type BugError struct {
	Do    string
	Value any
	Stack string
}

// Error asks for a report.
func (e *BugError) Error() string {
	return fmt.Sprintf("this is a bug in bpfrun: %s: %v; please report it with the object", e.Do, e.Value)
}

// Answer answers a message. Its result is always the JSON of an [Answer].
func (p *Player) Answer(ctx context.Context, message []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	var m Message
	a := Answer{}
	err := decode(message, &m)
	if err == nil {
		a.ID = m.ID
		a.Result, err = p.do(ctx, &m)
	}
	if err != nil {
		a.Result, a.Error = nil, report.NewError(err)
	}
	return encode(a)
}

// decode reads a message. Unknown members are refused, so that a page of another version notices.
func decode(message []byte, m *Message) error {
	if len(message) > MaxMessage {
		return &LimitError{What: "the message", Got: len(message), Most: MaxMessage}
	}
	d := json.NewDecoder(bytes.NewReader(message))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return fmt.Errorf("message: %w", err)
	}
	if d.More() {
		return errors.New("message: more than one JSON object")
	}
	return nil
}

// encode writes an answer. A result that is no JSON is a bug, which the answer then says.
func encode(a Answer) []byte {
	var b strings.Builder
	if err := report.WriteJSON(&b, a); err != nil {
		b.Reset()
		_ = report.WriteJSON(&b, Answer{ID: a.ID, Error: report.NewError(fmt.Errorf("answer: %w", err))})
	}
	return []byte(b.String())
}

// do does what a message asks for. After a panic, what it may have left half done is dropped: the
// run that was stepped through and the opened kernels, which are opened again.
func (p *Player) do(ctx context.Context, m *Message) (result any, err error) {
	answer := messages[m.Do]
	if answer == nil {
		return nil, &UnknownError{What: "message", Name: m.Do, Hint: "the page and bpfrun are of different versions"}
	}
	defer func() {
		if r := recover(); r != nil {
			p.step, p.targets = nil, nil
			result, err = nil, &BugError{Do: m.Do, Value: r, Stack: string(debug.Stack())}
		}
	}()
	ctx, stop := p.limited(ctx)
	defer stop()
	result, err = answer(p, ctx, m)
	if ctx.Err() != nil && err != nil {
		err = &TimeError{Do: m.Do}
	}
	return result, err
}
