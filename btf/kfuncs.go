package btf

// Kfuncs returns the FUNC types marked as kfuncs by a bpf_kfunc decl tag (kernels from 6.10 on),
// ascending by id.
func (s *Spec) Kfuncs() []ID { return s.tagged("bpf_kfunc") }

// tagged returns the FUNC types with a decl tag, in the order of their tags.
func (s *Spec) tagged(tag string) []ID {
	var out []ID
	seen := map[ID]bool{}
	for id := s.first; int(id) < s.NumTypes(); id++ {
		if s.Kind(id) != KindDeclTag || s.Name(id) != tag {
			continue
		}
		if t := s.MustType(id); t.ComponentIdx == -1 && s.Kind(t.Ref) == KindFunc && !seen[t.Ref] {
			seen[t.Ref] = true
			out = append(out, t.Ref)
		}
	}
	return out
}
