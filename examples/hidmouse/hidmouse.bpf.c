// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// hidmouse: a mouse whose middle button wears out. Its side button takes over, presses of both at once are dropped, and the
// resolution cannot be changed.
#include "hid.h"

#define LEFT 1
#define MIDDLE 4
#define SIDE 8

__u32 presses;

SEC("struct_ops/hid_device_event")
int BPF_PROG(remap, struct hid_bpf_ctx *hctx, enum hid_report_type type, __u64 source)
{
	__u8 *report = hid_bpf_get_data(hctx, 0, 4);

	if (!report || type != HID_INPUT_REPORT)
		return 0;
	if ((report[0] & (MIDDLE | SIDE)) == (MIDDLE | SIDE))
		return -1; /* a bounce: nobody sees it */
	if (report[0] & SIDE) {
		report[0] = (report[0] & ~SIDE) | MIDDLE;
		presses++;
	}
	return 0;
}

SEC("struct_ops.s/hid_hw_request")
int BPF_PROG(guard, struct hid_bpf_ctx *hctx, unsigned char num, enum hid_report_type type, enum hid_class_request req, __u64 source)
{
	/* nobody may change the mouse's resolution */
	return req == HID_REQ_SET_REPORT && type == HID_FEATURE_REPORT ? -1 : 0;
}

SEC(".struct_ops.link")
struct hid_bpf_ops mouse = {
	.hid_device_event = (void *)remap,
	.hid_hw_request = (void *)guard,
};

SEC("syscall")
int probe(struct hid_bpf_probe_args *args)
{
	args->retval = args->rdesc_size == 62 ? 0 : -22;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
