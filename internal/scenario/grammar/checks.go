package grammar

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Expectation is one checked expectation.
type Expectation struct {
	Pos
	What string // "ret", "execs[4242].uid"
	OK   bool
	// Want and Got are empty if the expectation holds.
	Want, Got string
}

// String returns "what: want W, got G", or "what: ok".
func (e *Expectation) String() string {
	if e.OK {
		return e.What + ": ok"
	}
	return e.What + ": want " + e.Want + ", got " + e.Got
}

// Checks collects what is expected of a run. With Checking set, nothing has run: only mistakes in
// the expectations count.
type Checks struct {
	Checking bool
	Found    []Expectation
}

// Expect adds an expectation; want and got are shown if it does not hold.
func (c *Checks) Expect(pos Pos, what string, ok bool, want, got string) {
	e := Expectation{Pos: pos, What: what, OK: ok}
	if !ok {
		e.Want, e.Got = want, got
	}
	c.Found = append(c.Found, e)
}

// Flag compares true or false.
func (c *Checks) Flag(n *Node, what, full string, got func() bool) error {
	want, err := n.Bool(what)
	if err == nil && !c.Checking {
		c.Expect(n.Pos, full, want == got(), fmt.Sprint(want), fmt.Sprint(got()))
	}
	return err
}

// Text compares a text, or matches it with a regular expression (!match).
func (c *Checks) Text(n *Node, what string, got func() string) error {
	if n.Kind != Scalar {
		return n.Errorf("%s: want a string, got %s", what, n.Describe())
	}
	if n.Tag != "!match" {
		if !c.Checking {
			c.Expect(n.Pos, what, n.Text == got(), n.Text, got())
		}
		return nil
	}
	re, err := n.Pattern()
	if err == nil && !c.Checking {
		c.Expect(n.Pos, what, re.MatchString(got()), "match "+n.Text, strconv.Quote(got()))
	}
	return err
}

// Pattern returns the regular expression that a node is.
func (n *Node) Pattern() (*regexp.Regexp, error) {
	re, err := regexp.Compile(n.Text)
	if err != nil || n.Kind != Scalar {
		return nil, n.Errorf("!match: %s is not a regular expression", Brief(n.Text))
	}
	return re, nil
}

// Length compares the length of a list that is expected completely.
func (c *Checks) Length(list *Node, what string, got int) {
	if want := len(list.Items); want != got {
		c.Expect(list.Pos, "number of "+what, false, strconv.Itoa(want), strconv.Itoa(got))
	}
}

// Quantity compares a value of which files write a text: a number, or a duration.
func (c *Checks) Quantity(n *Node, what string, parse func(*Node) (float64, error), show func(float64) string, got func() float64) error {
	if n.Tag == "!any" {
		return nil
	}
	cond := Conditions[n.Tag]
	if n.Tag != "" && cond == nil {
		return n.Errorf("%s: %s does not fit here", what, n.Tag)
	}
	want, err := parse(n)
	if err != nil || c.Checking {
		return err
	}
	is, word := 0, ""
	if g := got(); g < want {
		is = -1
	} else if g > want {
		is = 1
	}
	if cond == nil {
		cond = func(c int) bool { return c == 0 }
	} else {
		word = strings.TrimPrefix(n.Tag, "!") + " "
	}
	c.Expect(n.Pos, what, cond(is), word+show(want), show(got()))
	return nil
}

// Number compares a number.
func (c *Checks) Number(n *Node, what string, got func() float64) error {
	parse := func(n *Node) (float64, error) {
		v, err := n.Int(what, math.MinInt64, math.MaxInt64)
		return float64(v), err
	}
	return c.Quantity(n, what, parse, func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }, got)
}

// Time compares a duration, in nanoseconds.
func (c *Checks) Time(n *Node, what string, got func() float64) error {
	parse := func(n *Node) (float64, error) {
		d, err := n.Duration(what)
		return float64(d), err
	}
	return c.Quantity(n, what, parse, func(v float64) string { return time.Duration(v).String() }, got)
}

// Results compares a list of numbers and errors.
func (c *Checks) Results(want []*Node, at *Node, what string, got []int) error {
	var list []string
	for _, item := range want {
		v, err := item.Result(what)
		if err != nil {
			return err
		}
		list = append(list, ResultText(int(int64(v))))
	}
	if c.Checking {
		return nil
	}
	var have []string
	for _, v := range got {
		have = append(have, ResultText(v))
	}
	w, g := strings.Join(list, ", "), strings.Join(have, ", ")
	c.Expect(at.Pos, what, w == g, w, g)
	return nil
}

// ResultText names a result: 5, -EACCES.
func ResultText(v int) string {
	if v < 0 && v > -4096 {
		return "-" + uapi.Errno(-v).Name()
	}
	return fmt.Sprint(v)
}
