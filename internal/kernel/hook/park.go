package hook

// Underway is the event of a suspended run while runs on other CPUs have other events.
type Underway struct {
	event  event
	traced uint64
}

// Park removes the current event; until Unpark there is none.
func (h *Hooks) Park() Underway {
	u := Underway{h.event, h.traced}
	h.event, h.traced = event{}, 0
	return u
}

// Unpark makes an event the current one.
func (h *Hooks) Unpark(u Underway) { h.event, h.traced = u.event, u.traced }
