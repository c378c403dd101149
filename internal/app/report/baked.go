package report

import (
	"cmp"
	"io"
	"strings"

	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/offsets"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
)

// BakedDocument is the JSON of `relo --baked`.
type BakedDocument struct {
	Schema  string        `json:"schema"`
	Results []BakedResult `json:"results"`
	Exit    int           `json:"exit"`
}

// BakedResult lists the accesses of an object on one kernel.
type BakedResult struct {
	Object   string        `json:"object"`
	Kernel   string        `json:"kernel"`
	Accesses []BakedAccess `json:"accesses"`
}

// BakedAccess is an access of a kernel type at a fixed offset. Meant is the field in the object's
// own declaration, Hit the field at that offset in the kernel.
type BakedAccess struct {
	Program string `json:"program"`
	Insn    int    `json:"insn"`
	Source  string `json:"source,omitempty"`
	Type    string `json:"type"`
	Offset  int64  `json:"offset"`
	Size    int    `json:"size"`
	Meant   string `json:"meant,omitempty"`
	Hit     string `json:"hit,omitempty"`
	Instead string `json:"instead"`
}

// Add adds the accesses of an object on a kernel. Any access sets the exit code of a failed
// expectation.
func (d *BakedDocument) Add(linked *loader.Linked) {
	r := BakedResult{Object: linked.Object.Name, Kernel: linked.Target.Name, Accesses: []BakedAccess{}}
	for _, x := range offsets.Find(linked) {
		d.Exit = exitcode.Expectation
		r.Accesses = append(r.Accesses, BakedAccess{
			Program: x.Program, Insn: x.Insn, Source: x.Source, Type: x.Type, Offset: x.Offset, Size: x.Size, Meant: x.Meant, Hit: x.Hit, Instead: x.Instead,
		})
	}
	d.Results = append(d.Results, r)
}

// WriteBaked writes the accesses as text; quiet leaves out objects without any.
func WriteBaked(w io.Writer, d *BakedDocument, quiet bool) error {
	var b strings.Builder
	for _, r := range d.Results {
		if len(r.Accesses) == 0 && !quiet {
			visible.Fprintf(&b, "%s on %s: found no access of a kernel type at a fixed offset\n", r.Object, r.Kernel)
		}
		for _, x := range r.Accesses {
			visible.Fprintf(&b, "%s on %s: %s insn %d: %s at fixed offset %d\n", r.Object, r.Kernel, x.Program, x.Insn, x.Type, x.Offset)
			if x.Source != "" {
				visible.Fprintf(&b, "  %s\n", x.Source)
			}
			visible.Fprintf(&b, "  in the object's declaration: %s; in this kernel: %s\n  use %s\n", cmp.Or(x.Meant, "-"), cmp.Or(x.Hit, "-"), x.Instead)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
