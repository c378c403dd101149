package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	khook "github.com/bpfrun/bpfrun/internal/kernel/hook"
)

// foundByType are the iterators that visit the objects of a scenario by themselves: for others, a
// file lists the elements.
var foundByType = []string{"task", "cgroup", "bpf_map", "bpf_prog", "bpf_map_elem", "bpf_sk_storage_map"}

// mostListed is how many elements of an iterator a file lists.
const mostListed = 8

// elementsOf returns what an iterator visits by default, if a file has to list it.
func elementsOf(c *khook.Context, target string) [][]khook.Arg {
	if !c.Iterates() || slices.Contains(foundByType, target) {
		return nil
	}
	list := c.Elements()
	return list[:min(len(list), mostListed)]
}

// elements writes them: objects by name, numbers as they are.
func (s *skeleton) elements(prog string, list [][]khook.Arg) {
	var lines []string
	for _, args := range list {
		var words []string
		for _, a := range args {
			switch {
			case a.Name == "meta" || a.Spec == nil:
			case a.Object != nil:
				if o := s.g.object(a.Object, prog); o != nil {
					words = append(words, yamlKey(a.Name)+": $"+o.name)
				}
			case a.Spec.SkipMods(a.Type).Kind != btf.KindPtr && a.Value != 0:
				words = append(words, fmt.Sprintf("%s: %d", yamlKey(a.Name), a.Value))
			}
		}
		if len(words) > 0 {
			lines = append(lines, "  - {"+strings.Join(words, ", ")+"}\n")
		}
	}
	if len(lines) > 0 {
		fmt.Fprintf(&s.runs, "  elements:\n%s", strings.Join(lines, ""))
	}
}
