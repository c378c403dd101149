package report

import (
	"io"
	"text/tabwriter"

	"github.com/bpfrun/bpfrun/internal/visible"
)

// KernelsDocument lists kernels that can be named in options.
type KernelsDocument struct {
	Schema  string        `json:"schema"`
	Exit    int           `json:"exit"`
	Kernels []KernelEntry `json:"kernels"`
}

// KernelEntry is a kernel that can be named in options.
type KernelEntry struct {
	Name    string `json:"name"`
	Release string `json:"release"`
	Arch    string `json:"arch"` // Debian's name; empty if unknown
	Path    string `json:"path"`
	Place   string `json:"place"` // entry of the search path
}

// WriteKernels writes one line for each kernel.
func WriteKernels(w io.Writer, list []KernelEntry) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	visible.Fprintln(t, "NAME\tARCH\tPLACE\tFILE")
	for _, k := range list {
		arch := k.Arch
		if arch == "" {
			arch = "?"
		}
		visible.Fprintf(t, "%s\t%s\t%s\t%s\n", k.Name, arch, k.Place, k.Path)
	}
	return t.Flush()
}
