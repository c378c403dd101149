package minkernel

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/loader"
)

// Column is a release that is asked about.
type Column struct {
	Release uapi.Release
	// Kernels are those of the release whose types are at hand.
	Kernels []*loader.Target

	older, newer *loader.Target // those whose types stand in if there are none
}

// Newest is the newest release of which something is known: rules, or the types of one of the
// kernels.
func Newest(kernels []*loader.Target) uapi.Release {
	releases := since.Releases()
	for _, k := range kernels {
		releases = append(releases, uapi.ReleaseOf(k.Version))
	}
	return slices.Max(releases)
}

// columns returns the releases with rules, those of the kernels at hand and one that was asked for,
// oldest first.
func columns(obj *loader.Object, kernels []*loader.Target, also uapi.Release) []Column {
	releases := since.Releases()
	if also != 0 {
		releases = append(releases, also)
	}
	for _, k := range kernels {
		releases = append(releases, uapi.ReleaseOf(k.Version))
	}
	slices.Sort(releases)
	releases = slices.Compact(releases)
	out := make([]Column, len(releases))
	for i, r := range releases {
		out[i].Release = r
		for _, k := range kernels {
			if uapi.ReleaseOf(k.Version) == r {
				out[i].Kernels = append(out[i].Kernels, k)
			}
		}
	}
	for i := range out {
		if len(out[i].Kernels) > 0 {
			continue
		}
		out[i].older = lender(obj, out[:i], true)
		out[i].newer = lender(obj, out[i+1:], false)
	}
	return out
}

// lender returns a kernel of the last or the first of some releases: one of the object's
// architecture, if it has one and there are any.
func lender(obj *loader.Object, list []Column, last bool) *loader.Target {
	list = slices.Clone(list)
	if last {
		slices.Reverse(list)
	}
	for _, any := range []bool{false, true} {
		for _, c := range list {
			for _, k := range c.Kernels {
				if any || k.Arch == obj.Arch || obj.Arch == "" {
					return k
				}
			}
		}
	}
	return nil
}
