package scenario

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

// tracedForm describes a function that a program runs for, expectFunctionForm what is expected of
// that run.
var tracedForm = &grammar.Form{Name: "traced function", Doc: "A function that a program traces, in functions.", Members: []grammar.Member{
	{Name: "cookie", Doc: "The cookie that the program is attached to this function with (bpf_get_attach_cookie).", Shape: grammar.Integer},
	{Name: "args", Doc: "Arguments of this function, besides those in the run's args, which all functions have; ret is the return value.", Shape: grammar.MapOf(grammar.Anything)},
}}

var expectFunctionForm = &grammar.Form{Name: "expect function", Doc: "What a program did for one of the functions that it traces.", Members: []grammar.Member{
	{Name: "ret", Doc: "The return value of the program's last call for it.", Shape: grammar.Integer},
	{Name: "calls", Doc: "How often the program was called: a session is called twice, at entry and at return, unless it returns 1 at the entry.", Shape: grammar.Integer},
	{Name: "helpers", Doc: "How often helpers were called.", Shape: grammar.MapOf(grammar.Integer)},
}}

// Traced is a function that a program runs for which traces many.
type Traced struct {
	Name   *grammar.Node
	Cookie uint64
	Args   []grammar.Pair
}

// Functions are the functions that a run is of.
type Functions struct {
	Node *grammar.Node
	// All means all functions that the program's pattern matches; List is empty then.
	All  bool
	List []Traced
}

// FunctionResult is what a program did for one function.
type FunctionResult struct {
	Function string
	*machine.Result
}

// decodeFunctions decodes functions: all, a list of names, or names with cookies and arguments.
func (r *Run) decodeFunctions(n *grammar.Node) error {
	f := &Functions{Node: n}
	r.Functions = f
	var wrong grammar.Mistakes
	if len(n.Items)+len(n.Pairs) > machine.MostFunctions {
		wrong.Add(n.Errorf("functions: more than %d", machine.MostFunctions))
		return wrong.Err()
	}
	switch {
	case n.Kind == grammar.Scalar && n.Text == "all":
		f.All = true
	case n.Kind == grammar.Sequence && len(n.Items) > 0:
		for _, item := range n.Items {
			_, err := item.NonEmpty("functions")
			wrong.Add(err)
			f.List = append(f.List, Traced{Name: item})
		}
	case n.Kind == grammar.Mapping && len(n.Pairs) > 0:
		for _, p := range n.Pairs {
			t, err := tracedOf(p)
			wrong.Add(err)
			f.List = append(f.List, t)
		}
	default:
		wrong.Add(n.Errorf("functions: want all, a list of functions, or {FUNCTION: COOKIE}, got %s", n.Describe()))
	}
	for i, t := range f.List {
		if slices.ContainsFunc(f.List[:i], func(o Traced) bool { return o.Name.Text == t.Name.Text }) {
			wrong.Add(t.Name.Errorf("functions: %s is named twice", grammar.Brief(t.Name.Text)))
		}
	}
	return wrong.Err()
}

// tracedOf decodes FUNCTION: COOKIE, or FUNCTION: {cookie: N, args: {...}}.
func tracedOf(p grammar.Pair) (Traced, error) {
	t := Traced{Name: p.Key}
	var err error
	if p.Value.Kind != grammar.Mapping {
		t.Cookie, err = p.Value.Uint64("cookie of " + p.Key.Text)
		return t, err
	}
	var wrong grammar.Mistakes
	wrong.Add(p.Value.Fields(tracedForm))
	if v := p.Value.Get("cookie"); v != nil {
		t.Cookie, err = v.Uint64("cookie of " + p.Key.Text)
		wrong.Add(err)
	}
	t.Args, err = p.Value.Get("args").Members("args")
	wrong.Add(err)
	return t, wrong.Err()
}

// partsOf returns the runs of a run, one for each function that it is of: itself if it is of one.
// They differ between kernels.
func (r *Runner) partsOf(run *Run) ([]*Run, error) {
	f := run.Functions
	if f == nil || !f.All && len(f.List) == 0 { // of one, or not decoded because of a mistake
		return []*Run{run}, nil
	}
	list := f.List
	if f.All {
		if _, cannot := r.cannotRun(run); cannot {
			return []*Run{run}, nil // that is reported, not its functions
		}
		names, err := r.m.FunctionsOf(run.Prog)
		if err != nil {
			return nil, f.Node.Wrap("functions", err)
		}
		for _, name := range names {
			list = append(list, Traced{Name: &grammar.Node{Pos: f.Node.Pos, Kind: grammar.Scalar, Text: name}})
		}
	}
	var out []*Run
	for _, t := range list {
		part := *run
		part.Function, part.Args = t.Name, slices.Concat(run.Args, t.Args)
		if run.CookieNode == nil || t.Cookie != 0 {
			part.Cookie = t.Cookie
		}
		out = append(out, &part)
	}
	return out, nil
}

// runFunctions runs the program for each function on the machine's state as the last one left it.
func (r *Runner) runFunctions(ctx context.Context, run *Run) (*machine.Result, []FunctionResult, error) {
	var all []*machine.Result
	var each []FunctionResult
	for _, part := range r.parts[run] {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		res, err := r.execute(ctx, part, r.input[part])
		if err != nil {
			return nil, nil, err
		}
		name := ""
		if part.Function != nil {
			name = part.Function.Text
		}
		all, each = append(all, res), append(each, FunctionResult{name, res})
		if res.Fault != nil || !res.Ran {
			break
		}
	}
	return machine.Together(all), each, nil
}

// functions compares what the program did for single functions with the expectations.
func (j *judge) functions(e *Expect) error {
	if len(e.Functions) == 0 {
		return nil
	}
	if j.run.Functions == nil {
		return e.Functions[0].Key.Errorf("functions: the run is of one function; name those it is of with functions: all, [FUNCTION, ...] or {FUNCTION: COOKIE}")
	}
	var names []string
	for _, part := range j.r.parts[j.run] {
		if part.Function != nil {
			names = append(names, part.Function.Text)
		}
	}
	var wrong grammar.Mistakes
	for _, p := range e.Functions {
		name := p.Key.Text
		if len(names) > 0 && !slices.Contains(names, name) {
			wrong.Add(p.Key.Unknown("function of the run", name, names))
			continue
		}
		if !wrong.Add(p.Value.Fields(expectFunctionForm)) {
			continue
		}
		var res *machine.Result
		if i := slices.IndexFunc(j.each, func(f FunctionResult) bool { return f.Function == name }); i >= 0 {
			res = j.each[i].Result
		} else if !j.Checking {
			j.Expect(p.Key.Pos, "functions."+name, false, "a run", "none")
			continue
		}
		wrong.Add(j.function(p.Value, "functions."+name, res))
	}
	return wrong.Err()
}

// function compares what the program did for one function.
func (j *judge) function(n *grammar.Node, what string, res *machine.Result) error {
	if v := n.Get("ret"); v != nil {
		want, err := v.Result("ret")
		if err != nil {
			return err
		}
		if !j.Checking {
			j.Expect(v.Pos, what+".ret", uint32(want) == uint32(res.Ret), grammar.ResultText(int(int32(uint32(want)))), grammar.ResultText(int(int32(uint32(res.Ret)))))
		}
	}
	if v := n.Get("calls"); v != nil {
		want, err := v.Int("calls", 1, 2)
		if err != nil {
			return err
		}
		if !j.Checking {
			j.Expect(v.Pos, what+".calls", want == res.Calls, strconv.Itoa(want), strconv.Itoa(res.Calls))
		}
	}
	calls, err := n.Get("helpers").Members("helpers")
	if err != nil {
		return err
	}
	for _, p := range calls {
		want, err := p.Value.Int(p.Key.Text, 0, 1<<40)
		if err != nil {
			return err
		}
		if !j.Checking {
			got := res.Helpers[p.Key.Text]
			j.Expect(p.Key.Pos, fmt.Sprintf("%s.helpers.%s", what, p.Key.Text), want == got, strconv.Itoa(want), strconv.Itoa(got))
		}
	}
	return nil
}
