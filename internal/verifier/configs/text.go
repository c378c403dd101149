package configs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/verifier/num"
)

// Text describes the configurations of a part: "limit >= 65 and conf.check = 0", "" for all.
func (p *Part) Text(constants []Constant) string {
	var at []int
	for i := range p.Values {
		at = append(at, i)
	}
	slices.Sort(at)
	var out []string
	for _, i := range at {
		out = append(out, p.Values[i].text(&constants[i])...)
	}
	return strings.Join(out, " and ")
}

func (v Values) text(c *Constant) []string {
	var out []string
	switch {
	case v.Bits.IsConst():
		return []string{fmt.Sprintf("%s = %s", c.Name, c.value(v.Bits.Value))}
	case v.Lo == v.Hi:
		return []string{fmt.Sprintf("%s = %s", c.Name, c.value(v.Lo))}
	case v.Lo == 0 && v.Hi == c.Max:
	case v.Lo == 0:
		out = append(out, fmt.Sprintf("%s <= %d", c.Name, v.Hi))
	case v.Hi == c.Max:
		out = append(out, fmt.Sprintf("%s >= %d", c.Name, v.Lo))
	default:
		out = append(out, fmt.Sprintf("%d <= %s <= %d", v.Lo, c.Name, v.Hi))
	}
	if v.Bits != num.Unknown {
		out = append(out, fmt.Sprintf("%s & %#x = %#x", c.Name, ^v.Bits.Mask, v.Bits.Value))
	}
	return out
}

// value writes a value as users write it.
func (c *Constant) value(x uint64) string {
	if c.Kconfig && c.Max <= 2 {
		return [...]string{"n", "y", "m"}[x]
	}
	return fmt.Sprint(x)
}

// SeenText describes the configuration that was verified by itself: "limit=65".
func (p *Part) SeenText(constants []Constant) string {
	var at []int
	for i := range p.Seen {
		at = append(at, i)
	}
	slices.Sort(at)
	var out []string
	for _, i := range at {
		out = append(out, constants[i].Name+"="+constants[i].value(p.Seen[i]))
	}
	return strings.Join(out, " ")
}

// Together returns the constants of refused parts that refuse only with others: each list is one
// part's.
func (r *Result) Together() [][]int {
	var out [][]int
	for _, p := range r.Parts {
		if p.Seen == nil || len(p.Values) < 2 {
			continue
		}
		var list []int
		for i := range p.Values {
			list = append(list, i)
		}
		slices.Sort(list)
		if !slices.ContainsFunc(out, func(x []int) bool { return slices.Equal(x, list) }) {
			out = append(out, list)
		}
	}
	return out
}
