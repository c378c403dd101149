package device

// Events returns one event of each kind for each report that the device declares: those that
// [Default] makes happen.
func (h *HID) Events() []Event { return h.events() }

// EventProgram returns the program that gets the reports which a device sends, of those in a list;
// without one the first of them.
func (h *HID) EventProgram(list []string) string {
	for _, s := range h.m.Linked().StructOps {
		for _, m := range s.Map.StructOps.Members {
			for _, name := range list {
				if m.Name == "hid_device_event" && m.Prog == name {
					return name
				}
			}
		}
	}
	return list[0]
}
