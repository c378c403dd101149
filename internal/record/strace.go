package record

import (
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// The output of strace -f -ttt (and -t, -tt, -y, -T, -o): a line is an optional process id, a time
// and one of these:
//
//	NAME(ARGUMENTS) = RESULT                  a call
//	NAME(ARGUMENTS <unfinished ...>           the beginning of a call, when another process was seen in between
//	<... NAME resumed>ARGUMENTS) = RESULT     its end
//	--- SIGNAL {...} ---                      a signal was delivered
//	+++ exited with N +++                     a process ended; or "killed by SIGNAL"

// maxPending limits the processes with an unfinished call or a name.
const maxPending = 1 << 14

type strace struct {
	r       *Recorder
	pending map[int]string
	tasks   map[int]Task
	forking int // the process whose fork has not returned yet
}

func newStrace(r *Recorder) *strace {
	return &strace{r: r, pending: map[int]string{}, tasks: map[int]Task{}}
}

func (s *strace) line(text string) (bool, error) {
	pid, comm, rest := straceProcess(text)
	at, rest := straceTime(rest)
	t := s.task(pid)
	if comm != "" {
		t.Comm = shortComm(comm)
		s.keep(t)
	}
	switch {
	case strings.HasPrefix(rest, "--- "):
		name, _, _ := strings.Cut(rest[4:], " ")
		n, ok := signalNumber(name)
		if !ok {
			return false, nil
		}
		return true, s.r.Add(Event{At: at, Hook: "signal_deliver", Args: []Arg{{Name: "sig", Text: strconv.FormatInt(n, 10)}}, Task: t, CPU: -1})
	case strings.HasPrefix(rest, "+++ "):
		return s.exit(at, t, rest[4:])
	}
	if begun, ok := strings.CutSuffix(rest, "<unfinished ...>"); ok {
		if len(s.pending) < maxPending {
			s.pending[pid] = begun
		}
		if forks(begun) {
			s.forking = pid
		}
		return true, nil
	}
	if end, ok := strings.CutPrefix(rest, "<... "); ok {
		_, end, ok = strings.Cut(end, " resumed>")
		begun := s.pending[pid]
		delete(s.pending, pid)
		if !ok || begun == "" {
			return false, nil
		}
		rest = strings.TrimRight(begun, " ") + strings.TrimLeft(end, " ")
		if strings.HasSuffix(strings.TrimRight(begun, " "), ",") || strings.HasPrefix(end, " ") {
			rest = strings.TrimRight(begun, " ") + " " + strings.TrimLeft(end, " ")
		}
	}
	return s.call(at, t, rest)
}

func forks(text string) bool {
	for _, name := range []string{"clone(", "clone3(", "fork(", "vfork("} {
		if strings.HasPrefix(text, name) {
			return true
		}
	}
	return false
}

// task returns the task with an id. A new one, while a fork has not returned, is that fork's.
func (s *strace) task(pid int) Task {
	t, ok := s.tasks[pid]
	if !ok {
		t = Task{PID: pid}
		if parent, ok := s.tasks[s.forking]; ok {
			t.Comm, t.Parent = parent.Comm, parent.PID
		}
		s.keep(t)
	}
	return t
}

func (s *strace) keep(t Task) {
	if _, ok := s.tasks[t.PID]; ok || len(s.tasks) < maxPending {
		s.tasks[t.PID] = t
	}
}

func (s *strace) exit(at time.Duration, t Task, text string) (bool, error) {
	code := int64(0)
	if status, ok := strings.CutPrefix(text, "exited with "); ok {
		n, err := strconv.ParseInt(strings.TrimSuffix(status, " +++"), 10, 32)
		if err != nil {
			return false, nil
		}
		code = n & 0xff << 8
	} else if name, ok := strings.CutPrefix(text, "killed by "); ok {
		name, _, _ = strings.Cut(name, " ")
		n, ok := signalNumber(name)
		if !ok {
			return false, nil
		}
		code = n
	} else {
		return false, nil
	}
	delete(s.tasks, t.PID)
	delete(s.pending, t.PID)
	e := Event{At: at, Hook: "sched_process_exit", Task: t, CPU: -1}
	e.Args = []Arg{{Name: "task.exit_code", Text: strconv.FormatInt(code, 10)}}
	return true, s.r.Add(e)
}

// call parses NAME(ARGUMENTS) = RESULT.
func (s *strace) call(at time.Duration, t Task, text string) (bool, error) {
	name, rest, ok := strings.Cut(text, "(")
	if !ok || !isWord(name) {
		return false, nil
	}
	args, rest, ok := arguments(rest)
	if !ok {
		return false, nil
	}
	result, ok := strings.CutPrefix(strings.TrimLeft(rest, " "), "= ")
	if !ok {
		return false, nil
	}
	ret, known := straceResult(result)
	e := Event{At: at, Hook: "syscall/" + name, CPU: -1}
	names, kinds := hook.SyscallArgNames(name), hook.SyscallKinds(name)
	if names == nil {
		s.r.left(e.Hook, "all arguments of a call that is not known")
	}
	threads := false
	for i, n := range names {
		if i >= len(args) {
			break
		}
		text := args[i]
		if strings.HasPrefix(name, "clone") { // its arguments have names, in another order
			threads = threads || strings.Contains(text, "CLONE_THREAD")
			continue
		}
		if a, ok := straceArg(n, kinds[i], text); ok {
			e.Args = append(e.Args, a)
		} else {
			s.r.left(e.Hook, n)
		}
	}
	switch {
	case !known:
	case name == "execve" && ret == 0 && len(args) > 0:
		if file, ok := quoted(args[0]); ok {
			t.Comm = shortComm(path.Base(file))
			s.keep(t)
		}
	case name == "prctl" && len(args) > 1 && args[0] == "PR_SET_NAME":
		if comm, ok := quoted(args[1]); ok {
			t.Comm = shortComm(comm)
			s.keep(t)
		}
	case forks(name+"(") && ret > 0:
		child := s.task(int(ret))
		if child.Comm == "" {
			child.Comm = t.Comm
		}
		if child.Parent = t.PID; threads {
			child.Parent, child.TGID = t.Parent, max(t.TGID, t.PID)
			if t.TGID != 0 {
				child.TGID = t.TGID
			}
		}
		s.keep(child)
		if s.forking == t.PID {
			s.forking = 0
		}
	}
	e.Task = t
	if known {
		e.Args = append(e.Args, Arg{Name: "ret", Text: strconv.FormatInt(ret, 10)})
	}
	return true, s.r.Add(e)
}

// straceProcess takes the process id from the beginning of a line: "[pid 12] ", "12 " or, with the
// name of its program, "12<sh> ". Without one it is the only process.
func straceProcess(text string) (pid int, comm, rest string) {
	text = strings.TrimLeft(text, " ")
	if inside, ok := strings.CutPrefix(text, "[pid "); ok {
		number, after, closed := strings.Cut(inside, "] ")
		number, comm = pidComm(strings.TrimSpace(number))
		if n, err := strconv.Atoi(number); closed && err == nil && n > 0 {
			return n, comm, strings.TrimLeft(after, " ")
		}
	}
	number, after, ok := strings.Cut(text, " ")
	number, comm = pidComm(number)
	if n, err := strconv.Atoi(number); ok && err == nil && n > 0 {
		return n, comm, strings.TrimLeft(after, " ")
	}
	return 1, "", text
}

func pidComm(text string) (pid, comm string) {
	if number, name, ok := strings.Cut(text, "<"); ok && strings.HasSuffix(name, ">") {
		return number, name[:len(name)-1]
	}
	return text, ""
}

// straceTime takes the time from the beginning of a line: seconds, or hours, minutes and seconds.
func straceTime(text string) (time.Duration, string) {
	word, rest, ok := strings.Cut(text, " ")
	if !ok || word == "" || word[0] < '0' || word[0] > '9' {
		return 0, text
	}
	if d, ok := clockTime(word); ok {
		return d, strings.TrimLeft(rest, " ")
	}
	return 0, text
}

// clockTime parses 1700000000.123456 or 12:34:56.123456, as the time since a moment that is the
// same for all lines.
func clockTime(word string) (time.Duration, bool) {
	hours := time.Duration(0)
	if f := strings.Split(word, ":"); len(f) == 3 {
		h, err1 := strconv.ParseUint(f[0], 10, 8)
		m, err2 := strconv.ParseUint(f[1], 10, 8)
		if err1 != nil || err2 != nil {
			return 0, false
		}
		hours, word = time.Duration(h)*time.Hour+time.Duration(m)*time.Minute, f[2]
	}
	sec, frac, _ := strings.Cut(word, ".")
	s, err := strconv.ParseUint(sec, 10, 33)
	if err != nil || len(frac) > 9 {
		return 0, false
	}
	n := uint64(0)
	if frac != "" {
		if n, err = strconv.ParseUint((frac + "000000000")[:9], 10, 32); err != nil {
			return 0, false
		}
	}
	return hours + time.Duration(s)*time.Second + time.Duration(n), true
}

// arguments splits the arguments of a call at the commas outside of quotes and brackets, up to the
// closing parenthesis.
func arguments(text string) (args []string, rest string, ok bool) {
	depth, begin, inString := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString:
			if c == '\\' {
				i++
			} else if c == '"' {
				inString = false
			}
		case c == '"':
			inString = true
		case strings.HasPrefix(text[i:], "/*"):
			end := strings.Index(text[i:], "*/")
			if end < 0 {
				return nil, "", false
			}
			i += end + 1
		case c == '(' || c == '[' || c == '{':
			depth++
		case (c == ')' || c == ']' || c == '}') && depth > 0:
			depth--
		case c == ')':
			if a := strings.TrimSpace(text[begin:i]); a != "" || len(args) > 0 {
				args = append(args, a)
			}
			return args, text[i+1:], true
		case c == ',' && depth == 0:
			if args = append(args, strings.TrimSpace(text[begin:i])); len(args) > maxArgs {
				return nil, "", false
			}
			begin = i + 1
		}
	}
	return nil, "", false
}

// straceResult parses what a call returned. A call that never returns has a question mark.
func straceResult(text string) (int64, bool) {
	word, rest, _ := strings.Cut(text, " ")
	word, _, _ = strings.Cut(word, "<") // -y: the file of a descriptor
	if word == "-1" {
		name, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
		if e, ok := uapi.ParseErrno(name); ok {
			return -int64(e), true
		}
		return -1, true
	}
	if n, err := strconv.ParseInt(word, 0, 64); err == nil {
		return n, true
	}
	if n, err := strconv.ParseUint(word, 0, 64); err == nil {
		return int64(n), true
	}
	return 0, false
}

// straceArg converts an argument to what an event has of it.
func straceArg(name string, kind byte, text string) (Arg, bool) {
	if i := strings.Index(text, " /*"); i >= 0 && !strings.HasPrefix(text, `"`) {
		text = text[:i]
	}
	switch kind {
	case 's':
		if isBuffer(name) {
			return Arg{}, false
		}
		if file, ok := quoted(text); ok {
			return Arg{name, file, Path}, true
		}
	case 'v':
		if strings.HasPrefix(text, "[") {
			return straceVector(name, text)
		}
	case 'a':
		if a, ok := straceAddress(text); ok {
			return Arg{name, a, Address}, true
		}
	}
	if n, ok := straceNumber(text); ok && (kind == 'i' || kind == 'u' || n == 0) {
		return Arg{name, strconv.FormatInt(n, 10), Number}, true
	}
	return Arg{}, false
}

// isBuffer reports whether a string argument is memory of any content, which is not recorded.
func isBuffer(name string) bool { return strings.Contains(name, "buf") }

func straceVector(name, text string) (Arg, bool) {
	words, _, ok := arguments(strings.TrimSuffix(text[1:], "]") + ")")
	if !ok {
		return Arg{}, false
	}
	var out []string
	for _, w := range words {
		if s, ok := quoted(w); ok {
			out = append(out, word(s))
		}
	}
	// A vector is one word of its line, and each of its words is quoted in it: dollar signs are
	// protected once, when the line is written.
	return Arg{name, "[" + strings.ReplaceAll(strings.Join(out, " "), "$$", "$") + "]", Argv}, true
}

// straceAddress converts {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("10.0.0.1")}
// and its kin.
func straceAddress(text string) (string, bool) {
	between := func(before, after string) string {
		_, rest, ok := strings.Cut(text, before)
		if !ok {
			return ""
		}
		v, _, _ := strings.Cut(rest, after)
		return v
	}
	switch {
	case strings.HasPrefix(text, "{sa_family=AF_INET,"):
		return "inet:" + between(`inet_addr("`, `"`) + ":" + between("htons(", ")"), between(`inet_addr("`, `"`) != ""
	case strings.HasPrefix(text, "{sa_family=AF_INET6,"):
		return "inet6:[" + between(`inet_pton(AF_INET6, "`, `"`) + "]:" + between("htons(", ")"), between(`inet_pton(AF_INET6, "`, `"`) != ""
	case strings.HasPrefix(text, "{sa_family=AF_UNIX,"):
		_, rest, ok := strings.Cut(text, "sun_path=")
		abstract := strings.HasPrefix(rest, "@")
		file, isText := quoted(strings.TrimSuffix(strings.TrimPrefix(rest, "@"), "}"))
		if abstract {
			file = "@" + file
		}
		return "unix:" + file, ok && isText
	}
	return "", false
}

// straceNumber parses a number, or names of constants joined by |.
func straceNumber(text string) (int64, bool) {
	if text == "NULL" {
		return 0, true
	}
	text, _, _ = strings.Cut(text, "<") // -y
	out := int64(0)
	for part := range strings.SplitSeq(text, "|") {
		n, err := strconv.ParseInt(part, 0, 64)
		if err != nil {
			u, uerr := strconv.ParseUint(part, 0, 64)
			v, ok := uapi.Macro(part)
			switch {
			case uerr == nil:
				n = int64(u)
			case ok:
				n = v
			default:
				return 0, false
			}
		}
		out |= n
	}
	return out, true
}

func signalNumber(name string) (int64, bool) {
	if !strings.HasPrefix(name, "SIG") {
		return 0, false
	}
	return uapi.Macro(name)
}

// quoted returns the text of a C string. The three dots after one that was cut stay outside.
func quoted(text string) (string, bool) {
	text = strings.TrimSuffix(text, "...")
	if len(text) < 2 || text[0] != '"' || text[len(text)-1] != '"' {
		return "", false
	}
	text = text[1 : len(text)-1]
	if !strings.Contains(text, `\`) {
		return text, true
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		i++
		switch c := text[i]; {
		case c >= '0' && c <= '7':
			v := 0
			end := min(i+3, len(text))
			for ; i < end && text[i] >= '0' && text[i] <= '7'; i++ {
				v = v*8 + int(text[i]-'0')
			}
			i--
			out.WriteByte(byte(v))
		case c == 'x' && i+2 < len(text):
			v, err := strconv.ParseUint(text[i+1:i+3], 16, 8)
			if err != nil {
				return "", false
			}
			out.WriteByte(byte(v))
			i += 2
		default:
			if at := strings.IndexByte("ntrvf", c); at >= 0 {
				c = "\n\t\r\v\f"[at]
			}
			out.WriteByte(c)
		}
	}
	return out.String(), true
}

func shortComm(text string) string { return text[:min(len(text), 15)] }

func isWord(text string) bool {
	for i := range len(text) {
		c := text[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return text != ""
}
