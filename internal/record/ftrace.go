package record

import (
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
)

// The output of perf script, and of ftrace's trace_pipe:
//
//	COMM PID [CPU] SECONDS: SYSTEM:EVENT: FIELDS           perf script
//	COMM-PID [CPU] FLAGS SECONDS: EVENT: FIELDS            trace_pipe
//
// FIELDS are name=value, or "name: 0xHEX, ..." of system calls. Lines of stacks and comments belong
// to no event.

type ftrace struct {
	r     *Recorder
	calls map[int]Event // system calls that have not returned, by thread
}

func newFtrace(r *Recorder) *ftrace { return &ftrace{r, map[int]Event{}} }

func (f *ftrace) line(text string) (bool, error) {
	if strings.HasPrefix(text, "#") {
		return false, nil
	}
	if _, lost, ok := strings.Cut(text, "[LOST "); ok && strings.HasPrefix(text, "CPU:") {
		n, _, _ := strings.Cut(lost, " ")
		if v, err := strconv.Atoi(n); err == nil && v > 0 {
			f.r.sum.Lost += v
		}
		return true, nil
	}
	e, event, fields, ok := ftraceHead(text)
	if !ok {
		return false, nil
	}
	system, name, found := strings.Cut(event, ":")
	if !found {
		name = system
	}
	if call, args, ok := ftraceCall(name, fields); ok {
		return f.enter(e, call, args)
	}
	if call, ret, ok := ftraceReturn(name, fields); ok {
		return f.leave(e, call, ret)
	}
	f.fields(&e, system, name, fields, found)
	return true, f.r.Add(e)
}

// ftraceHead parses what stands before an event's fields. A name may have blanks, so the processor
// in brackets is looked for.
func ftraceHead(text string) (e Event, event, fields string, ok bool) {
	for from := 0; ; {
		open := strings.Index(text[from:], " [")
		if open < 0 {
			return e, "", "", false
		}
		open += from
		inside := text[open+2 : min(open+2+maxCPUDigits+1, len(text))]
		if end := strings.IndexByte(inside, ']'); end >= 0 {
			if cpu, err := strconv.Atoi(inside[:end]); err == nil && cpu >= 0 && cpu < 1<<16 {
				e.CPU = cpu
				return ftraceRest(e, strings.TrimSpace(text[:open]), strings.TrimLeft(text[open+2+end+1:], " "))
			}
		}
		from = open + 1
	}
}

// maxCPUDigits is how many digits the number of a processor has at most.
const maxCPUDigits = 5

func ftraceRest(e Event, who, rest string) (Event, string, string, bool) {
	none := Event{}
	// Flags such as "d..2." may stand before the time.
	for range 2 {
		word, after, ok := strings.Cut(rest, " ")
		if !ok {
			return none, "", "", false
		}
		if at, isTime := clockTime(strings.TrimSuffix(word, ":")); isTime && strings.HasSuffix(word, ":") {
			e.At = at
			rest = strings.TrimLeft(after, " ")
			sep := strings.LastIndexAny(who, " -")
			if sep < 0 {
				return none, "", "", false
			}
			ids := who[sep+1:]
			tgid, tid, both := strings.Cut(ids, "/")
			if !both {
				tid = tgid
			}
			var err error
			if e.Task.PID, err = strconv.Atoi(tid); err != nil || e.Task.PID < 0 {
				return none, "", "", false
			}
			if both {
				if e.Task.TGID, err = strconv.Atoi(tgid); err != nil {
					return none, "", "", false
				}
			}
			e.Task.Comm = shortComm(strings.TrimSpace(who[:sep]))
			return ftraceEvent(e, rest)
		}
		rest = strings.TrimLeft(after, " ")
	}
	return none, "", "", false
}

// ftraceEvent parses "EVENT: FIELDS", "sys_NAME(FIELDS)" and "sys_NAME -> VALUE". perf may print a
// period first. trace-cmd prints "sys_enter_NAME: FIELDS", which is of the first kind.
func ftraceEvent(e Event, rest string) (Event, string, string, bool) {
	if word, after, ok := strings.Cut(rest, " "); ok {
		if _, err := strconv.ParseUint(word, 10, 64); err == nil {
			rest = strings.TrimLeft(after, " ")
		}
	}
	if i := strings.IndexAny(rest, "( "); strings.HasPrefix(rest, "sys_") && i > 0 && rest[i-1] != ':' {
		return e, rest[:i], strings.TrimSpace(rest[i:]), true
	}
	event, fields, ok := strings.Cut(rest, ": ")
	if !ok {
		if event, ok = strings.CutSuffix(rest, ":"); !ok {
			return e, "", "", false
		}
	}
	if event == "" || strings.ContainsAny(event, " \t()") {
		return e, "", "", false
	}
	return e, event, strings.TrimSpace(fields), true
}

// ftraceCall recognises the entry of a system call.
func ftraceCall(name, fields string) (call, args string, ok bool) {
	if call, ok = strings.CutPrefix(name, "sys_enter_"); ok {
		return call, fields, true
	}
	if call, ok = strings.CutPrefix(name, "sys_"); ok && strings.HasPrefix(fields, "(") {
		return call, strings.TrimSuffix(fields[1:], ")"), true
	}
	return "", "", false
}

// ftraceReturn recognises its exit.
func ftraceReturn(name, fields string) (call, ret string, ok bool) {
	if call, ok = strings.CutPrefix(name, "sys_exit_"); ok {
		return call, strings.TrimPrefix(fields, "ret="), true
	}
	if call, ok = strings.CutPrefix(name, "sys_"); ok && strings.HasPrefix(fields, "-> ") {
		return call, fields[3:], true
	}
	return "", "", false
}

func (f *ftrace) enter(e Event, call, args string) (bool, error) {
	e.Hook = "syscall/" + call
	kinds := map[string]byte{}
	list := hook.SyscallKinds(call)
	for i, n := range hook.SyscallArgNames(call) {
		kinds[n] = list[i]
	}
	for part := range strings.SplitSeq(args, ", ") {
		name, v, ok := strings.Cut(part, ": ")
		if !ok {
			continue
		}
		kind := kinds[name]
		if s, isText := quoted(v); isText && kind == 's' && !isBuffer(name) {
			e.Args = append(e.Args, Arg{name, s, Path})
			continue
		}
		n, err := strconv.ParseUint(strings.TrimPrefix(v, "0x"), 16, 64)
		if err != nil || n != 0 && kind != 'i' && kind != 'u' || kind == 0 || len(e.Args) == maxArgs {
			f.r.left(e.Hook, name) // memory of the process, of which only the address is known
			continue
		}
		if kind == 'i' {
			n = uint64(int64(int32(n)))
		}
		e.Args = append(e.Args, Arg{name, strconv.FormatInt(int64(n), 10), Number})
	}
	if call == "exit" || call == "exit_group" {
		return true, f.r.Add(e)
	}
	if _, ok := f.calls[e.Task.PID]; ok || len(f.calls) < maxPending {
		f.calls[e.Task.PID] = e
	}
	return true, nil
}

func (f *ftrace) leave(e Event, call, text string) (bool, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
	if err != nil {
		return false, nil
	}
	in, ok := f.calls[e.Task.PID]
	delete(f.calls, e.Task.PID)
	if ok && in.Hook == "syscall/"+call {
		e.Args = in.Args
	}
	e.Hook = "syscall/" + call
	e.Args = append(e.Args, Arg{Name: "ret", Text: strconv.FormatInt(int64(n), 10)})
	return true, f.r.Add(e)
}

// printedNames are fields that an event prints under another name than its record has.
var printedNames = map[string]string{"signal_generate grp": "group", "signal_generate res": "result"}

// fields converts the fields of an event. Those that describe tasks become the tasks, so that all
// forms of programs see them.
func (f *ftrace) fields(e *Event, system, name, text string, found bool) {
	if e.Hook = name; found {
		e.Hook = system + "/" + name
	}
	list := assignments(text)
	get := func(n string) string {
		for _, a := range list {
			if a.Name == n {
				return a.Text
			}
		}
		return ""
	}
	task := func(arg, pid, comm string) {
		if v := get(pid); v != "" {
			e.Args = append(e.Args, Arg{Name: arg + ".pid", Text: v}, Arg{arg + ".comm", get(comm), Comm})
		}
	}
	switch name {
	case "sched_switch":
		e.Hook = name
		task("prev", "prev_pid", "prev_comm")
		task("next", "next_pid", "next_comm")
		return
	case "sched_wakeup", "sched_wakeup_new", "sched_waking":
		e.Hook = name
		task("p", "pid", "comm")
		return
	case "sched_process_exit":
		e.Hook = name
		return
	case "sched_process_fork":
		e.Hook = name
		task("child", "child_pid", "child_comm")
		return
	}
	if strings.HasPrefix(name, "block_") {
		if args, ok := blockFields(text); ok {
			e.Args = args
			return
		}
	}
	for _, a := range list {
		if field, ok := printedNames[name+" "+a.Name]; ok {
			a.Name = field
		}
		switch {
		case strings.HasSuffix(a.Name, "comm"):
			a.Kind = Comm
		case isNumber(a.Text):
			if strings.HasPrefix(a.Text, "0x") && len(a.Text) >= 14 { // an address in the memory of the kernel that was recorded
				f.r.left(e.Hook, a.Name)
				continue
			}
		case strings.HasSuffix(a.Name, "addr") || strings.HasSuffix(a.Name, "addr_v6"):
			a.Kind = Address
			f.r.left(e.Hook, a.Name) // records hold its bytes, which no text sets
			continue
		case strings.Contains(a.Name, "file") || strings.Contains(a.Name, "path") || strings.Contains(a.Name, "name"):
			a.Kind = Path
		default:
			if strings.ContainsAny(a.Text, " |") || strings.Contains(a.Text, "+0x") || a.Name == "flags" || strings.HasSuffix(a.Name, "state") {
				f.r.left(e.Hook, a.Name)
				continue
			}
			a.Kind = Text
		}
		e.Args = append(e.Args, a)
	}
	if len(list) == 0 && text != "" {
		f.r.left(e.Hook, "fields that are not name=value")
	}
}

func isNumber(text string) bool {
	if _, err := strconv.ParseInt(text, 0, 64); err == nil {
		return true
	}
	_, err := strconv.ParseUint(text, 0, 64)
	return err == nil
}

// assignments splits "a=1 b=two words c=3": a value ends before the next name.
func assignments(text string) (out []Arg) {
	for text != "" && len(out) < maxArgs {
		eq := strings.IndexByte(text, '=')
		if eq < 0 {
			break
		}
		if strings.HasPrefix(text[eq:], "==>") { // between the tasks of sched_switch
			text = text[eq+3:]
			continue
		}
		name := text[strings.LastIndexByte(text[:eq], ' ')+1 : eq]
		rest := text[eq+1:]
		end := len(rest)
		if next := strings.IndexByte(rest, '='); next >= 0 {
			if end = strings.LastIndexByte(rest[:next], ' '); end < 0 {
				end = next
			}
		}
		v := strings.TrimSpace(rest[:end])
		if s, ok := quoted(v); ok {
			v = s
		}
		if isWord(name) {
			out = append(out, Arg{Name: name, Text: strings.TrimSuffix(v, ",")})
		}
		text = rest[end:]
	}
	return out
}

// blockFields parses "8,0 W 4096 () 1234 + 8 [comm]" of the block layer's events.
func blockFields(text string) ([]Arg, bool) {
	f := strings.Fields(text)
	if len(f) < 4 {
		return nil, false
	}
	major, minor, ok := strings.Cut(f[0], ",")
	ma, err1 := strconv.ParseUint(major, 10, 12)
	mi, err2 := strconv.ParseUint(minor, 10, 20)
	if !ok || err1 != nil || err2 != nil {
		return nil, false
	}
	out := []Arg{{Name: "dev", Text: strconv.FormatUint(ma<<20|mi, 10)}, {Name: "rwbs", Text: f[1], Kind: Number}}
	for i := 2; i+1 < len(f); i++ {
		if f[i] != "+" || !isNumber(f[i-1]) || !isNumber(f[i+1]) {
			continue
		}
		return append(out, Arg{Name: "sector", Text: f[i-1]}, Arg{Name: "nr_sector", Text: f[i+1]}), true
	}
	return nil, false
}
