package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
)

// BenchComparison compares two measurements of one program.
type BenchComparison struct {
	// With is the file of the earlier measurement.
	With string `json:"with"`
	// Ratio is the median time of a run divided by the earlier median.
	Ratio float64 `json:"ratio"`
	// P is the probability of a difference this large if nothing has changed (Mann-Whitney U test,
	// two-sided).
	P float64 `json:"p"`
	// Verdict is "slower", "faster" or "same".
	Verdict string `json:"verdict"`
}

// A difference counts only if it is this unlikely to be chance, and this large: batches of one
// process vary less than those of two.
const (
	benchP     = 0.01
	benchNoise = 1.03
)

// ReadBench reads the JSON of `bench`.
func ReadBench(data []byte) (*BenchDocument, error) {
	var d BenchDocument
	if err := json.Unmarshal(data, &d); err != nil || d.Schema != Schema || len(d.Batches) == 0 {
		return nil, errors.New("not a document of bpfrun bench --json (it has no ns_batches)")
	}
	return &d, nil
}

// Compare sets Compared to the comparison with an earlier measurement, read from the file with. It
// returns an error if the two cannot be compared.
func (d *BenchDocument) Compare(old *BenchDocument, with string) error {
	if old.Program != d.Program {
		return fmt.Errorf("it measured program %s, this is %s", old.Program, d.Program)
	}
	if len(d.Batches) == 0 || len(old.Batches) == 0 {
		return errors.New("it has no batches")
	}
	c := &BenchComparison{With: with, P: mannWhitney(d.Batches, old.Batches), Verdict: "same"}
	if was := median(old.Batches); was > 0 {
		c.Ratio = median(d.Batches) / was
	}
	switch {
	case c.P >= benchP:
	case c.Ratio > benchNoise:
		c.Verdict = "slower"
	case c.Ratio < 1/benchNoise:
		c.Verdict = "faster"
	}
	d.Compared = c
	return nil
}

// String returns the comparison as one line.
func (c *BenchComparison) String() string {
	text := map[string]string{"slower": "slower than", "faster": "faster than", "same": "no difference beyond noise from"}[c.Verdict]
	return fmt.Sprintf("%s %s: %.3fx of its time (p = %.2g)", text, c.With, c.Ratio, c.P)
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

// mannWhitney returns the two-sided p-value of the Mann-Whitney U test, by its normal approximation
// with corrections for ties and continuity.
func mannWhitney(a, b []float64) float64 {
	type sample struct {
		v     float64
		first bool
	}
	var all []sample
	for _, v := range a {
		all = append(all, sample{v, true})
	}
	for _, v := range b {
		all = append(all, sample{v, false})
	}
	slices.SortFunc(all, func(x, y sample) int { return cmp.Compare(x.v, y.v) })
	n1, n2, n := float64(len(a)), float64(len(b)), float64(len(all))
	ranks, ties := 0.0, 0.0
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].v == all[i].v {
			j++
		}
		same := float64(j - i)
		ties += same*same*same - same
		for k := i; k < j; k++ {
			if all[k].first {
				ranks += float64(i+j+1) / 2
			}
		}
		i = j
	}
	u := ranks - n1*(n1+1)/2
	variance := n1 * n2 / 12 * (n + 1 - ties/(n*(n-1)))
	if variance <= 0 {
		return 1
	}
	z := max(0, math.Abs(u-n1*n2/2)-0.5) / math.Sqrt(variance)
	return math.Erfc(z / math.Sqrt2)
}
