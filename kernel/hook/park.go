package hook

// Underway is an event that a program sees while programs on other CPUs see others.
type Underway struct {
	event  event
	traced uint64
}

// Park takes the event that goes on: until Unpark, none does.
func (h *Hooks) Park() Underway {
	u := Underway{h.event, h.traced}
	h.event, h.traced = event{}, 0
	return u
}

// Unpark makes an event the one that goes on.
func (h *Hooks) Unpark(u Underway) { h.event, h.traced = u.event, u.traced }
