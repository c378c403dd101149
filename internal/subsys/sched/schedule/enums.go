package schedule

import (
	"maps"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/loader"
)

// WithEnums adds to options what user space sets before it loads a scheduler made with the kernel's
// headers (tools/sched_ext/include/scx/enums.h): each variable __SCX_X is the target's enumerator
// SCX_X. Values that the options already have remain.
func WithEnums(obj *loader.Object, target *loader.Target, o loader.LoadOptions) loader.LoadOptions {
	if target.BTF == nil || len(kind().Names(obj)) == 0 {
		return o
	}
	set := map[string]string{}
	for _, m := range obj.Maps {
		if !m.Settable() {
			continue
		}
		for _, v := range m.Vars {
			if name, ok := strings.CutPrefix(v.Name, "__SCX_"); ok {
				if _, n, found := target.BTF.FindEnumerator("SCX_" + name); found {
					set[v.Name] = strconv.FormatUint(n, 10)
				}
			}
		}
	}
	if len(set) > 0 {
		maps.Copy(set, o.Globals)
		o.Globals = set
	}
	return o
}
