package record

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Event is one thing that happened.
type Event struct {
	// At is when it happened, since a moment that is the same for all events of an input.
	At   time.Duration
	Hook string
	Args []Arg
	Task Task
	// CPU is the processor, -1 if it is not known.
	CPU int

	packet string // the bytes of a captured packet in hexadecimal digits
}

// Task is the task in which an event happened. A PID of 0 with an empty Comm means that it is not
// known.
type Task struct {
	PID, TGID, Parent int
	Comm              string
}

func (t Task) known() bool { return t.PID != 0 || t.Comm != "" }

// Arg is a value of an event.
type Arg struct {
	Name, Text string
	Kind       Kind
}

// Kind says what a value is, for redaction.
type Kind uint8

// Kinds of values.
const (
	Number Kind = iota
	Path
	Comm
	Address
	Argv // a vector of strings, as "[a b]"
	Text // other text
)

// ErrInput is wrapped by errors of inputs that cannot be read.
var ErrInput = errors.New("record")

// Options say what is written.
type Options struct {
	Redact Redaction
	// Hooks are the hooks that are kept; none means all. "syscall/*" stands for all system calls.
	Hooks []string
	// Limit is how many events are written at most.
	Limit int
	// Untimed leaves out the time between events.
	Untimed bool
	// PacketHook is the hook that captured packets fire.
	PacketHook string
}

// Summary counts what was read and written.
type Summary struct {
	Lines   int            `json:"lines"`
	Events  int            `json:"events"`
	Skipped int            `json:"skipped"`  // lines that tell of no event
	Left    map[string]int `json:"left_out"` // values that were left out, by argument
	Cut     bool           `json:"cut"`      // the limit was reached
	Lost    int            `json:"lost"`     // events that the recorded kernel lost
	Others  []string       `json:"others"`   // hooks of events that [Options.Hooks] left out, in the order of the input
}

// Limits of what a file of events declares and what one line may hold.
const (
	maxTasks = 2000
	maxLine  = 1 << 20
	// DefaultLimit is how many events are written unless more are asked for, MaxLimit how many at
	// most: a file has as many lines.
	DefaultLimit = 100_000
	MaxLimit     = 300_000
	maxLeft      = 1 << 10
	maxOthers    = 8
	maxArgs      = 64
	// maxValue limits the bytes of a value: lines of a file of events, and their words with dollar
	// signs, have limits of their own.
	maxValue = 24 << 10
	maxName  = 256
)

// reserved are words that mean something else than a hook at the beginning of an event's line, and
// settings those that mean something else than an argument before its equals sign (docs/exec.md).
var (
	reserved = []string{"pass", "repeat", "end", "let", "task", "auto", "clock", "---"}
	settings = []string{"repeat", "cpu", "packet", "task"}
)

// writable reports whether the line of an event can say a value: a file may have values that lines
// write in another way, or that are too long.
func writable(a Arg) bool {
	if len(a.Text) > maxValue || len(a.Name) > maxName || a.Name == "ret" && !isNumber(a.Text) {
		return false
	}
	return !slices.Contains(settings, a.Name)
}

// errEnough ends reading when the limit is reached.
var errEnough = errors.New("enough events")

// Recorder writes events as lines of a file.
type Recorder struct {
	out   *bufio.Writer
	opt   Options
	red   *redactor
	sum   Summary
	last  time.Duration
	begun bool
	tasks map[int]Task
	err   error
}

// NewRecorder returns a recorder that writes to out.
func NewRecorder(out io.Writer, opt Options) *Recorder {
	if opt.Limit <= 0 || opt.Limit > MaxLimit {
		opt.Limit = DefaultLimit
	}
	if opt.PacketHook == "" {
		opt.PacketHook = "xdp"
	}
	return &Recorder{out: bufio.NewWriter(out), opt: opt, red: newRedactor(opt.Redact), tasks: map[int]Task{}, sum: Summary{Left: map[string]int{}}}
}

// Comment writes a line that is no event.
func (r *Recorder) Comment(text string) {
	fmt.Fprintf(r.out, "# %s\n", strings.Map(func(c rune) rune {
		if c < ' ' {
			return ' '
		}
		return c
	}, text))
}

// Summary returns what was counted so far.
func (r *Recorder) Summary() Summary { return r.sum }

// Close writes what is left and returns what was counted.
func (r *Recorder) Close() (Summary, error) {
	if err := r.out.Flush(); r.err == nil {
		r.err = err
	}
	return r.sum, r.err
}

// left counts a value that an event cannot have.
func (r *Recorder) left(hook, name string) {
	key := hook + " " + name
	if r.sum.Left[key] > 0 || len(r.sum.Left) < maxLeft {
		r.sum.Left[key]++
	}
}

func (r *Recorder) kept(hook string) bool {
	if len(r.opt.Hooks) == 0 {
		return true
	}
	_, name, _ := strings.Cut(hook, "/")
	for _, h := range r.opt.Hooks {
		prefix, all := strings.CutSuffix(h, "*")
		if h == hook || h == name || all && strings.HasPrefix(hook, prefix) {
			return true
		}
	}
	return false
}

func short(text string) string { return text[:min(len(text), maxName)] }

// Add writes an event.
func (r *Recorder) Add(e Event) error {
	if !r.kept(e.Hook) {
		if len(r.sum.Others) < maxOthers && !slices.Contains(r.sum.Others, e.Hook) {
			r.sum.Others = append(r.sum.Others, e.Hook)
		}
		return nil
	}
	if slices.Contains(reserved, e.Hook) || len(e.Hook) > maxName {
		r.left(short(e.Hook), "the event, whose name events cannot have")
		return nil
	}
	if r.sum.Events >= r.opt.Limit {
		r.sum.Cut = true
		return errEnough
	}
	r.sum.Events++
	if r.begun && !r.opt.Untimed && e.At > r.last {
		fmt.Fprintf(r.out, "pass %s\n", e.At-r.last)
	}
	if !r.begun || e.At > r.last { // of threads, some events come late
		r.last, r.begun = e.At, true
	}
	line := word(e.Hook)
	for i, a := range e.Args {
		if i == maxArgs {
			r.left(e.Hook, "further arguments")
			break
		}
		if !writable(a) {
			r.left(e.Hook, short(a.Name))
			continue
		}
		line += " " + word(a.Name+"="+r.red.value(a))
	}
	if e.packet != "" {
		line += " packet=" + e.packet
	}
	if e.CPU > 0 {
		line += " cpu=" + strconv.Itoa(e.CPU)
	}
	if e.Task.known() {
		line += r.task(e.Task)
	}
	if _, err := fmt.Fprintln(r.out, line); err != nil {
		r.err = err
		return err
	}
	return nil
}

// task returns the words that name a task, which is declared when it is first seen and when it has
// changed.
func (r *Recorder) task(t Task) string {
	t.Comm = r.red.comm(t.Comm)
	words := []string{"pid=" + strconv.Itoa(t.PID)}
	if t.TGID != 0 && t.TGID != t.PID {
		words = append(words, "tgid="+strconv.Itoa(t.TGID))
	}
	if t.Parent != 0 {
		words = append(words, "real_parent->pid="+strconv.Itoa(t.Parent), "real_parent->tgid="+strconv.Itoa(t.Parent))
	}
	if t.Comm != "" {
		words = append(words, "comm="+t.Comm)
	}
	before, known := r.tasks[t.PID]
	prefix := ""
	if !known && len(r.tasks) >= maxTasks {
		prefix = "task."
	}
	line := ""
	for _, w := range words {
		line += " " + word(prefix+w)
	}
	if prefix != "" {
		return line
	}
	if !known || before != t {
		r.tasks[t.PID] = t
		fmt.Fprintf(r.out, "task p%d%s\n", t.PID, line)
	}
	return fmt.Sprintf(" task=@p%d", t.PID)
}

// word quotes a word where it has blanks or quotes, and protects dollar signs and what begins a
// line's comment.
func word(text string) string {
	text = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return '?'
		}
		return c
	}, strings.ToValidUTF8(text, "?"))
	text = strings.ReplaceAll(text, "$", "$$")
	if text != "" && !strings.ContainsAny(text, " \t\"\\") && text[0] != '#' {
		return text
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
