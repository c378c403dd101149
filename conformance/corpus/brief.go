package corpus

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/lazyre"
	"github.com/bpfrun/bpfrun/internal/machine"
)

// WriteBrief writes, for each package, the totals of its objects on each target, and the reasons
// why objects are not sound, most frequent first. It suits packages of hundreds of objects.
func WriteBrief(w io.Writer, rows []*Row) error {
	for i, pkg := range names(rows, func(r *Row) string { return r.Package }) {
		t := &tables{w: w}
		for _, r := range rows {
			if r.Package == pkg {
				t.rows = append(t.rows, r)
			}
		}
		if i > 0 {
			t.printf("\n")
		}
		t.printf("### %s\n\n", pkg)
		t.printf("| kernel | objects | sound | share | programs | of them there to be refused | instructions executed | kernel reads | median share of reachable instructions executed |\n")
		t.printf("|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
		for _, s := range Summarise(t.rows) {
			t.printf("| %s | %d | %d | %.1f %% | %d | %d | %d | %d | %s |\n", kernelName(s.Target), s.Objects, s.Sound,
				100*float64(s.Sound)/float64(max(s.Objects, 1)), s.Programs, s.Refusals, s.Insns, s.Reads, percent(s.Median))
		}
		for _, target := range names(t.rows, func(r *Row) string { return r.Target }) {
			t.reasons(target)
		}
		if t.err != nil {
			return t.err
		}
	}
	return nil
}

// cause is a reason with the objects that are not sound because of it.
type cause struct {
	text    string
	objects []string
	// only counts the objects that have no other reason.
	only int
}

// reasons returns why objects are not sound on a target.
func (t *tables) reasons(target string) {
	byText := map[string]*cause{}
	for _, r := range t.rows {
		if r.Target != target || r.Sound() {
			continue
		}
		texts := r.causes()
		for _, text := range texts {
			c := byText[text]
			if c == nil {
				c = &cause{text: text}
				byText[text] = c
			}
			c.objects = append(c.objects, r.Object)
			if len(texts) == 1 {
				c.only++
			}
		}
	}
	if len(byText) == 0 {
		return
	}
	list := make([]*cause, 0, len(byText))
	for _, c := range byText {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *cause) int {
		return cmp.Or(cmp.Compare(len(b.objects), len(a.objects)), strings.Compare(a.text, b.text))
	})
	t.printf("\nNot sound on %s:\n\n| reason | objects | for that alone | such as |\n|---|---:|---:|---|\n", kernelName(target))
	const shown = 3
	for _, c := range list {
		t.printf("| %s | %d | %d | %s |\n", escape(c.text), len(c.objects), c.only, strings.Join(c.objects[:min(shown, len(c.objects))], ", "))
	}
}

// causes returns the distinct reasons why an object is not sound.
func (r *Row) causes() []string {
	if r.Err != "" {
		return []string{"refused: " + anonymous(r.Err)}
	}
	var out []string
	add := func(text string) {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for i := range r.Programs {
		p := &r.Programs[i]
		switch {
		case p.sound():
		case p.Status == machine.StatusNotSimulated:
			for _, what := range strings.Split(strings.TrimPrefix(p.Why, "not simulated: "), ", ") {
				add("not simulated: " + what)
			}
		default:
			add(string(p.Status) + ": " + anonymous(p.Why))
		}
	}
	return out
}

var (
	address = lazyre.New(`0x[0-9a-f]+`)
	insn    = lazyre.New(`^\S+ insn \d+: `)
	number  = lazyre.New(`\b\d+\b`)
)

// anonymous removes program-specific parts from a reason: names, addresses and counts.
func anonymous(s string) string {
	s = insn.ReplaceAllString(s, "")
	s = address.ReplaceAllString(s, "ADDRESS")
	return number.ReplaceAllString(s, "N")
}
