package bpfsys

// Looks counts what looking up, adding and removing objects and attachments looked at; see
// [ordered.List.Looks].
func (s *System) Looks() int {
	n := s.hooks.Looks()
	for kind := range s.byID {
		n += s.byID[kind].Looks()
	}
	return n
}
