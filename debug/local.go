package debug

import "github.com/bpfrun/bpfrun/vm"

// codeAt finds the instruction at a text address.
func (s *Session) codeAt(addr uint64) (*vm.Image, int, bool) {
	for _, name := range s.m.Names() {
		if img, ok := s.m.ImageOf(name); ok {
			return img.Text().Resolve(addr)
		}
	}
	return nil, 0, false
}
