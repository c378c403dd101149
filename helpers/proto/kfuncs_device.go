package proto

// deviceKfuncs are the kfuncs for HID devices.
var deviceKfuncs = []Kfunc{
	{Name: "hid_bpf_allocate_context", Topic: "HID", Since: r(6, 3), Flags: Acquire | ReturnsNull, Later: later{{r(6, 10), Acquire | ReturnsNull | Sleepable}}, Uses: hidContextUses},
	{Name: "hid_bpf_attach_prog", Topic: "HID", Since: r(6, 3), Until: r(6, 11), Uses: syscallUses},
	{Name: "hid_bpf_get_data", Topic: "HID", Since: r(6, 3), Flags: ReturnsNull, Uses: uses{{Until: r(6, 11), By: typedTypes}, {From: r(6, 11), By: structOpsAny}}},
	{Name: "hid_bpf_hw_output_report", Topic: "HID", Since: r(6, 10), Flags: Sleepable, Uses: hidContextUses},
	{Name: "hid_bpf_hw_request", Topic: "HID", Since: r(6, 3), Later: later{{r(6, 10), Sleepable}}, Uses: hidContextUses},
	{Name: "hid_bpf_input_report", Topic: "HID", Since: r(6, 10), Flags: Sleepable, Uses: hidContextUses},
	{Name: "hid_bpf_release_context", Topic: "HID", Since: r(6, 3), Flags: ReleaseArg, Later: later{{r(6, 10), ReleaseArg | Sleepable}}, Uses: hidContextUses},
	{Name: "hid_bpf_try_input_report", Topic: "HID", Since: r(6, 11), Uses: structOpsUses},
}
