package report

import (
	"github.com/bpfrun/bpfrun/internal/app/matrix"
	"github.com/bpfrun/bpfrun/internal/verifier"
)

// MatrixDocument is the JSON of `matrix`.
type MatrixDocument struct {
	Schema string `json:"schema"`
	Exit   int    `json:"exit"`
	Error  *Error `json:"error"`
	// Targets are the names of the kernels, in the order of every row's cells.
	Targets []string `json:"targets"`
	// Base is the reference kernel.
	Base    string         `json:"base"`
	Kernels []MatrixKernel `json:"kernels"`
	Rows    []MatrixRow    `json:"rows"`
	Summary map[string]int `json:"summary"` // cells by word
	// Paths maps object and base name to the full path, for the object itself and its sources. Rows
	// and details name files without their directories, but GitHub resolves annotations from the
	// root of the repository.
	Paths map[string]map[string]string `json:"-"`
}

// MatrixKernel describes a column.
type MatrixKernel struct {
	Target
	Error string `json:"error,omitempty"`
	// Unverified says why no cell of the column has a verdict.
	Unverified string `json:"unverified,omitempty"`
}

// MatrixRow is one program.
type MatrixRow struct {
	Object  string `json:"object"`
	Program string `json:"program"`
	Hook    string `json:"hook"`
	// Optional means that tools load the program only on request.
	Optional bool         `json:"optional"`
	Cells    []MatrixCell `json:"cells"`
}

// MatrixCell is one program on one kernel.
type MatrixCell struct {
	Target      string            `json:"target"`
	Relocations MatrixRelocations `json:"relocations"`
	// Baked counts the accesses at fixed offsets that the run made, BakedFound those in the
	// program, executed or not.
	Baked      int    `json:"baked"`
	BakedFound int    `json:"baked_found"`
	Load       string `json:"load"`   // ok, error, refused (by the verifier), absent, unknown-hook
	Result     string `json:"result"` // ok, differs, fault, not-simulated, n/a
	Word       string `json:"word"`   // the cell as one word, as in the table
	Detail     string `json:"detail"`
	// Verifier is the verdict of the kernel's verifier, if it was run.
	Verifier *Verdict `json:"verifier,omitempty"`
	// Follows means that the program would behave the same if the same programs of the object ran
	// on the base kernel. Detail names them.
	Follows bool `json:"follows"`
}

// MatrixRelocations counts a cell's CO-RE relocations; OK includes Changed.
type MatrixRelocations struct {
	OK              int `json:"ok"`
	Changed         int `json:"changed"`
	PoisonedDead    int `json:"poisoned_dead"`
	PoisonedMay     int `json:"poisoned_may"`
	PoisonedReached int `json:"poisoned_reached"`
	Errors          int `json:"errors"`
}

// NewMatrixDocument returns the document of a matrix.
func NewMatrixDocument(m *matrix.Matrix) *MatrixDocument {
	d := &MatrixDocument{Schema: Schema, Targets: []string{}, Kernels: []MatrixKernel{}, Rows: []MatrixRow{}, Summary: map[string]int{}}
	for i, t := range m.Targets {
		if i == m.Base {
			d.Base = t.Name
		}
		d.Targets = append(d.Targets, t.Name)
		d.Kernels = append(d.Kernels, newMatrixKernel(t))
	}
	verdicts := map[*verifier.Verdict]*Verdict{} // one for all cells that share it
	for _, r := range m.Rows {
		row := MatrixRow{Object: r.Object, Program: r.Program, Hook: r.Hook, Optional: r.Optional, Cells: make([]MatrixCell, 0, len(r.Cells))}
		for i := range r.Cells {
			c := r.Cells[i]
			if verdicts[c.Verdict] == nil {
				verdicts[c.Verdict] = verdictOf(c.Verdict)
			}
			row.Cells = append(row.Cells, MatrixCell{
				Target: m.Targets[i].Name, Relocations: MatrixRelocations(c.Relocations), Baked: c.Baked, BakedFound: c.Found,
				Load: string(c.Load), Result: string(c.Result), Word: c.Word(), Detail: c.Detail, Follows: c.Follows, Verifier: verdicts[c.Verdict],
			})
			d.Summary[c.Word()]++
		}
		d.Rows = append(d.Rows, row)
	}
	return d
}

func newMatrixKernel(t matrix.Target) MatrixKernel {
	k := MatrixKernel{Target: Target{Name: t.Name, Source: t.Source}, Unverified: t.Unverified}
	if t.Err != nil {
		k.Error = t.Err.Error()
	}
	if f := t.Facts; f != nil {
		k.Release, k.Version, k.Arch, k.PointerSize, k.Types = f.Release, f.Version, f.Arch, f.PointerSize, f.Types
		if f.VersionKnown != "name" {
			k.VersionFrom = f.VersionKnown
		}
		k.ByteOrder = "little"
		if f.BigEndian {
			k.ByteOrder = "big"
		}
	}
	return k
}
