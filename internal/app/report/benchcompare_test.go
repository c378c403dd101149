package report

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBenchComparison(t *testing.T) {
	// batches around a time, which vary by 2 %.
	around := func(ns float64) []float64 {
		var out []float64
		for i := range 40 {
			out = append(out, ns*(1+0.02*float64(i*7%40)/40))
		}
		return out
	}
	for _, c := range []struct {
		name     string
		now, was []float64
		verdict  string
	}{
		{"the same", around(100), around(100), "same"},
		{"all equal", []float64{5, 5, 5}, []float64{5, 5, 5}, "same"},
		{"a tenth slower", around(110), around(100), "slower"},
		{"a tenth faster", around(90), around(100), "faster"},
		{"certain, but below the noise between runs", around(102.5), around(100), "same"},
		{"large, but too few batches to be certain", []float64{120, 121}, []float64{100, 101}, "same"},
	} {
		now, was := &BenchDocument{Program: "p", Batches: c.now}, &BenchDocument{Program: "p", Batches: c.was}
		require.NoError(t, now.Compare(was, "old.json"))
		assert.Equal(t, c.verdict, now.Compared.Verdict, "%s: %s", c.name, now.Compared)
	}
	assert.ErrorContains(t, (&BenchDocument{Program: "p", Batches: around(1)}).Compare(&BenchDocument{Program: "q", Batches: around(1)}, "x"), "it measured program q, this is p")
}

// TestMannWhitney compares with p-values of another implementation (R's wilcox.test with
// exact=FALSE).
func TestMannWhitney(t *testing.T) {
	assert.InDelta(t, 0.01219, mannWhitney([]float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10}), 0.00001)
	assert.InDelta(t, 1, mannWhitney([]float64{1, 2, 3}, []float64{1, 2, 3}), 0.00001)
	assert.InDelta(t, mannWhitney([]float64{1, 4, 4, 8}, []float64{2, 4, 9}), mannWhitney([]float64{2, 4, 9}, []float64{1, 4, 4, 8}), 1e-12)
}

func TestReadBench(t *testing.T) {
	for _, text := range []string{"", "[]", "{}", `{"schema":"bpfrun/1"}`, `{"schema":"other","ns_batches":[1]}`} {
		_, err := ReadBench([]byte(text))
		assert.Error(t, err, text)
	}
	d, err := ReadBench([]byte(`{"schema":"bpfrun/1","program":"p","ns_batches":[1.5]}`))
	require.NoError(t, err)
	assert.Equal(t, []float64{1.5}, d.Batches)
}
