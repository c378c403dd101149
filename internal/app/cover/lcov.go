package cover

import (
	"bufio"
	"fmt"
	"io"

	"github.com/bpfrun/bpfrun/internal/visible"
)

// WriteLCOV writes the coverage of all kernels together in lcov's tracefile format (geninfo(1)).
// Dead lines and branch directions are left out. Names with control characters are escaped: a line
// break would begin another record.
func (p *Profile) WriteLCOV(w io.Writer) error {
	b := bufio.NewWriter(w)
	visible.Fprintln(b, "TN:")
	for _, f := range p.Source("").Files {
		visible.Fprintf(b, "SF:%s\n", visible.Text(f.Path))
		found, hit := 0, 0
		seen := map[string]bool{}
		var names []SourceFunction
		for _, fn := range f.Functions {
			if fn.Dead || seen[fn.Name] {
				continue
			}
			seen[fn.Name] = true
			names = append(names, fn)
			visible.Fprintf(b, "FN:%d,%s\n", fn.Line, visible.Text(fn.Name))
		}
		for _, fn := range names {
			found++
			if fn.Count > 0 {
				hit++
			}
			visible.Fprintf(b, "FNDA:%d,%s\n", fn.Count, visible.Text(fn.Name))
		}
		visible.Fprintf(b, "FNF:%d\nFNH:%d\n", found, hit)
		found, hit = 0, 0
		for _, n := range f.Numbers() {
			l := f.Lines[n]
			if l.Dead {
				continue
			}
			for i, br := range l.Branches {
				for way, count := range [2]int{br.Taken, br.Fell} {
					if count < 0 {
						continue
					}
					found++
					if count > 0 {
						hit++
					}
					text := fmt.Sprint(count)
					if l.Count == 0 {
						text = "-" // the line was not executed
					}
					visible.Fprintf(b, "BRDA:%d,%d,%d,%s\n", n, i, way, text)
				}
			}
		}
		visible.Fprintf(b, "BRF:%d\nBRH:%d\n", found, hit)
		found, hit = 0, 0
		for _, n := range f.Numbers() {
			l := f.Lines[n]
			if l.Dead {
				continue
			}
			found++
			if l.Count > 0 {
				hit++
			}
			visible.Fprintf(b, "DA:%d,%d\n", n, l.Count)
		}
		visible.Fprintf(b, "LF:%d\nLH:%d\nend_of_record\n", found, hit)
	}
	return b.Flush()
}
