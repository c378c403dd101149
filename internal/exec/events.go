package exec

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/worded"
)

// Events are what happens in the simulated kernel while a tool runs, in steps: each step is run
// when the tool waits.
type Events struct {
	Steps []Step
	// Clock has sleeps of the tool simulated: they end at once and advance simulated time.
	Clock bool
}

// Step is a list of lines that happen together. The lines of a loop stand between its first and its
// last one.
type Step []Line

// Line is one line of a step: an event, the passing of time, the beginning or the end of a loop, or
// a place for invented events.
type Line struct {
	Text   string
	Number int // of the line in the file, from 1
	Event  bpfsys.Event
	Repeat int
	Pass   time.Duration // simulated time to pass; 0 for an event
	// Loop begins a loop.
	Loop *Loop
	// End ends the innermost loop.
	End bool
	// Auto stands for one event of each hook that has programs.
	Auto bool

	open  []string // a line that names variables of loops: its words, with all other variables replaced
	scope *scope
	tasks map[string]bool // the arguments whose fields are a declared task's; "task" for the event's
}

// Loop repeats the lines up to its end.
type Loop struct {
	Count int
	// Every is the simulated time that passes after each repetition.
	Every time.Duration
	// Var is the name of the variable that counts repetitions from 0.
	Var string
}

// ErrEvents is wrapped by the errors of a malformed events file.
var ErrEvents = errors.New("events")

// maxEventLines limits the lines of an events file, maxEventLine the bytes of a line, and
// maxEventRepeat its repetitions.
const (
	maxEventLines  = 1 << 20
	maxEventLine   = 1 << 20
	maxEventRepeat = 1_000_000
)

// ReadEvents reads an events file. A line names a hook and its values, "HOOK name=value ...":
// arguments and record fields by name, task.FIELD for the task it happens in, cpu=N, repeat=N,
// packet=HEX; or is one of these:
//
//	pass DURATION                      simulated time passes
//	repeat N [as NAME] [every TIME]    the lines up to "end" happen N times; $i, or $NAME, counts from 0
//	let NAME=VALUE                     $NAME stands for the value in later lines
//	task NAME pid=N comm=TEXT ...      a task, which later lines name as @NAME: task=@NAME, prev=@NAME
//	auto                               one invented event for each hook that has programs
//	---                                ends a step
//	clock                              simulates sleeps
//
// "#" starts a comment. Errors wrap [ErrEvents].
func ReadEvents(r io.Reader) (*Events, error) {
	ev := &Events{Steps: []Step{nil}}
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, maxEventLine)
	p := newScope()
	n := 0
	for sc.Scan() {
		if n++; n > maxEventLines {
			return nil, fmt.Errorf("%w: more than %d lines", ErrEvents, maxEventLines)
		}
		text := strings.TrimSpace(sc.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		if text == "clock" {
			ev.Clock = true
			continue
		}
		lines, err := p.line(text, n)
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrEvents, n, err)
		}
		if text == "---" {
			ev.Steps = append(ev.Steps, nil)
			continue
		}
		last := len(ev.Steps) - 1
		ev.Steps[last] = append(ev.Steps[last], lines...)
	}
	if err := sc.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("%w: line %d is longer than %d bytes", ErrEvents, n+1, maxEventLine)
	} else if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEvents, err)
	}
	if len(p.loops) > 0 {
		return nil, fmt.Errorf("%w: line %d: the loop has no end", ErrEvents, p.loops[len(p.loops)-1].line)
	}
	return ev, nil
}

// AutoEvents are the events of a file with the line "auto".
func AutoEvents() *Events {
	return &Events{Steps: []Step{{{Text: "auto", Auto: true}}}}
}

// ParseLine parses one line that stands alone: an event or "pass DURATION".
func ParseLine(text string) (Line, error) {
	words, err := split(text)
	if err != nil {
		return Line{}, err
	}
	return parseWords(text, words, nil)
}

func parseWords(text string, words []string, s *scope) (Line, error) {
	if len(words) == 0 {
		return Line{}, errors.New("want HOOK name=value ...")
	}
	l := Line{Text: text, Repeat: 1, scope: s}
	var err error
	if words[0] == "pass" {
		if len(words) != 2 {
			return l, errors.New(`want "pass DURATION", such as pass 10ms`)
		}
		l.Pass, err = duration(words[1])
		return l, err
	}
	l.Event = bpfsys.Event{Hook: words[0], Args: map[string]any{}}
	for _, w := range words[1:] {
		name, text, ok := strings.Cut(w, "=")
		if !ok || name == "" {
			return l, fmt.Errorf("%q: want name=value (a value with blanks in double quotes: argv=\"[ls -l]\")", w)
		}
		if err := l.set(name, text); err != nil {
			return l, fmt.Errorf("%s: %w", name, err)
		}
	}
	return l, l.userData()
}

func duration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration: want a number with a unit, such as 10ms", text)
	}
	if d <= 0 {
		return 0, errors.New("the duration must be positive")
	}
	return d, nil
}

func (l *Line) set(name, text string) (err error) {
	field, task := strings.CutPrefix(name, "task.")
	declared, err := l.scope.task(name, text)
	switch {
	case err != nil:
		return err
	case declared != nil && name == "task":
		before := l.Event.Task
		l.Event.Task = declared
		l.declares(name)
		for k, v := range before { // fields that stand before it
			if err := l.own(name, &l.Event.Task); err != nil {
				return err
			}
			l.Event.Task[k] = v
		}
	case declared != nil:
		l.fieldsOf(name)
		l.Event.Tasks[name] = declared
		l.declares(name)
	case task:
		if err := l.own("task", &l.Event.Task); err != nil {
			return err
		}
		l.Event.Task[field] = value(text)
	case strings.Contains(name, "."):
		arg, field, _ := strings.Cut(name, ".")
		if arg == "" || field == "" {
			return errors.New("want ARGUMENT.FIELD")
		}
		fields := l.fieldsOf(arg)
		if err := l.own(arg, &fields); err != nil {
			return err
		}
		fields[field] = value(text)
		l.Event.Tasks[arg] = fields
	case name == "repeat":
		l.Repeat, err = strconv.Atoi(text)
		if err != nil || l.Repeat < 1 || l.Repeat > maxEventRepeat {
			return fmt.Errorf("want 1 to %d", maxEventRepeat)
		}
	case name == "cpu":
		l.Event.CPU, err = strconv.Atoi(text)
	case name == "packet":
		l.Event.Packet, err = hex.DecodeString(strings.ReplaceAll(text, ":", ""))
	case l.isSocket(text):
		sk, err := hostSocket(text)
		if err != nil {
			return err
		}
		if l.Event.Sockets == nil {
			l.Event.Sockets = map[string]bpfsys.HostSocket{}
		}
		l.Event.Sockets[name] = sk
	case name == "ret" && !strings.HasPrefix(l.Event.Hook, "uprobe/"): // functions of programs return text, too
		l.Event.Args[name], err = result(text)
	default:
		l.Event.Args[name] = value(text)
	}
	return worded.Error(err)
}

// fieldsOf returns the fields of an argument.
func (l *Line) fieldsOf(arg string) map[string]any {
	if l.Event.Tasks == nil {
		l.Event.Tasks = map[string]map[string]any{}
	}
	return l.Event.Tasks[arg]
}

// declares notes that the fields of an argument are a declared task's.
func (l *Line) declares(arg string) {
	if l.tasks == nil {
		l.tasks = map[string]bool{}
	}
	l.tasks[arg] = true
}

// own makes fields the line's own, so that they can be changed. Lines share the fields of a
// declared task.
func (l *Line) own(arg string, fields *map[string]any) error {
	if *fields == nil {
		*fields = map[string]any{}
	}
	if !l.tasks[arg] {
		return nil
	}
	delete(l.tasks, arg)
	*fields = maps.Clone(*fields)
	return l.scope.grow(fieldBytes * len(*fields))
}

// fieldBytes is about what a field of a task takes in memory.
const fieldBytes = 64

// result returns what a function or system call returns: a number, or an error such as -ENOENT.
func result(text string) (any, error) {
	v := value(text)
	if _, isText := v.(string); !isText {
		return v, nil
	}
	if name, ok := strings.CutPrefix(text, "-"); ok {
		if e, ok := uapi.ParseErrno(name); ok {
			return -int64(e), nil
		}
	}
	return nil, fmt.Errorf("%q is neither a number nor an error such as -ENOENT", text)
}

// value returns a number if the text is one, otherwise the text.
func value(text string) any {
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return n
	}
	if n, err := strconv.ParseUint(text, 0, 64); err == nil {
		return n
	}
	return text
}

// split separates words at blanks; double quotes protect blanks within a word.
func split(text string) ([]string, error) {
	var out []string
	var word strings.Builder
	in, quoted := false, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted, in = !quoted, true
		case c == '\\' && quoted && i+1 < len(text):
			i++
			word.WriteByte(text[i])
		case (c == ' ' || c == '\t') && !quoted:
			if in {
				out = append(out, word.String())
				word.Reset()
				in = false
			}
		default:
			word.WriteByte(c)
			in = true
		}
	}
	if quoted {
		return nil, errors.New(`unterminated "`)
	}
	if in {
		out = append(out, word.String())
	}
	return out, nil
}
