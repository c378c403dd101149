package exec

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// scope is what earlier lines of an events file declared: variables, tasks, and the loops that are
// open.
type scope struct {
	vars  map[string]string
	tasks map[string]map[string]any
	loops []openLoop
	grown int // bytes that the file's lines have with their variables and tasks, beyond those that are written
}

type openLoop struct {
	Loop
	line  int
	times int64 // how often its lines happen, with the loops around it
}

// Limits of what a file declares.
const (
	maxLoops    = 8
	maxDeclared = 1 << 12
	// maxExpanded limits the bytes of a line whose variables are replaced.
	maxExpanded = 1 << 16
	// maxGrown limits the bytes that the variables and changed tasks of all lines add to what is
	// written, maxTaskFields the fields of a task.
	maxGrown      = 64 << 20
	maxTaskFields = 64
)

func newScope() *scope {
	return &scope{vars: map[string]string{}, tasks: map[string]map[string]any{}}
}

// line parses a line of a file. Declarations return none.
func (s *scope) line(text string, number int) ([]Line, error) {
	words, err := split(text)
	if err != nil {
		return nil, err
	}
	if len(words) == 0 {
		return nil, errors.New("want HOOK name=value ...")
	}
	for i, w := range words {
		if words[i], err = s.constants(w); err != nil {
			return nil, err
		}
	}
	var l Line
	switch words[0] {
	case "---":
		if text != "---" {
			return nil, errors.New(`want "---" alone, without quotes`)
		}
		if len(s.loops) > 0 {
			return nil, errors.New("a step cannot end in a loop: each step starts when the tool waits")
		}
		return nil, nil
	case "let":
		return nil, s.let(words[1:])
	case "task":
		return nil, s.declare(words[1:])
	case "auto":
		if len(words) > 1 {
			return nil, errors.New(`want "auto" alone`)
		}
		if len(s.loops) > 0 {
			return nil, errors.New("auto cannot stand in a loop")
		}
		l = Line{Text: text, Auto: true}
	case "repeat":
		loop, err := s.begin(words[1:], number)
		if err != nil {
			return nil, err
		}
		l = Line{Text: text, Loop: loop}
	case "end":
		if len(words) > 1 || len(s.loops) == 0 {
			return nil, errors.New("end without a loop before it")
		}
		s.loops = s.loops[:len(s.loops)-1]
		l = Line{Text: text, End: true}
	default:
		first := map[string]int64{}
		open := false
		for _, loop := range s.loops {
			first[loop.Var] = 0
		}
		bound := make([]string, len(words))
		for i, w := range words {
			if bound[i], err = expand(w, func(name string) (string, bool) {
				v, ok := first[name]
				open = open || ok
				return strconv.FormatInt(v, 10), ok
			}); err != nil {
				return nil, err
			}
		}
		if l, err = parseWords(text, bound, s); err != nil {
			return nil, err
		}
		if open {
			l.open = words
		}
		times := int64(l.Repeat)
		if n := len(s.loops); n > 0 {
			times *= s.loops[n-1].times // both are at most a million
		}
		if times > maxEventRepeat {
			return nil, fmt.Errorf("a line may happen at most %d times, this one happens %d times", maxEventRepeat, times)
		}
	}
	l.Number = number
	return []Line{l}, nil
}

// begin opens a loop: N, then "as NAME" and "every TIME".
func (s *scope) begin(words []string, line int) (*Loop, error) {
	const want = `want "repeat N [as NAME] [every TIME]", such as repeat 1000 every 1ms`
	if len(words) == 0 || len(words)%2 == 0 {
		return nil, errors.New(want)
	}
	if len(s.loops) == maxLoops {
		return nil, fmt.Errorf("more than %d loops in each other", maxLoops)
	}
	n, err := strconv.Atoi(words[0])
	if err != nil || n < 1 || n > maxEventRepeat {
		return nil, fmt.Errorf("repeat %s: want 1 to %d", words[0], maxEventRepeat)
	}
	l := openLoop{Loop: Loop{Count: n, Var: "i"}, line: line, times: int64(n)}
	for i := 1; i < len(words); i += 2 {
		switch words[i] {
		case "as":
			if l.Var = words[i+1]; !isName(l.Var) {
				return nil, fmt.Errorf("%q is not a name", l.Var)
			}
		case "every":
			if l.Every, err = duration(words[i+1]); err != nil {
				return nil, err
			}
		default:
			return nil, errors.New(want)
		}
	}
	if around := len(s.loops); around > 0 {
		if l.times *= s.loops[around-1].times; l.times > maxEventRepeat {
			return nil, fmt.Errorf("lines may happen at most %d times, those of this loop happen %d times", maxEventRepeat, l.times)
		}
	}
	s.loops = append(s.loops, l)
	return &l.Loop, nil
}

func (s *scope) let(words []string) error {
	if len(words) == 0 {
		return errors.New(`want "let NAME=VALUE"`)
	}
	for _, w := range words {
		name, v, ok := strings.Cut(w, "=")
		if !ok || !isName(name) {
			return fmt.Errorf("%q: want NAME=VALUE", w)
		}
		if s.vars[name] = v; len(s.vars) > maxDeclared {
			return fmt.Errorf("more than %d variables", maxDeclared)
		}
	}
	return nil
}

func (s *scope) declare(words []string) error {
	const want = `want "task NAME pid=N comm=TEXT ..."`
	if len(words) < 2 || !isName(words[0]) {
		return errors.New(want)
	}
	fields := map[string]any{}
	for _, w := range words[1:] {
		name, v, ok := strings.Cut(w, "=")
		if !ok || name == "" {
			return fmt.Errorf("%q: want FIELD=VALUE", w)
		}
		v, err := expand(v, func(string) (string, bool) { return "", false }) // what is left of constants are variables of loops, and $$
		if err != nil {
			return fmt.Errorf("%s: a task's fields cannot have variables of loops", name)
		}
		fields[name] = value(v)
	}
	if len(fields) > maxTaskFields {
		return fmt.Errorf("a task with more than %d fields", maxTaskFields)
	}
	if _, ok := fields["pid"]; !ok {
		return errors.New(want + ": a task needs a pid")
	}
	if s.tasks[words[0]] = fields; len(s.tasks) > maxDeclared {
		return fmt.Errorf("more than %d tasks", maxDeclared)
	}
	return nil
}

// task returns the fields of the task that a value names, or nil if it names none. They are the
// declaration's, which is not to be changed. The task of an event is always a declared one.
func (s *scope) task(name, value string) (map[string]any, error) {
	at, ok := strings.CutPrefix(value, "@")
	if s != nil && ok && s.tasks[at] != nil {
		return s.tasks[at], nil
	}
	if name == "task" {
		return nil, fmt.Errorf("%q is no task: want @NAME of an earlier line \"task NAME pid=N ...\"", value)
	}
	return nil, nil
}

// grow accounts for bytes that a line has beyond those that are written.
func (s *scope) grow(n int) error {
	if s == nil || n <= 0 {
		return nil
	}
	if s.grown += n; s.grown > maxGrown {
		return fmt.Errorf("the lines up to this one have %d MiB more with their variables and tasks than are written", maxGrown>>20)
	}
	return nil
}

// constants replaces the variables of let. Those of loops stay, as does $$.
func (s *scope) constants(word string) (string, error) {
	if !strings.Contains(word, "$") {
		return word, nil
	}
	out, err := replace(word, func(name, all string) (string, error) {
		if name == "$" {
			return all, nil
		}
		for _, l := range s.loops {
			if l.Var == name {
				return all, nil
			}
		}
		if v, ok := s.vars[name]; ok {
			return v, nil
		}
		return "", fmt.Errorf("there is no variable %s: want a line \"let %s=VALUE\" before, or $$ for a dollar sign", name, name)
	})
	if err != nil {
		return "", err
	}
	return out, s.grow(len(out) - len(word))
}

// running is a loop that has begun, and how often its lines have happened.
type running struct {
	loop  *Loop
	first int // its first line
	times int
}

// Each calls do for each event and each passing of time in their order, with loops unrolled, until
// one call fails. Places for invented events are passed as they are.
func (ev *Events) Each(do func(Line) error) error {
	for _, step := range ev.Steps {
		var loops []running
		for at := 0; at < len(step); at++ {
			l := step[at]
			switch {
			case l.Loop != nil:
				loops = append(loops, running{l.Loop, at, 0})
			case l.End:
				r := &loops[len(loops)-1]
				if r.loop.Every > 0 {
					if err := do(Line{Text: l.Text, Number: l.Number, Pass: r.loop.Every}); err != nil {
						return err
					}
				}
				if r.times++; r.times < r.loop.Count {
					at = r.first
				} else {
					loops = loops[:len(loops)-1]
				}
			default:
				bound, err := l.bind(loops)
				if err == nil {
					err = do(bound)
				}
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// bind returns a line with the values that its loops' variables have now.
func (l Line) bind(loops []running) (Line, error) {
	if l.open == nil {
		return l, nil
	}
	words := make([]string, len(l.open))
	for i, w := range l.open {
		var err error
		words[i], err = expand(w, func(name string) (string, bool) {
			for j := len(loops) - 1; j >= 0; j-- {
				if loops[j].loop.Var == name {
					return strconv.Itoa(loops[j].times), true
				}
			}
			return "", false
		})
		if err != nil {
			return l, err
		}
	}
	bound, err := parseWords(l.Text, words, l.scope)
	bound.Number = l.Number
	return bound, err
}

// expand replaces all variables of a word.
func expand(word string, lookup func(name string) (string, bool)) (string, error) {
	if !strings.Contains(word, "$") {
		return word, nil
	}
	return replace(word, func(name, _ string) (string, error) {
		if name == "$" {
			return "$", nil
		}
		if v, ok := lookup(name); ok {
			return v, nil
		}
		return "", fmt.Errorf("there is no variable %s", name)
	})
}

// replace replaces $NAME, ${NAME}, ${NAME OP NUMBER} and $$ in a word; a $ before anything else
// stays. value gets the name, "$" for $$, and the text of the whole.
func replace(word string, value func(name, all string) (string, error)) (string, error) {
	var out strings.Builder
	for word != "" {
		before, after, found := strings.Cut(word, "$")
		out.WriteString(before)
		if !found {
			break
		}
		name, op, number := "", byte(0), int64(0)
		rest := after
		switch {
		case strings.HasPrefix(after, "$"):
			name, rest = "$", after[1:]
		case strings.HasPrefix(after, "{"):
			inside, more, closed := strings.Cut(after[1:], "}")
			if !closed {
				return "", errors.New("${ without }")
			}
			rest = more
			var err error
			if name, op, number, err = operation(inside); err != nil {
				return "", err
			}
		default:
			n := nameLength(after)
			if n == 0 { // a dollar sign that names nothing
				out.WriteByte('$')
				word = after
				continue
			}
			name, rest = after[:n], after[n:]
		}
		all := "$" + after[:len(after)-len(rest)]
		text, err := value(name, all)
		if err != nil {
			return "", err
		}
		if op != 0 && text != all {
			if text, err = compute(name, text, op, number); err != nil {
				return "", err
			}
		}
		out.WriteString(text)
		if out.Len() > maxExpanded {
			return "", fmt.Errorf("a word is longer than %d bytes with its variables", maxExpanded)
		}
		word = rest
	}
	return out.String(), nil
}

// operation parses NAME or NAME OP NUMBER, without blanks.
func operation(text string) (name string, op byte, number int64, err error) {
	n := nameLength(text)
	if n == 0 {
		return "", 0, 0, fmt.Errorf("${%s}: want ${NAME} or ${NAME+NUMBER}", text)
	}
	if n == len(text) {
		return text, 0, 0, nil
	}
	op = text[n]
	number, err = strconv.ParseInt(text[n+1:], 0, 64)
	if err != nil || !strings.ContainsRune("+-*/%", rune(op)) || number < 0 {
		return "", 0, 0, fmt.Errorf("${%s}: want a name, one of + - * / %%, and a number", text)
	}
	if number == 0 && (op == '/' || op == '%') {
		return "", 0, 0, fmt.Errorf("${%s} divides by zero", text)
	}
	return text[:n], op, number, nil
}

func compute(name, text string, op byte, number int64) (string, error) {
	v, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		return "", fmt.Errorf("%s is %q, not a number", name, text)
	}
	switch op {
	case '+':
		v += number
	case '-':
		v -= number
	case '*':
		v *= number
	case '/':
		v /= number
	case '%':
		v %= number
	}
	return strconv.FormatInt(v, 10), nil
}

// nameLength returns the length of the name at the beginning of a text.
func nameLength(text string) int {
	for i := range len(text) {
		c := text[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(text)
}

func isName(text string) bool { return text != "" && nameLength(text) == len(text) }
