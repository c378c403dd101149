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

// PackDocument describes an archive of kernels that was written.
type PackDocument struct {
	Schema      string         `json:"schema"`
	Exit        int            `json:"exit"`
	File        string         `json:"file"`
	Bytes       int            `json:"bytes"`
	BytesBefore int            `json:"bytes_before"` // of the types of all kernels, not compressed
	Kernels     []PackedKernel `json:"kernels"`
}

// PackedKernel is a kernel in an archive.
type PackedKernel struct {
	Name    string `json:"name"`
	Release string `json:"release"` // what uname -r prints there; empty if unknown
	Types   int    `json:"types"`
	Bytes   int    `json:"bytes"` // of its types, not compressed
}

// WritePack writes one line about an archive, and all its kernels with verbose.
func WritePack(w io.Writer, doc PackDocument, verbose bool) error {
	if verbose {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		visible.Fprintln(t, "NAME\tRELEASE\tTYPES\tBYTES")
		for _, k := range doc.Kernels {
			visible.Fprintf(t, "%s\t%s\t%d\t%d\n", k.Name, k.Release, k.Types, k.Bytes)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	_, err := visible.Fprintf(w, "%s: %s in %d bytes, %d before\n", doc.File, plural(len(doc.Kernels), "kernel"), doc.Bytes, doc.BytesBefore)
	return err
}
