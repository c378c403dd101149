package main

import (
	"os"

	"github.com/bpfrun/bpfrun/internal/kernels"
	"github.com/bpfrun/bpfrun/loader"
)

// pickRelease narrows a directory or an archive of kernels, such as a checkout of BTFHub, to the
// release that --kernel-version names. Other files and globs are taken as they are.
func (k *kernelFlags) pickRelease(arg string, sources []btfSource) ([]btfSource, error) {
	if info, err := os.Stat(arg); k.version == "" || err != nil || !info.IsDir() && !kernels.IsPack(arg) {
		return sources, nil
	}
	byPath := map[string]btfSource{}
	var files, names []string
	for _, s := range sources {
		byPath[s.Path] = s
		files, names = append(files, s.Path), append(names, s.Name)
	}
	var out []btfSource
	for _, f := range loader.PickRelease(files, k.version) {
		out = append(out, byPath[f])
	}
	if len(out) == 0 {
		return nil, usagef("--btf %s --kernel-version %s: none of %d files is for this release (available: %s)", arg, k.version, len(files), join(names))
	}
	return out, nil
}
