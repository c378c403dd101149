package debug

type dwarfInfo struct{}

func readDWARF(b []byte) (*dwarfInfo, error) { return nil, nil }

type Variable struct{ Name string }

func (s *Session) locals() []Variable                      { return nil }
func (s *Session) local(name string) (*Value, bool, error) { return nil, false, nil }
