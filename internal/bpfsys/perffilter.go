package bpfsys

import (
	"strings"

	"github.com/bpfrun/bpfrun/internal/lazyre"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// setFilter implements PERF_EVENT_IOC_SET_FILTER (perf_event_set_filter). An event's filter selects
// the samples that its buffer gets; programs that are attached to the event run before it and see
// everything (perf_trace_run_bpf_submit), and here only programs see tracepoints. So the filter is
// checked and kept, and selects nothing.
func (s *System) setFilter(c Caller, e *PerfEvent, arg uint64) Result {
	text, ok := cstring(c, arg, uapi.PageSize)
	switch {
	case !ok:
		return fail(uapi.EFAULT)
	case e.typ != perfTracepoint && e.typ != perfKprobe && e.typ != perfUprobe: // it has no filters
		return fail(uapi.EINVAL)
	case e.filter != "":
		return fail(uapi.EEXIST)
	}
	p := filterParser{rest: text, strings: map[string]bool{"comm": true, "COMM": true, "common_comm": true, "cpu": false, "CPU": false, "common_cpu": false, "stacktrace": false}}
	for _, f := range filterField.FindAllStringSubmatch(string(s.format(e.hook.AttachTo, "")), -1) {
		p.strings[f[2]] = strings.Contains(f[1], "char") && (f[3] != "" || strings.Contains(f[1], "["))
	}
	if !p.any() || strings.TrimSpace(p.rest) != "" {
		return fail(uapi.EINVAL)
	}
	e.filter = text
	return Result{}
}

// filterField finds the declaration, name and array bounds of a field in a tracepoint's format.
var filterField = lazyre.New(`field:([^;]*?)\b(\w+)(\[[^;]*\])?;`)

// filterParser checks a filter's text against the fields of an event
// (kernel/trace/trace_events_filter.c). Its methods report whether the text is right and advance
// rest.
type filterParser struct {
	rest    string
	strings map[string]bool // fields, and whether they are strings
}

func (p *filterParser) take(word string) bool {
	rest, ok := strings.CutPrefix(strings.TrimLeft(p.rest, " \t\n"), word)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *filterParser) any() bool {
	for {
		if !p.all() {
			return false
		}
		if !p.take("||") {
			return true
		}
	}
}

func (p *filterParser) all() bool {
	for {
		if !p.one() {
			return false
		}
		if !p.take("&&") {
			return true
		}
	}
}

func (p *filterParser) one() bool {
	for p.take("!") {
	}
	if p.take("(") {
		return p.any() && p.take(")")
	}
	return p.comparison()
}

var (
	filterName   = lazyre.New(`^\s*(\w+)(\.ustring|\.function)?\s*(~|!=|==|<=|<|>=|>|&)\s*`)
	filterQuoted = lazyre.New(`^(?:'[^']*'|"[^"]*")`)
	filterNumber = lazyre.New(`^-?(?:0[xX][0-9a-fA-F]+|[0-9]+)\b`)
	filterCPUs   = lazyre.New(`^CPUS\{[0-9,-]+\}`)
	filterWord   = lazyre.New(`^[^\s)&|]+`)
)

// comparison checks FIELD OPERATOR VALUE (parse_pred).
func (p *filterParser) comparison() bool {
	f := filterName.FindStringSubmatch(p.rest)
	if f == nil {
		return false
	}
	text, known := p.strings[f[1]]
	if !known {
		return false
	}
	p.rest = p.rest[len(f[0]):]
	equality := f[3] == "==" || f[3] == "!="
	value := func(form *lazyre.Regexp) bool {
		v := form.FindString(p.rest)
		p.rest = p.rest[len(v):]
		return v != ""
	}
	switch {
	case f[2] == ".function":
		return equality && value(filterWord)
	case strings.HasPrefix(p.rest, "CPUS"):
		return !text && (equality || f[3] == "&") && value(filterCPUs)
	case text || f[2] == ".ustring":
		return (equality || f[3] == "~") && value(filterQuoted)
	}
	return f[3] != "~" && value(filterNumber)
}
