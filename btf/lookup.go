package btf

import (
	"strconv"
	"strings"
)

// lookupKinds lists kinds in the order in which [Spec.Lookup] prefers them.
var lookupKinds = []Kind{KindStruct, KindUnion, KindTypedef, KindEnum, KindEnum64, KindFunc, KindVar, KindDatasec, KindInt, KindFloat, KindFwd}

var lookupWords = map[string][]Kind{
	"struct": {KindStruct}, "union": {KindUnion}, "enum": {KindEnum, KindEnum64}, "typedef": {KindTypedef},
	"func": {KindFunc}, "var": {KindVar}, "fwd": {KindFwd},
}

// Lookup finds types by the names people use: "task_struct", "struct sock", "enum bpf_map_type",
// "func vfs_read" or "[1234]", optionally followed by the path of a field: "task_struct.cred",
// "iphdr[2]". It returns all types of the first kind that has any, and the path. The error is a
// *[PathError] with the nearest names.
func (s *Spec) Lookup(text string) (ids []ID, path string, err error) {
	name, kinds := strings.TrimSpace(text), lookupKinds
	if word, rest, ok := strings.Cut(name, " "); ok {
		if k := lookupWords[word]; k != nil {
			name, kinds = strings.TrimSpace(rest), k
		}
	}
	if rest, ok := strings.CutPrefix(name, "["); ok {
		num, path, _ := strings.Cut(rest, "]")
		id, err := strconv.ParseUint(num, 10, 32)
		if err != nil || id == 0 || id >= uint64(s.NumTypes()) {
			return nil, "", &PathError{Root: s.rootName(), Path: text, Detail: "the last id is " + utoa(s.NumTypes()-1), Err: ErrNotFound}
		}
		return []ID{ID(id)}, strings.TrimPrefix(path, "."), nil
	}
	// Rust names and names of per-CPU sections contain dots: the longest existing name wins.
	for end := len(name); end > 0; end = strings.LastIndexAny(name[:end], ".[") {
		for _, k := range kinds {
			if ids = append(ids, s.IDs(k, name[:end])...); len(ids) > 0 && k != KindEnum {
				return ids, strings.TrimPrefix(name[end:], "."), nil
			}
		}
		if len(ids) > 0 {
			return ids, strings.TrimPrefix(name[end:], "."), nil
		}
	}
	first := name
	if end := strings.IndexAny(name, ".["); end > 0 {
		first = name[:end]
	}
	var names []string
	for id := ID(1); int(id) < s.NumTypes(); id++ {
		if n := s.Name(id); n != "" && n != first && len(n) <= 2*len(first)+8 {
			for _, k := range kinds {
				if s.Kind(id) == k {
					names = append(names, n)
					break
				}
			}
		}
	}
	return nil, "", &PathError{Root: s.rootName(), Path: text, At: first, Detail: "no type has this name", Nearest: near(first, names), Err: ErrNotFound}
}

// rootName names the whole BTF in messages.
func (s *Spec) rootName() string {
	if s.name != "" {
		return s.name
	}
	return "the BTF"
}
